"""What governed operations cost on the hot path, in calls to the store and in bytes.

Counted, not timed: a store in memory behind a counter, under the embedded client.
"""

import pytest

from onceward.wire.decisions import Done, Reuse, Stop, StopReason, Wait
from tests.support.ports import HeldSpawner
from tests.support.services import Agent, Site, chain
from tests.support.stores import CountingStore

RESULT = {"text": "y" * 200}


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def counted(site: Site) -> CountingStore:
    return CountingStore(site.store)


# ------------------------------------------------------------------------------------ the hot path


def test_a_warm_chain_of_twenty_costs_twenty_one_creates_and_reads_nothing(
    site: Site, counted: CountingStore
) -> None:
    held = HeldSpawner()
    ann = Agent(site.open(counted, spawner=held))
    workflow = ann.create("k", chain(20))
    held.run()
    counted.reset()

    assert ann.run_all(workflow, result=RESULT) == 20

    # The one put is the row that leads to the first attempt, written before it.
    assert dict(counted.calls) == {"create": 21, "put": 1}
    assert counted.calls["create"] <= 1.05 * 20
    # Active, done: the row's further move is off the path of whoever waits.
    held.run()
    assert dict(counted.calls) == {"create": 21, "put": 2, "delete": 2}
    assert ann.ask(workflow) == Done(operations=20)


def test_row_writes_that_keep_up_cost_a_put_and_a_delete_for_each_move(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open(counted))
    workflow = ann.create("k", chain(20))
    counted.reset()

    ann.run_all(workflow, result=RESULT)

    assert dict(counted.calls) == {"create": 21, "put": 2, "delete": 2}


def test_begin_and_complete_apart_cost_two_creates_and_read_nothing(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open(counted, spawner=HeldSpawner()))
    workflow = ann.create("k", chain(10))
    counted.reset()

    for _ in range(10):
        ann.succeed(workflow, ann.granted(workflow), result=RESULT)

    # Each attempt begins in a workflow that nobody ran: its row is written before it.
    assert dict(counted.calls) == {"create": 20, "put": 10}


def test_creating_a_workflow_costs_its_key_its_first_revision_and_its_row(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open(counted, spawner=HeldSpawner()))
    counted.reset()

    ann.create("k", chain(20))

    # Key, revision 1, enabled.
    assert dict(counted.calls) == {"create": 3, "put": 1}


def test_bytes_for_an_operation_stay_flat_along_two_hundred(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open(counted, spawner=HeldSpawner()))
    workflow = ann.create("k", chain(200))
    written: list[int] = []

    decision = ann.ask(workflow)
    while not isinstance(decision, Done):
        assert not isinstance(decision, Reuse | Wait | Stop), decision
        counted.reset()
        decision = ann.step(workflow, decision, result=RESULT)
        written.append(counted.bytes_written)

    def window(around: int) -> float:
        # Thirty-two operations in a row carry exactly one snapshot.
        start = max(min(around - 16, len(written) - 32), 0)
        return sum(written[start : start + 32]) / 32

    assert len(written) == 200
    assert window(190) <= 1.2 * window(10)


# -------------------------------------------------------------------------------- answers that read


def test_a_reuse_costs_one_list_and_one_get(site: Site, counted: CountingStore) -> None:
    ann = Agent(site.open(counted))
    workflow = ann.create("k", chain(20))
    ann.run_all(workflow, result=RESULT)
    counted.reset()

    assert isinstance(ann.ask(workflow, "op-7"), Reuse)

    assert dict(counted.calls) == {"list": 1, "get": 1}


def test_a_wait_and_a_stop_cost_one_list_each(site: Site, counted: CountingStore) -> None:
    service = site.open(counted)
    ann, bob = Agent(service), Agent(service, "bob")
    workflow = ann.create("k", chain(2))
    ann.granted(workflow)
    counted.reset()

    assert isinstance(bob.ask(workflow), Wait)
    assert dict(counted.calls) == {"list": 1}

    ann.pause(workflow)
    counted.reset()
    stop = bob.ask(workflow)
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.PAUSED
    assert dict(counted.calls) == {"list": 1}


def test_the_same_grant_again_costs_one_list(site: Site, counted: CountingStore) -> None:
    ann = Agent(site.open(counted))
    workflow = ann.create("k", chain(2))
    grant = ann.granted(workflow)
    counted.reset()

    assert ann.granted(workflow) == grant

    assert dict(counted.calls) == {"list": 1}


def test_the_same_receipt_again_costs_one_list_and_one_get(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open(counted))
    workflow = ann.create("k", chain(2))
    grant = ann.granted(workflow)
    ann.succeed(workflow, grant)
    counted.reset()

    ann.succeed(workflow, grant)

    assert dict(counted.calls) == {"list": 1, "get": 1}


def test_a_warm_read_of_a_workflow_with_nothing_finished_costs_one_list(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open(counted, spawner=HeldSpawner()))
    workflow = ann.create("k", chain(20))
    counted.reset()

    ann.workflow(workflow)

    assert dict(counted.calls) == {"list": 1}
