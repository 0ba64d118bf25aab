"""Times and durations as people say them."""

import re
from datetime import UTC, datetime, timedelta

from onceward.wire import limits

_UNITS = {
    "s": limits.SECOND_MS,
    "m": limits.MINUTE_MS,
    "h": limits.HOUR_MS,
    "d": limits.DAY_MS,
}
_DURATION = re.compile(r"([1-9][0-9]{0,5})([smhd])")


def clock(time_ms: int) -> str:
    """Return a time to the second, in UTC, as logs have it: ``2027-01-15 08:00:00Z``."""
    # From the epoch, because a time that a broken clock wrote must not end the program.
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
    except OverflowError:
        return f"{time_ms} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%SZ")


def distance(time_ms: int, *, now_ms: int) -> str:
    """Return how far away a time is: ``3 min ago``, ``in 40 s``, ``now``."""
    gap_ms = time_ms - now_ms
    if abs(gap_ms) < limits.SECOND_MS:
        return "now"
    return f"in {duration(gap_ms)}" if gap_ms > 0 else f"{duration(-gap_ms)} ago"


def duration(length_ms: int) -> str:
    """Return a length in its largest fitting unit, rounded down: ``90 s``, ``3 min``, ``2 d``."""
    if length_ms < limits.SECOND_MS:
        return f"{length_ms} ms"
    if length_ms < 2 * limits.MINUTE_MS:
        return f"{length_ms // limits.SECOND_MS} s"
    if length_ms < 2 * limits.HOUR_MS:
        return f"{length_ms // limits.MINUTE_MS} min"
    if length_ms < 2 * limits.DAY_MS:
        return f"{length_ms // limits.HOUR_MS} h"
    return f"{length_ms // limits.DAY_MS} d"


def parse_duration_ms(text: str) -> int:
    """Return the milliseconds that ``90s``, ``30m``, ``8h`` or ``7d`` spells.

    Raises:
        ValueError: It spells none.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"not a duration, such as 30m, 8h or 7d: `{text}`")
    return int(match[1]) * _UNITS[match[2]]
