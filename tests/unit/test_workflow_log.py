"""A workflow's log: what is written is what is read, however long it gets.

The long workflows here have more operations than one may be created with: runs will, and what they
need of pages is in force already.
"""

from hashlib import sha256

import msgspec
import pytest

from onceward.sealing import IntegrityError
from onceward.wire import limits, messages
from onceward.wire.decisions import Mode, Reuse
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.messages import Standing
from onceward.wire.problems import DamagedError
from onceward.wire.receipts import Outcome, Receipt, encode
from onceward_controller.protocol import events
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.paging import FINISHED_PER_PAGE
from onceward_controller.protocol.plan import Identity
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.workflow import evolve
from onceward_controller.vault import layout
from onceward_controller.vault.body import SNAPSHOT_EVERY, Entry
from onceward_controller.vault.store import ConflictError
from onceward_controller.vault.workflow_log import Head, WorkflowLog
from tests.support.ports import START_MS
from tests.support.services import Agent, Site, chain, cold_head, state_of
from tests.support.stores import CountingStore

LENGTH = 700
WORKER = "request-of-ann"


class Long:
    """A workflow of ``LENGTH`` operations, written straight into its log.

    Operation 0 is tried twice: the first attempt's lease ran out, and its receipt may still come.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.agent = Agent(site.open())
        vault = self.agent.service.vault
        self.naming = vault.naming
        self.workflow: WorkflowId = vault.naming.workflow_id("docs", "", "long")
        self.log: WorkflowLog = vault.workflow_log(self.workflow)
        key, _ = vault.keys.make(vault.naming.key_log(self.workflow))
        identity = Identity(
            id=self.workflow,
            workspace="docs",
            authority="",
            key="long",
            label="",
            tags=(),
            created_by="ann",
            created_ms=START_MS,
        )
        operations = tuple(
            msgspec.structs.replace(each, after=() if at == 0 else (f"op-{at - 1}",))
            for at, each in enumerate(chain(LENGTH, idempotency_ms=limits.DAY_MS))
        )
        created = events.Created(identity=identity, operations=operations, digest="digest")
        self.head = self.log.create(key, "ann", created, Stamp(revision=1, ms=START_MS))
        self.append(events.Enabled())
        self.append(self.grant(0, 1))
        self.append(self.grant(0, 2, mode=Mode.REPEAT))
        self.done = 0

    def grant(self, at: int, number: int, *, mode: Mode = Mode.EXECUTE) -> events.Granted:
        lease_until_ms = START_MS + number * limits.LEASE_DEFAULT_MS
        return events.Granted(
            at=at,
            number=number,
            mode=mode,
            request_id=WORKER,
            lease_until_ms=lease_until_ms,
            call_before_ms=lease_until_ms,
            idempotency_key=f"key-{at}" if number == 1 else None,
        )

    def receipt(self, at: int, outcome: Outcome = Outcome.SUCCEEDED) -> Receipt:
        effect_id = f"effect-{at}" if outcome is Outcome.SUCCEEDED else None
        operation_id = self.head.workflow.plan.operation_id(at, self.naming)
        return Receipt(outcome=outcome, operation_id=operation_id, effect_id=effect_id)

    def success(self, at: int, number: int) -> events.Reported:
        body = encode(self.receipt(at))
        return events.Reported(
            at=at,
            number=number,
            outcome=Outcome.SUCCEEDED,
            accepted=True,
            conclusive=False,
            effect_id=f"effect-{at}",
            receipt_sha256=sha256(body).digest(),
            receipt=body,
        )

    def finish(self, until: int) -> None:
        """Let operations succeed up to ``until``, one revision each."""
        while self.done < until:
            at = self.done
            following = () if at + 1 == LENGTH else (self.grant(at + 1, 1),)
            self.append(self.success(at, 2 if at == 0 else 1), *following)
            self.done += 1

    def append(self, *changes: events.Event) -> None:
        stamp = Stamp(revision=self.head.tip.revision + 1, ms=START_MS)
        state = self.head.workflow
        for event in changes:
            state = evolve(state, event, stamp)
        entry = Entry(actor="ann", command="test", events=changes)
        self.head = self.log.append(self.head, state, (entry,), stamp)

    def late(self, outcome: Outcome) -> messages.Completed:
        """Hand in the receipt of the first attempt at operation 0."""
        operation_id = self.head.workflow.plan.operation_id(0, self.naming)
        body = messages.Complete(
            attempt=1,
            lease_token=self.naming.lease_token(operation_id, 1, WORKER),
            receipt=self.receipt(0, outcome),
        )
        return self.agent.complete(self.workflow, OperationName("op-0"), body)

    def caught_up(self) -> None:
        """Read what the agent wrote, to write on from there."""
        self.head = self.log.refresh(self.head)


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def long(site: Site) -> Long:
    return Long(site)


# ------------------------------------------------------------------------------------------ pages


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


# --------------------------------------------------------------------------------- heads and races


def test_a_log_that_was_never_written_loads_as_nothing(site: Site) -> None:
    service = site.open()
    workflow = service.vault.naming.workflow_id("docs", "", "none")

    assert service.vault.workflow_log(workflow).load() is None


def test_who_writes_second_conflicts_and_changes_nothing(long: Long) -> None:
    behind = long.head
    long.finish(1)
    stamp = Stamp(revision=behind.tip.revision + 1, ms=START_MS)
    entry = Entry(actor="bob", command="test", events=(events.Paused(),))
    paused = evolve(behind.workflow, events.Paused(), stamp)

    with pytest.raises(ConflictError):
        long.log.append(behind, paused, (entry,), stamp)

    assert state_of(cold_head(long.site.open(), long.workflow)) == state_of(long.head)


LAGS = (0, 1, 2, SNAPSHOT_EVERY - 1, SNAPSHOT_EVERY, SNAPSHOT_EVERY + 1, 100)


@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("start", [1, 27, 28, 280], ids="from={}".format)
def test_a_head_catches_up_from_anywhere(long: Long, lag: int, start: int) -> None:
    long.finish(start)
    behind = cold_head(long.site.open(), long.workflow)
    long.finish(start + lag)

    caught_up = long.log.refresh(behind)

    assert state_of(caught_up) == state_of(long.head)
    if lag == 0:
        assert caught_up is behind


def test_a_log_that_is_shorter_than_a_head_is_damage(long: Long) -> None:
    long.finish(3)
    name = layout.revision_name(long.naming.workflow_log(long.workflow), long.head.tip.revision)
    long.site.store.delete(name)

    with pytest.raises(IntegrityError):
        long.log.refresh(long.head)


@pytest.mark.parametrize("lag", [1, SNAPSHOT_EVERY, SNAPSHOT_EVERY + 1, 100])
def test_a_log_that_does_not_continue_a_head_is_damage(long: Long, lag: int) -> None:
    long.finish(2)
    other = Head(
        workflow=long.head.workflow,
        tip=msgspec.structs.replace(long.head.tip, digest=bytes(32)),
        key=long.head.key,
        row=long.head.row,
    )
    long.finish(2 + lag)

    with pytest.raises(IntegrityError):
        long.log.refresh(other)


def test_records_of_one_revision_are_read_once(site: Site) -> None:
    counted = CountingStore(site.store)
    long = Long(site)
    grants = [long.grant(at, 1) for at in range(1, 9)]
    long.append(*grants)
    long.append(*(long.success(at, 1) for at in range(1, 9)))
    reader = site.open(counted)
    head = cold_head(reader, long.workflow)
    counted.reset()

    found = reader.vault.workflow_log(long.workflow).records(head, list(range(1, 9)))

    assert [each.operation.at for each in found] == list(range(1, 9))
    assert dict(counted.calls) == {"get": 1}


def test_bodies_come_in_the_order_they_were_asked_for(long: Long) -> None:
    long.finish(3)
    bodies = long.log.bodies(long.head, [5, 2, 4])

    assert [type(each.entries[0].events[0]).__name__ for each in bodies] == [
        "Reported",
        "Enabled",
        "Granted",
    ]
