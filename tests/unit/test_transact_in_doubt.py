"""Changes whose reply was lost, or which land late: made once, and found again."""

import pytest

from onceward.wire.decisions import Execute, Stop, StopReason, Wait
from onceward.wire.identifiers import WorkflowId
from onceward.wire.messages import Standing
from onceward.wire.problems import (
    ProblemCode,
    UnknownWriteError,
)
from onceward_controller.vault import store as stores
from onceward_controller.vault.store import Store
from tests.support.services import Agent, Site, chain, cold_head, state_of, warm_head
from tests.support.stores import CountingStore, FaultyStore, ForwardingStore

LOST = stores.OutcomeUnknownError("the reply was lost")


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
