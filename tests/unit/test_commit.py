"""The commit rule: whose write is it, when the reply was lost?"""

from collections.abc import Callable

import pytest

from onceward_controller.vault.commit import BACKOFF_CAP_MS, DEADLINE_MS, create_once
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import (
    ConflictError,
    OutcomeUnknownError,
    Page,
    RefusedError,
    Stored,
    StoreError,
    UnavailableError,
)
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.stores import FaultyStore

NAME = "aa/w/log/1"
OURS = b"sealed by us"
THEIRS = b"sealed by somebody else"
LOST = OutcomeUnknownError("the reply was lost")
DOWN = UnavailableError("the store is down")
DENIED = RefusedError("the bucket's policy has changed")


class Desk:
    """A store that fails as scripted, and a clock that only sleeping moves."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.entropy = SeededEntropy()
        self.memory = MemoryStore(self.clock)
        self.faulty = FaultyStore(self.memory)

    def create(self) -> int:
        return create_once(self.faulty, NAME, OURS, self.clock, self.entropy)

    @property
    def stored(self) -> bytes | None:
        found = self.memory.get(NAME)
        return None if found is None else found.body


@pytest.fixture
def desk() -> Desk:
    return Desk()


class Endless:
    """Every create fails; ``meanwhile`` runs before each failure."""

    def __init__(self, desk: Desk, error: StoreError, meanwhile: Callable[[int], None]) -> None:
        self._desk = desk
        self._error = error
        self._meanwhile = meanwhile
        self.tries = 0

    def create(self, name: str, body: bytes) -> int:
        self.tries += 1
        self._meanwhile(self.tries)
        raise self._error

    def get(self, name: str) -> Stored | None:
        return self._desk.memory.get(name)

    def list(self, prefix: str, *, after: str = "", limit: int = 1000) -> Page:
        raise AssertionError("the commit rule lists nothing")

    def put(self, name: str, body: bytes) -> int:
        raise AssertionError("the commit rule puts nothing")

    def blank(self, name: str) -> None:
        raise AssertionError("the commit rule blanks nothing")

    def delete(self, name: str) -> None:
        raise AssertionError("the commit rule deletes nothing")

    def close(self) -> None:
        return


def test_a_create_that_succeeds_is_ours_at_the_stores_time(desk: Desk) -> None:
    assert desk.create() == desk.clock.wall_ms()
    assert desk.stored == OURS


def test_a_conflict_with_nothing_in_doubt_is_anothers_without_a_read(desk: Desk) -> None:
    desk.memory.create(NAME, OURS)
    desk.faulty.fail("get", DENIED, after_effect=False)

    with pytest.raises(ConflictError):
        desk.create()


@pytest.mark.parametrize("lost", [1, 2, 7])
def test_replies_lost_before_the_effect_end_in_one_write(desk: Desk, lost: int) -> None:
    for _ in range(lost):
        desk.faulty.fail("create", LOST, after_effect=False)

    desk.create()

    assert desk.stored == OURS


@pytest.mark.parametrize("lost", [1, 2, 7])
def test_replies_lost_after_the_effect_are_found_to_be_ours(desk: Desk, lost: int) -> None:
    for _ in range(lost):
        desk.faulty.fail("create", LOST, after_effect=True)

    assert desk.create() == desk.clock.wall_ms()
    assert desk.stored == OURS


def test_anothers_write_behind_a_lost_reply_is_a_conflict(desk: Desk) -> None:
    desk.memory.create(NAME, THEIRS)
    desk.faulty.fail("create", LOST, after_effect=False)

    with pytest.raises(ConflictError):
        desk.create()
    assert desk.stored == THEIRS


def test_a_blanked_object_behind_a_lost_reply_is_a_conflict(desk: Desk) -> None:
    desk.memory.create(NAME, b"")
    desk.faulty.fail("create", LOST, after_effect=False)

    with pytest.raises(ConflictError):
        desk.create()


def test_the_same_bytes_are_ours_however_late_they_land(desk: Desk) -> None:
    def landing(tries: int) -> None:
        if tries == 3:
            desk.memory.create(NAME, OURS)

    desk.faulty = FaultyStore(Endless(desk, LOST, landing))
    with pytest.raises(OutcomeUnknownError):
        desk.create()
    assert desk.stored == OURS


def test_an_outage_before_the_write_is_waited_out(desk: Desk) -> None:
    for _ in range(5):
        desk.faulty.fail("create", DOWN, after_effect=False)

    desk.create()

    assert desk.stored == OURS


def test_an_outage_without_end_is_told_as_nothing_written(desk: Desk) -> None:
    began_ms = desk.clock.boottime_ms()
    endless = Endless(desk, DOWN, lambda _: None)

    with pytest.raises(UnavailableError):
        create_once(endless, NAME, OURS, desk.clock, desk.entropy)

    took_ms = desk.clock.boottime_ms() - began_ms
    assert DEADLINE_MS <= took_ms <= DEADLINE_MS + BACKOFF_CAP_MS
    assert endless.tries > DEADLINE_MS // BACKOFF_CAP_MS


@pytest.mark.parametrize("later", [LOST, DOWN], ids=["still-lost", "then-down"])
def test_doubt_without_end_is_told_as_doubt(desk: Desk, later: StoreError) -> None:
    desk.faulty = FaultyStore(Endless(desk, later, lambda _: None))
    desk.faulty.fail("create", LOST, after_effect=False)

    with pytest.raises(OutcomeUnknownError):
        desk.create()


def test_a_refusal_is_told_at_once(desk: Desk) -> None:
    desk.faulty.fail("create", DENIED, after_effect=False)

    with pytest.raises(RefusedError):
        desk.create()
    assert desk.clock.slept_ms == 0


def test_a_refusal_after_a_lost_reply_does_not_say_that_nothing_was_written(desk: Desk) -> None:
    desk.faulty.fail("create", LOST, after_effect=True)
    desk.faulty.fail("create", DENIED, after_effect=False)

    with pytest.raises(OutcomeUnknownError):
        desk.create()
    assert desk.stored == OURS


def test_a_read_that_is_refused_leaves_the_doubt(desk: Desk) -> None:
    desk.faulty.fail("create", LOST, after_effect=True)
    desk.faulty.fail("get", DENIED, after_effect=False)

    with pytest.raises(OutcomeUnknownError):
        desk.create()


def test_a_read_that_fails_for_a_while_is_tried_again(desk: Desk) -> None:
    desk.faulty.fail("create", LOST, after_effect=True)
    for _ in range(3):
        desk.faulty.fail("get", DOWN, after_effect=False)

    desk.create()

    assert desk.stored == OURS


def test_a_name_that_is_taken_and_not_there_leaves_the_doubt(desk: Desk) -> None:
    desk.faulty.fail("create", LOST, after_effect=False)
    desk.faulty.fail("create", ConflictError("taken"), after_effect=False)

    with pytest.raises(OutcomeUnknownError):
        desk.create()


def test_processes_that_retry_together_spread_out(desk: Desk) -> None:
    def slept(seed: str) -> int:
        clock = ManualClock()
        store = FaultyStore(MemoryStore(clock))
        for _ in range(8):
            store.fail("create", DOWN, after_effect=False)
        create_once(store, NAME, OURS, clock, SeededEntropy(seed))
        return clock.slept_ms

    assert len({slept(f"process {number}") for number in range(8)}) > 4
