"""Heads: a guess about what is newest, bounded, and dropped when time steps."""

from onceward.wire.identifiers import WorkflowId
from onceward_controller.service.heads import HEADS_MAX, Heads
from onceward_controller.vault.log import SealKey, Tip
from onceward_controller.vault.trusted_time import TrustedTime
from onceward_controller.vault.workflow_log import Head
from tests.support.ports import START_MS, ManualClock
from tests.support.services import Agent, Site, chain, cold_head, warm_head
from tests.support.stores import CountingStore

ONE = WorkflowId("wf_one")


def heads() -> tuple[Heads, TrustedTime]:
    time = TrustedTime(ManualClock())
    time.saw(START_MS)
    return Heads(time), time


def head(revision: int = 1) -> Head:
    site = Site()
    agent = Agent(site.open())
    found = cold_head(agent.service, agent.create("k", chain(1)))
    return Head(
        workflow=found.workflow,
        tip=Tip(revision=revision, digest=bytes(32)),
        key=SealKey(key=bytes(32), key_id=1),
        row=found.row,
    )


def test_what_was_never_put_is_not_there() -> None:
    kept, _ = heads()

    assert kept.get(ONE) is None


def test_what_was_put_last_is_there_until_it_is_dropped() -> None:
    kept, _ = heads()
    older, newer = head(1), head(2)
    kept.put(ONE, older)
    kept.put(ONE, newer)
    assert kept.get(ONE) is newer

    kept.drop(ONE)
    kept.drop(ONE)

    assert kept.get(ONE) is None


def test_a_reader_who_was_slow_puts_nothing_older_in_the_place_of_the_newer() -> None:
    kept, _ = heads()
    older, newer = head(1), head(2)
    kept.put(ONE, newer)
    kept.put(ONE, older)

    assert kept.get(ONE) is newer


def test_the_one_that_was_not_asked_for_the_longest_goes_first() -> None:
    kept, _ = heads()
    any_head = head()
    names = [WorkflowId(f"wf_{number}") for number in range(HEADS_MAX)]
    for name in names:
        kept.put(name, any_head)
    assert kept.get(names[0]) is any_head

    kept.put(ONE, any_head)

    assert kept.get(names[0]) is any_head
    assert kept.get(names[1]) is None
    assert kept.get(ONE) is any_head


def test_a_step_of_the_clocks_drops_everything() -> None:
    kept, time = heads()
    kept.put(ONE, head())
    time.saw(START_MS + 5_000)
    assert kept.get(ONE) is not None

    time.saw(START_MS + 60_000)

    assert kept.get(ONE) is None


def test_what_is_put_after_a_step_is_kept() -> None:
    kept, time = heads()
    time.saw(START_MS + 60_000)
    assert kept.get(ONE) is None
    kept.put(ONE, head())

    assert kept.get(ONE) is not None


def test_a_head_that_is_no_longer_the_newest_costs_a_read_and_no_more() -> None:
    site = Site()
    counted = CountingStore(site.store)
    ann, bob = Agent(site.open(counted)), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(2))
    bob.succeed(workflow, bob.granted(workflow))
    counted.reset()

    assert ann.granted(workflow).operation == "op-1"

    assert counted.calls["create"] == 2
    assert counted.calls["list"] == 1
    assert warm_head(ann.service, workflow).tip == cold_head(site.open(), workflow).tip
