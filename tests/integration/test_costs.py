"""What governed operations cost, in calls to the store and in bytes.

Counted, not timed: a store in memory behind a counter, under the embedded client.
"""

from collections.abc import Callable

import pytest

from onceward.ports import Task
from onceward.wire import limits
from onceward.wire.decisions import Done, Reuse, Stop, StopReason, Wait
from onceward.wire.identifiers import WorkflowId
from onceward.wire.receipts import Outcome
from onceward_controller.vault.store import PAGE_NAMES_MAX, Page, Stored
from tests.support.ports import HeldSpawner
from tests.support.services import Agent, Site, chain, cold_head, warm_head
from tests.support.stores import CountingStore, ForwardingStore

RESULT = {"text": "y" * 200}


class Journal(ForwardingStore):
    """A store that writes down each read as it is made."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.store)
        self.reads: list[str] = []

    def get(self, name: str) -> Stored | None:
        self.reads.append("get")
        return self._store.get(name)

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        self.reads.append("list")
        return self._store.list(prefix, after=after, limit=limit)


class RoundTrips:
    """A spawner whose threads start when somebody waits: all that run then ran side by side."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []
        self.widths: list[int] = []

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        self._waiting.append(work)
        return self

    def join(self, timeout_ms: int | None = None) -> bool:
        together, self._waiting = self._waiting, []
        if together:
            self.widths.append(len(together))
        for work in together:
            work()
        return True


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def counted(site: Site) -> CountingStore:
    return CountingStore(site.store)


def lengthened(site: Site, agent: Agent, workflow: WorkflowId, revisions: int) -> None:
    """Let the log grow to exactly ``revisions``: pauses, and one renewal where two are too many."""
    grant = agent.granted(workflow)
    length = warm_head(agent.service, workflow).tip.revision
    while length < revisions - 1:
        agent.pause(workflow)
        length = agent.enable(workflow).revision
    if length < revisions:
        site.clock.pass_ms(limits.SECOND_MS)
        agent.renewed(workflow, grant)


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

    assert dict(counted.calls) == {"create": 21}
    assert counted.calls["create"] <= 1.05 * 20
    # Ready, active, done: two moves of the index row, off the path of whoever waits; here the
    # writer had its turn once, after the last, and so wrote the newest row only.
    held.run()
    assert dict(counted.calls) == {"create": 21, "put": 1, "delete": 2}
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

    assert dict(counted.calls) == {"create": 20}


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


# -------------------------------------------------------------------------------------- cold reads


@pytest.mark.parametrize("beyond", [0, 1, 31], ids=["on-a-snapshot", "just-after", "just-before"])
def test_a_cold_decision_on_a_long_log_is_two_round_trips(site: Site, beyond: int) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    workflow = ann.create("k", chain(4))
    ann.step(workflow, ann.granted(workflow))
    lengthened(site, ann, workflow, 512 + beyond)
    journal, trips = Journal(site), RoundTrips()
    cold = site.open(journal, spawner=trips, reads_at_once=64)
    journal.reads.clear()

    head = cold_head(cold, workflow)

    assert head.tip.revision == 512 + beyond
    assert trips.widths[0] == 2
    assert len(trips.widths) == 2
    assert journal.reads[:2] == ["list", "list"]
    assert set(journal.reads[2:]) == {"get"}
    assert len(journal.reads[2:]) == 2 + 1 + beyond <= 34


def test_a_cold_grant_adds_its_own_create_and_nothing_else(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    workflow = ann.create("k", chain(4, query=True))
    lengthened(site, ann, workflow, 543)
    site.clock.pass_ms(limits.HOUR_MS)
    bob = Agent(site.open(counted, spawner=HeldSpawner()), "bob")
    counted.reset()

    bob.granted(workflow)

    assert dict(counted.calls) == {"list": 2, "get": 34, "create": 1}


def test_a_cold_read_of_a_short_log_reads_each_revision_once(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(3))
    ann.run_all(workflow)
    cold = site.open(counted)
    counted.reset()

    head = cold_head(cold, workflow)

    assert dict(counted.calls) == {"list": 2, "get": head.tip.revision + 1}


def test_catching_up_by_a_few_revisions_reads_only_those(
    site: Site, counted: CountingStore
) -> None:
    ann, bob = Agent(site.open()), Agent(site.open(counted), "bob")
    workflow = ann.create("k", chain(20))
    bob.workflow(workflow)
    for _ in range(3):
        ann.succeed(workflow, ann.granted(workflow))
    counted.reset()

    assert bob.granted(workflow).operation == "op-3"

    # One create that lost, one list, six new revisions, one create that won; and the row.
    assert counted.calls["create"] == 2
    assert counted.calls["list"] == 1
    assert counted.calls["get"] == 6


# -------------------------------------------------------------------------- never from a stale head


def test_a_pause_elsewhere_is_heard_before_a_wait_is_answered(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(2))
    here.granted(workflow)
    there.pause(workflow)

    answer = here.ask(workflow)

    assert isinstance(answer, Stop)
    assert answer.reason is StopReason.PAUSED


def test_a_pause_elsewhere_is_heard_before_a_grant(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(2))
    there.pause(workflow)

    answer = here.ask(workflow)

    assert isinstance(answer, Stop)
    assert answer.reason is StopReason.PAUSED


def test_a_pause_elsewhere_is_heard_when_a_receipt_is_handed_in(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(2))
    grant = here.granted(workflow)
    there.pause(workflow)

    answer = here.step(workflow, grant)

    assert isinstance(answer, Stop)
    assert answer.reason is StopReason.PAUSED


def test_an_end_of_a_pause_elsewhere_is_heard_before_a_stop_is_answered(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(2))
    here.pause(workflow)
    there.enable(workflow)

    assert here.granted(workflow).attempt == 1


def test_a_success_elsewhere_is_reused_not_waited_for(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(1))
    grant = there.granted(workflow)
    assert isinstance(here.ask(workflow, "op-0"), Wait)
    there.report(workflow, grant, Outcome.SUCCEEDED)

    assert isinstance(here.ask(workflow, "op-0"), Reuse)
