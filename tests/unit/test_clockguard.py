"""When time may be believed, to the millisecond."""

import pytest

from onceward.wire import limits
from onceward_controller.protocol.clockguard import moment
from tests.support.protocol import START_MS, reading

APART_MS = limits.CLOCK_ERROR_MS


@pytest.mark.parametrize("direction", [-1, 1], ids=["host-behind", "host-ahead"])
@pytest.mark.parametrize(("apart_ms", "safe"), [(0, True), (APART_MS, True), (APART_MS + 1, False)])
def test_host_and_store_may_lie_five_seconds_apart(
    apart_ms: int, safe: bool, direction: int
) -> None:
    clocks = reading(START_MS, local_ms=START_MS + direction * apart_ms)
    assert clocks.is_safe is safe
    assert moment(clocks, high_water_ms=0).safe is safe


def test_clocks_that_agree_are_not_believed_once_store_and_boot_time_moved_apart() -> None:
    assert not moment(reading(START_MS, anchored=False), high_water_ms=0).safe


@pytest.mark.parametrize(
    ("mark_ms", "safe"),
    [
        (START_MS - limits.DAY_MS, True),
        (START_MS, True),
        (START_MS + APART_MS, True),
        (START_MS + APART_MS + 1, False),
        (START_MS + limits.DAY_MS, False),
    ],
)
def test_a_store_more_than_five_seconds_behind_the_log_is_not_believed(
    mark_ms: int, safe: bool
) -> None:
    assert moment(reading(START_MS), high_water_ms=mark_ms).safe is safe


@pytest.mark.parametrize("mark_ms", [START_MS - 1, START_MS, START_MS + 1, START_MS + APART_MS])
def test_time_never_goes_back_behind_the_log(mark_ms: int) -> None:
    assert moment(reading(START_MS), high_water_ms=mark_ms).ms == max(START_MS, mark_ms)


def test_both_clocks_are_told_as_read() -> None:
    now = moment(reading(START_MS, local_ms=START_MS + 3), high_water_ms=START_MS + 9)
    assert (now.store_ms, now.local_ms) == (START_MS, START_MS + 3)


def test_an_idle_month_is_no_jump() -> None:
    assert moment(reading(START_MS + 31 * limits.DAY_MS), high_water_ms=START_MS).safe
