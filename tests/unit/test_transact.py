"""The one loop that changes a workflow: what it refuses, loses races to, and reads back."""

from collections.abc import Callable

import pytest

from onceward.wire import limits
from onceward.wire.decisions import Reuse, Wait
from onceward.wire.identifiers import WorkflowId
from onceward.wire.messages import Standing
from onceward.wire.problems import (
    ConflictError,
    DamagedError,
    ProblemCode,
    ProblemError,
    UnavailableError,
)
from onceward.wire.receipts import Outcome
from onceward_controller.service.transact import TRIES_MAX
from onceward_controller.vault import store as stores
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import Store
from tests.support.services import Agent, Site, chain, cold_head, state_of, warm_head
from tests.support.stores import FaultyStore, ForwardingStore

DOWN = stores.UnavailableError("the store is down")

DENIED = stores.RefusedError("the bucket's policy has changed")


class Beaten(ForwardingStore):
    """A store in which somebody else is always a moment faster."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.before_create: Callable[[], None] | None = None
        self.creates = 0

    def create(self, name: str, body: bytes) -> int:
        if self.before_create is not None:
            self.creates += 1
            self.before_create()
        return self._store.create(name, body)


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def faulty(site: Site) -> FaultyStore:
    return FaultyStore(site.store)


def grants(site: Site, workflow: WorkflowId, at: int = 0) -> list[str]:
    """Return who was granted the operation, as a cold reader of the store sees it."""
    operation = cold_head(site.open(), workflow).workflow.operation(at)
    return [attempt.request_id for attempt in operation.attempts]


# ----------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("verb", "error", "raised", "code"),
    [
        ("list", DOWN, UnavailableError, ProblemCode.STORE_UNAVAILABLE),
        ("list", DENIED, UnavailableError, ProblemCode.STORE_REFUSED),
        ("get", DOWN, UnavailableError, ProblemCode.STORE_UNAVAILABLE),
        ("get", DENIED, UnavailableError, ProblemCode.STORE_REFUSED),
    ],
)
def test_a_store_that_cannot_be_read_is_an_outage_and_never_not_found(
    site: Site,
    faulty: FaultyStore,
    verb: str,
    error: stores.StoreError,
    raised: type[ProblemError],
    code: ProblemCode,
) -> None:
    workflow = Agent(site.open()).create("k", chain(1))
    ann = Agent(site.open(faulty))
    faulty.fail(verb, error, after_effect=False)  # type: ignore[arg-type]  # a row of the table

    with pytest.raises(raised) as refusal:
        ann.ask(workflow)

    assert refusal.value.code is code
    assert ann.granted(workflow).attempt == 1


def test_a_store_that_refuses_writes_grants_nothing(site: Site, faulty: FaultyStore) -> None:
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(1))
    faulty.fail("create", DENIED, after_effect=False)

    with pytest.raises(UnavailableError) as refusal:
        ann.ask(workflow)

    assert refusal.value.code is ProblemCode.STORE_REFUSED
    assert grants(site, workflow) == []


def test_an_outage_without_end_is_told_as_nothing_written(site: Site, faulty: FaultyStore) -> None:
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(1))
    for _ in range(200):
        faulty.fail("create", DOWN, after_effect=False)

    with pytest.raises(UnavailableError) as refusal:
        ann.ask(workflow)

    assert refusal.value.code is ProblemCode.STORE_UNAVAILABLE
    assert grants(site, workflow) == []


def test_an_outage_of_reads_while_a_race_is_lost_is_told_and_leaves_nothing_behind(
    site: Site, faulty: FaultyStore
) -> None:
    ann, bob = Agent(site.open(faulty)), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1))
    bob.granted(workflow)
    faulty.fail("list", DOWN, after_effect=False)

    with pytest.raises(UnavailableError):
        ann.ask(workflow)

    assert isinstance(ann.ask(workflow), Wait)


def test_a_workflow_that_does_not_exist_is_not_found(site: Site) -> None:
    ann = Agent(site.open())

    for act in (ann.ask, ann.pause, ann.workflow, ann.history):
        with pytest.raises(ProblemError) as refusal:
            act(WorkflowId("wf_" + "0" * 32))
        assert refusal.value.code is ProblemCode.NOT_FOUND


# ------------------------------------------------------------------------------------ lost races


def test_a_race_lost_again_and_again_ends_in_contention(site: Site) -> None:
    beaten = Beaten(site.store)
    ann, bob = Agent(site.open(beaten)), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    moves = iter([bob.pause, bob.enable] * TRIES_MAX)
    beaten.before_create = lambda: (next(moves)(workflow), None)[1]

    with pytest.raises(UnavailableError) as refusal:
        ann.succeed(workflow, grant)

    assert refusal.value.code is ProblemCode.CONTENTION
    assert beaten.creates == TRIES_MAX
    beaten.before_create = None
    assert ann.succeed(workflow, grant) is Standing.ACCEPTED


def test_a_race_lost_fifteen_times_is_won_in_the_end(site: Site) -> None:
    beaten = Beaten(site.store)
    ann, bob = Agent(site.open(beaten)), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    moves = iter([bob.pause, bob.enable] * ((TRIES_MAX - 1) // 2) + [bob.pause])

    def move() -> None:
        following = next(moves, None)
        if following is not None:
            following(workflow)

    beaten.before_create = move

    assert ann.succeed(workflow, grant) is Standing.ACCEPTED
    assert beaten.creates == TRIES_MAX
    assert state_of(warm_head(ann.service, workflow)) == state_of(cold_head(site.open(), workflow))


# ----------------------------------------------------------------------- many commands, one state


def test_a_refusal_changes_nothing_and_writes_nothing(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    before = state_of(cold_head(site.open(), workflow))

    with pytest.raises(ConflictError):
        ann.give_up(workflow, revision=1)

    assert state_of(cold_head(site.open(), workflow)) == before


def test_a_late_receipt_for_a_final_operation_reads_its_record_and_is_evidence(site: Site) -> None:
    ann, bob = Agent(site.open()), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1, idempotency_ms=limits.DAY_MS))
    first = ann.granted(workflow)
    site.clock.pass_ms(limits.LEASE_DEFAULT_MS + limits.CLOCK_ERROR_MS)
    second = bob.granted(workflow)
    bob.succeed(workflow, second, effect_id="effect-2")

    assert ann.succeed(workflow, first, effect_id="effect-1") is Standing.EVIDENCE

    reused = bob.ask(workflow, "op-0")
    assert isinstance(reused, Reuse)
    assert reused.receipt.effect_id == "effect-2"
    assert ann.workflow(workflow).operations[0].double_effect_suspected


def test_a_log_that_lost_what_this_process_saw_is_not_believed_however_often_it_is_asked(
    site: Site,
) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    assert isinstance(site.store, MemoryStore)
    newest = site.store.list(f"{ann.service.vault.naming.workflow_log(workflow)}/").names[0]
    kept = site.store.get(newest)
    assert kept is not None
    site.store.delete(newest)

    for _ in range(3):
        with pytest.raises(DamagedError):
            Agent(ann.service, "bob").ask(workflow)
        with pytest.raises(DamagedError):
            ann.workflow(workflow)

    site.store.create(newest, kept.body)
    assert ann.granted(workflow) == grant


def test_a_failed_receipt_leaves_the_attempt_to_report_again(
    site: Site, faulty: FaultyStore
) -> None:
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    faulty.fail("create", DENIED, after_effect=False)
    with pytest.raises(UnavailableError):
        ann.succeed(workflow, grant)

    assert ann.succeed(workflow, grant) is Standing.ACCEPTED
    with pytest.raises(ConflictError) as refusal:
        ann.report(workflow, grant, Outcome.UNKNOWN)
    assert refusal.value.code is ProblemCode.RECEIPT_CONFLICT
