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
_SPOKEN = (("s", limits.SECOND_MS, 120), ("min", limits.MINUTE_MS, 120), ("h", limits.HOUR_MS, 48))
"""A unit, its length, and how many of it are better said in the next."""
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
    """Return a length in its largest fitting unit, rounded: ``90 s``, ``3 min``, ``8 h``."""
    if length_ms < limits.SECOND_MS:
        return f"{length_ms} ms"
    for name, unit_ms, below in _SPOKEN:
        count = (length_ms + unit_ms // 2) // unit_ms
        if count < below:
            return f"{count} {name}"
    return f"{(length_ms + limits.DAY_MS // 2) // limits.DAY_MS} d"


def parse_duration_ms(text: str) -> int:
    """Return the milliseconds that ``90s``, ``30m``, ``8h`` or ``7d`` spells.

    Raises:
        ValueError: It spells none.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"not a duration, such as 30m, 8h or 7d: `{text}`")
    return int(match[1]) * _UNITS[match[2]]
