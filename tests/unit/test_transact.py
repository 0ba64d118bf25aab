"""The one loop that changes a workflow, over a store that loses, delays and refuses."""

from collections.abc import Callable

import pytest

from onceward.wire import limits
from onceward.wire.decisions import Execute, Reuse, Stop, StopReason, Wait
from onceward.wire.identifiers import WorkflowId
from onceward.wire.messages import Standing
from onceward.wire.problems import (
    ConflictError,
    DamagedError,
    ProblemCode,
    ProblemError,
    UnavailableError,
    UnknownWriteError,
)
from onceward.wire.receipts import Outcome
from onceward_controller.service.transact import TRIES_MAX
from onceward_controller.vault import store as stores
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import Store
from tests.support.services import Agent, Site, chain, cold_head, state_of, warm_head
from tests.support.stores import CountingStore, FaultyStore, ForwardingStore

LOST = stores.OutcomeUnknownError("the reply was lost")
DOWN = stores.UnavailableError("the store is down")
DENIED = stores.RefusedError("the bucket's policy has changed")
TAKEN = stores.ConflictError("taken")


class Slow(ForwardingStore):
    """A store whose creates vanish into the network while ``is_lossy``, and land when told.

    A create that vanished says that its outcome is unknown; ``land`` lets its bytes arrive, which
    the store behind takes only if the name is still free.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._under_way: dict[tuple[str, bytes], None] = {}
        self.is_lossy = False

    def land(self) -> int:
        """Let everything arrive that is under way; return how much of it was stored."""
        stored = 0
        for name, body in self._under_way:
            try:
                self._store.create(name, body)
                stored += 1
            except stores.ConflictError:
                continue
        self._under_way.clear()
        return stored

    def create(self, name: str, body: bytes) -> int:
        if self.is_lossy:
            self._under_way[name, body] = None
            raise LOST
        return self._store.create(name, body)


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


# ------------------------------------------------------------------------------- lost replies


@pytest.mark.parametrize("after_effect", [False, True], ids=["before-effect", "after-effect"])
@pytest.mark.parametrize("lost", [1, 3])
def test_a_grant_whose_reply_was_lost_is_granted_once(
    site: Site, faulty: FaultyStore, lost: int, after_effect: bool
) -> None:
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(1))
    for _ in range(lost):
        faulty.fail("create", LOST, after_effect=after_effect)

    grant = ann.granted(workflow)

    assert grant.attempt == 1
    assert grants(site, workflow) == [ann.request_id]
    assert state_of(warm_head(ann.service, workflow)) == state_of(cold_head(site.open(), workflow))


@pytest.mark.parametrize("after_effect", [False, True], ids=["before-effect", "after-effect"])
def test_a_receipt_whose_reply_was_lost_is_filed_once(
    site: Site, faulty: FaultyStore, after_effect: bool
) -> None:
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(2))
    grant = ann.granted(workflow)
    faulty.fail("create", LOST, after_effect=after_effect)

    following = ann.step(workflow, grant)

    assert isinstance(following, Execute)
    assert following.operation == "op-1"
    assert cold_head(site.open(), workflow).tip.revision == 4


def test_anothers_grant_behind_a_lost_reply_is_waited_for(site: Site, faulty: FaultyStore) -> None:
    ann, bob = Agent(site.open(faulty)), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1))
    bob.granted(workflow)
    faulty.fail("create", LOST, after_effect=False)

    assert isinstance(ann.ask(workflow), Wait)
    assert grants(site, workflow) == [bob.request_id]


# ------------------------------------------------------------------------------ delayed writes


def test_a_grant_of_unknown_outcome_is_told_as_such(site: Site) -> None:
    slow = Slow(site.store)
    ann = Agent(site.open(slow))
    workflow = ann.create("k", chain(1))
    slow.is_lossy = True

    with pytest.raises(UnknownWriteError) as raised:
        ann.ask(workflow)

    assert raised.value.code is ProblemCode.STORE_OUTCOME_UNKNOWN


def test_asking_again_after_an_unknown_outcome_gets_the_grant_that_landed(site: Site) -> None:
    slow = Slow(site.store)
    ann = Agent(site.open(slow))
    workflow = ann.create("k", chain(1))
    slow.is_lossy = True
    with pytest.raises(UnknownWriteError):
        ann.ask(workflow)
    slow.is_lossy = False
    assert slow.land() == 1

    grant = ann.granted(workflow)

    assert grant.attempt == 1
    assert grants(site, workflow) == [ann.request_id]


def test_after_an_unknown_outcome_the_log_is_read_before_anything_is_written(site: Site) -> None:
    slow = Slow(site.store)
    counted = CountingStore(slow)
    ann = Agent(site.open(counted))
    workflow = ann.create("k", chain(1))
    slow.is_lossy = True
    with pytest.raises(UnknownWriteError):
        ann.ask(workflow)
    slow.is_lossy = False
    slow.land()
    counted.reset()

    ann.granted(workflow)

    assert counted.calls["create"] == 0
    assert counted.calls["list"] > 0


def test_a_write_that_lands_after_it_was_made_again_lands_nowhere(site: Site) -> None:
    slow = Slow(site.store)
    ann = Agent(site.open(slow))
    workflow = ann.create("k", chain(1))
    slow.is_lossy = True
    with pytest.raises(UnknownWriteError):
        ann.ask(workflow)
    slow.is_lossy = False

    grant = ann.granted(workflow)
    assert slow.land() == 0

    assert grant.attempt == 1
    assert ann.granted(workflow) == grant
    assert grants(site, workflow) == [ann.request_id]
    assert ann.succeed(workflow, grant) is Standing.ACCEPTED
    assert state_of(warm_head(ann.service, workflow)) == state_of(cold_head(site.open(), workflow))


@pytest.mark.parametrize("lands_first", [False, True], ids=["too-late", "in-time"])
def test_of_two_processes_one_of_which_hangs_in_the_network_one_is_granted(
    site: Site, lands_first: bool
) -> None:
    slow = Slow(site.store)
    ann, bob = Agent(site.open(slow)), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1))
    slow.is_lossy = True
    with pytest.raises(UnknownWriteError):
        ann.ask(workflow)
    slow.is_lossy = False

    if lands_first:
        slow.land()
    answers = {"bob": bob.ask(workflow)}
    slow.land()
    answers["ann"] = ann.ask(workflow)

    winner = "ann" if lands_first else "bob"
    assert [name for name, answer in answers.items() if isinstance(answer, Execute)] == [winner]
    assert grants(site, workflow) == [f"request-of-{winner}"]


def test_a_receipt_of_unknown_outcome_that_lands_late_is_found_when_handed_in_again(
    site: Site,
) -> None:
    slow = Slow(site.store)
    ann = Agent(site.open(slow))
    workflow = ann.create("k", chain(2))
    grant = ann.granted(workflow)
    slow.is_lossy = True
    with pytest.raises(UnknownWriteError):
        ann.step(workflow, grant)
    slow.is_lossy = False
    slow.land()

    following = ann.step(workflow, grant)

    assert isinstance(following, Execute)
    assert (following.operation, following.attempt) == ("op-1", 1)
    assert cold_head(site.open(), workflow).tip.revision == 4


def test_a_pause_of_unknown_outcome_that_lands_late_pauses(site: Site) -> None:
    slow = Slow(site.store)
    ann, bob = Agent(site.open(slow)), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1))
    slow.is_lossy = True
    with pytest.raises(UnknownWriteError):
        ann.pause(workflow)
    slow.land()

    stop = bob.ask(workflow)

    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.PAUSED


def test_a_workflow_whose_creation_hung_is_created_once(site: Site) -> None:
    slow = Slow(site.store)
    ann = Agent(site.open(slow))
    slow.is_lossy = True
    with pytest.raises(UnknownWriteError):
        ann.create("k", chain(1))
    slow.is_lossy = False
    slow.land()

    workflow = ann.create("k", chain(1))

    assert ann.granted(workflow).attempt == 1
    assert cold_head(site.open(), workflow).tip.revision == 3


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
