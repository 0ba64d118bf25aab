"""When the thread that waits is woken, and when it is left to sleep."""

import threading

import pytest

from onceward.answers import Returned
from onceward.running import Running
from onceward.watch import End, Results, Watch
from tests.support.calls import a_call, held
from tests.support.ports import ManualClock

LONG_MS = 60_000


class CountingClock(ManualClock):
    """Counts how often the time was looked at: once for each time that the waiter wakes."""

    looks = 0

    def boottime_ms(self) -> int:
        self.looks += 1
        return super().boottime_ms()


@pytest.fixture
def clock() -> CountingClock:
    return CountingClock()


@pytest.fixture
def watch(clock: CountingClock) -> Watch:
    return Watch(clock)


def call_due(clock: ManualClock, in_ms: int) -> Running:
    due_ms = clock.boottime_ms() + in_ms
    return Running(held(), a_call(), None, look_ms=due_ms, ends_ms=due_ms)


def test_a_call_that_is_due_is_handed_to_who_waits(watch: Watch, clock: CountingClock) -> None:
    due = call_due(clock, 0)
    watch.attend(due)

    assert watch.wait() is due


def test_a_chain_of_quick_calls_wakes_nobody(watch: Watch, clock: CountingClock) -> None:
    first = call_due(clock, 0)
    watch.attend(first)
    assert watch.wait() is first
    for _ in range(100):
        settled = call_due(clock, LONG_MS)
        watch.attend(settled)
        settled.settle(Returned(None))
    watch.end(Results({}))
    clock.looks = 0

    assert watch.wait() == Results({})
    assert clock.looks == 1


def test_a_call_that_is_due_before_the_waiter_would_look_wakes_it(
    watch: Watch, clock: CountingClock
) -> None:
    seen: list[End | Running] = []
    watch.attend(call_due(clock, LONG_MS))
    waiter = threading.Thread(target=lambda: seen.append(watch.wait()))
    waiter.start()

    sooner = call_due(clock, 0)
    watch.attend(sooner)
    waiter.join()

    assert seen == [sooner]


def test_a_call_that_has_ended_is_not_due(watch: Watch, clock: CountingClock) -> None:
    ended = call_due(clock, 0)
    ended.settle(Returned(None))
    watch.attend(ended)
    watch.end(Results({"a": 1}))

    assert watch.wait() == Results({"a": 1})
