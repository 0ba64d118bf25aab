"""A workflow's log: what is written is what is read, however long it gets.

The long workflows here have more operations than one may be created with: runs will, and what they
need of pages is in force already.
"""

import msgspec
import pytest

from onceward.wire.decisions import Reuse
from onceward.wire.messages import Standing
from onceward.wire.problems import DamagedError
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.paging import FINISHED_PER_PAGE
from onceward_controller.vault import layout
from onceward_controller.vault.body import SNAPSHOT_EVERY
from tests.support.long_workflow import LENGTH, Long
from tests.support.services import Agent, Site, cold_head, state_of
from tests.support.stores import CountingStore

# ------------------------------------------------------------------------------------------ pages


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def long(site: Site) -> Long:
    return Long(site)


def test_a_snapshot_stays_small_however_many_operations_are_finished(long: Long) -> None:
    sizes: list[int] = []
    for until in range(32, LENGTH, 32):
        long.finish(until)
        progress = cold_head(long.site.open(), long.workflow).workflow.progress
        assert len(progress.finished) < FINISHED_PER_PAGE + SNAPSHOT_EVERY
        sizes.append(len(msgspec.msgpack.encode(progress)))

    # Ten bytes for an operation that is not on a page, and for a page its digest and its bitmap.
    most = 10 * (FINISHED_PER_PAGE + SNAPSHOT_EVERY) + 120 * (LENGTH // FINISHED_PER_PAGE)
    assert max(sizes) <= most
    assert len(long.head.workflow.progress.pages) == LENGTH // FINISHED_PER_PAGE
    assert all(page.count == FINISHED_PER_PAGE for page in long.head.workflow.progress.pages)
    assert long.head.workflow.progress.succeeded == long.done


def test_what_was_written_is_what_is_read_across_pages(long: Long) -> None:
    for until in (1, 27, 28, 29, 250, 256, 257, 284, 285, 300, 540, LENGTH):
        long.finish(until)
        assert state_of(cold_head(long.site.open(), long.workflow)) == state_of(long.head)


def test_records_are_found_through_the_page(long: Long) -> None:
    long.finish(600)
    reader = long.site.open()
    head = cold_head(reader, long.workflow)
    log = reader.vault.workflow_log(long.workflow)
    wanted = [0, 1, 255, 256, 511, 512, 599]

    found = log.records(head, wanted)

    assert [each.operation.at for each in found] == wanted
    for each in found:
        assert each.operation.settlement is not None
        assert each.operation.settlement.effect_id == f"effect-{each.operation.at}"


def test_a_page_is_read_once_however_much_of_it_is_asked_for(long: Long) -> None:
    long.finish(600)
    counted = CountingStore(long.site.store)
    reader = long.site.open(counted)
    head = cold_head(reader, long.workflow)
    counted.reset()

    reader.vault.workflow_log(long.workflow).records(head, list(range(40)))

    assert dict(counted.calls) == {"get": 1 + 40}


def test_a_reuse_of_a_paged_operation_reads_the_page_and_its_revision(long: Long) -> None:
    long.finish(600)
    counted = CountingStore(long.site.store)
    agent = Agent(long.site.open(counted))
    agent.ask(long.workflow, "op-599")
    counted.reset()

    answer = agent.ask(long.workflow, "op-7")

    assert isinstance(answer, Reuse)
    assert answer.receipt == long.receipt(7)
    assert dict(counted.calls) == {"list": 1, "get": 2}


def test_a_late_receipt_for_a_paged_operation_is_evidence_everywhere(long: Long) -> None:
    long.finish(600)

    assert long.late(Outcome.SUCCEEDED).standing is Standing.EVIDENCE
    assert long.late(Outcome.SUCCEEDED).standing is Standing.EVIDENCE

    long.caught_up()
    assert long.head.tip.revision == 600 + 5
    assert long.head.workflow.progress.succeeded == 600
    assert state_of(cold_head(long.site.open(), long.workflow)) == state_of(long.head)
    assert first(long).attempts[0].report is not None


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.NOT_EXECUTED, Outcome.UNKNOWN])
def test_evidence_that_came_after_one_page_is_found_after_the_next(
    long: Long, outcome: Outcome
) -> None:
    long.finish(300)
    assert long.late(outcome).standing is Standing.EVIDENCE
    long.caught_up()
    long.finish(LENGTH)

    revision = long.head.tip.revision
    assert first(long).attempts[0].report is not None
    assert long.late(outcome).standing is Standing.EVIDENCE
    assert cold_head(long.site.open(), long.workflow).tip.revision == revision
    answer = long.agent.ask(long.workflow, "op-0")
    assert isinstance(answer, Reuse)
    assert answer.receipt == long.receipt(0)


def first(long: Long) -> Operation:
    reader = long.site.open()
    head = cold_head(reader, long.workflow)
    [recorded] = reader.vault.workflow_log(long.workflow).records(head, [0])
    return recorded.operation


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda body: None, id="removed"),
        pytest.param(lambda body: b"", id="blanked"),
        pytest.param(lambda body: body[:-1] + bytes([body[-1] ^ 1]), id="flipped"),
        pytest.param(lambda body: body[:200], id="cut"),
    ],
)
def test_a_damaged_page_is_damage_and_leaves_the_rest_readable(long: Long, damage: object) -> None:
    assert callable(damage)
    long.finish(600)
    page = layout.object_name(long.head.workflow.progress.pages[0].digest)
    found = long.site.store.get(page)
    assert found is not None
    changed = damage(found.body)
    long.site.store.delete(page)
    if changed is not None:
        long.site.store.create(page, changed)
    agent = Agent(long.site.open())

    with pytest.raises(DamagedError):
        agent.ask(long.workflow, "op-7")
    assert isinstance(agent.ask(long.workflow, "op-300"), Reuse)


def test_pages_exchanged_for_each_other_are_damage(long: Long) -> None:
    long.finish(600)
    one, two = (layout.object_name(page.digest) for page in long.head.workflow.progress.pages[:2])
    bodies = [long.site.store.get(name) for name in (one, two)]
    assert bodies[0] is not None
    assert bodies[1] is not None
    long.site.store.put(one, bodies[1].body)
    long.site.store.put(two, bodies[0].body)

    with pytest.raises(DamagedError):
        Agent(long.site.open()).ask(long.workflow, "op-7")
