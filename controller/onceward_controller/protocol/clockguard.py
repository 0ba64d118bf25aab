"""When time may be believed, and what time it is then.

A lease judged by a wrong clock is a second effect. Trusted time is the store's; the host's own
clock is only held against it. Two honest readings may lie ``CLOCK_ERROR_MS`` apart (S3 tells whole
seconds), so that a reading a little below what a workflow has already seen is raised to it, and
one far below stops dispatch.
"""

from msgspec import Struct

from onceward.wire import limits


class Reading(Struct, frozen=True):
    """One look at the clocks.

    Attributes:
        store_ms: Trusted time: the store's, carried on by boot time.
        local_ms: The host's wall clock at the same moment.
        anchored: Whether store time and boot time have moved together since the last answer.
    """

    store_ms: int
    local_ms: int
    anchored: bool = True

    @property
    def is_safe(self) -> bool:
        """Whether store and host agree well enough to grant anything."""
        return self.anchored and abs(self.store_ms - self.local_ms) <= limits.CLOCK_ERROR_MS


class Moment(Struct, frozen=True):
    """The time at which one command is decided.

    Attributes:
        ms: Trusted time, never below what the workflow has seen while ``safe``.
        safe: Whether it may license anything.
        store_ms: As read.
        local_ms: As read.
    """

    ms: int
    safe: bool
    store_ms: int
    local_ms: int


def moment(reading: Reading, *, high_water_ms: int) -> Moment:
    """Return the moment to decide at.

    Args:
        reading: The clocks.
        high_water_ms: The latest trusted time that the workflow's log bears.
    """
    behind_ms = high_water_ms - reading.store_ms
    return Moment(
        ms=max(reading.store_ms, high_water_ms),
        safe=reading.is_safe and behind_ms <= limits.CLOCK_ERROR_MS,
        store_ms=reading.store_ms,
        local_ms=reading.local_ms,
    )
