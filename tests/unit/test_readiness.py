"""Whether a controller can serve, as strangers may ask it: often, and while the store is silent."""

import threading
from functools import partial

import pytest

from onceward.system import ThreadSpawner
from onceward_controller.api.health import FRESH_MS, Readiness
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import PAGE_NAMES_MAX, Page, Store, UnavailableError
from tests.support.ports import ManualClock
from tests.support.stores import CountingStore, FaultyStore, ForwardingStore


class SilentStore(ForwardingStore):
    """Answers no listing while ``is_open`` is not set."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.is_open = threading.Event()
        self.is_open.set()
        self.asked = threading.Event()

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        self.asked.set()
        self.is_open.wait()
        return super().list(prefix, after=after, limit=limit)


def check(readiness: Readiness) -> None:
    readiness.is_reachable()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_one_look_answers_for_a_moment(clock: ManualClock) -> None:
    counted = CountingStore(MemoryStore(clock))
    readiness = Readiness(counted, clock)

    assert [readiness.is_reachable() for _ in range(3)] == [True] * 3
    assert counted.calls["list"] == 1
    clock.pass_ms(FRESH_MS)
    assert readiness.is_reachable()
    assert counted.calls["list"] == 2


def test_a_store_that_does_not_answer_is_not_reachable(clock: ManualClock) -> None:
    faulty = FaultyStore(MemoryStore(clock))
    faulty.fail("list", UnavailableError("down"), after_effect=False)

    assert not Readiness(faulty, clock).is_reachable()


@pytest.mark.parametrize(
    ("seen_before", "passed_ms", "answer"),
    [
        pytest.param(True, FRESH_MS, True, id="seen-a-moment-ago"),
        pytest.param(True, 2 * FRESH_MS, False, id="silent-for-too-long"),
        pytest.param(False, 0, False, id="never-seen"),
    ],
)
def test_nobody_waits_while_somebody_looks_at_a_silent_store(
    clock: ManualClock, seen_before: bool, passed_ms: int, answer: bool
) -> None:
    store = SilentStore(MemoryStore(clock))
    readiness = Readiness(store, clock)
    if seen_before:
        assert readiness.is_reachable()
    clock.pass_ms(passed_ms)
    store.asked.clear()
    store.is_open.clear()
    looking = ThreadSpawner().spawn("looking", partial(check, readiness))
    store.asked.wait()

    assert readiness.is_reachable() is answer

    store.is_open.set()
    looking.join()
    assert readiness.is_reachable()
