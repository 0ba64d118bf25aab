"""The ports as a test wants them: time that moves when told, bytes that repeat, work on the spot.

    true time  ──▶ ManualClock.boottime_ms, and wall_ms unless somebody sets it
    host boot  ──▶ StoreClock: another machine's clock, which goes on by itself

A host that is frozen and one whose clock is set look the same to a store that is not: its clock
and the host's boot time no longer move together. Both are one word here.
"""

import hashlib
import threading
from collections.abc import Callable

from onceward.ports import Task

START_MS = 1_800_000_000_000
"""When every test begins, Unix time."""
_BOOTED_MS = 86_400_000
"""The host has been up for a day."""


class ManualClock:
    """A host's two clocks, which stand still until somebody moves them or sleeps.

    Attributes:
        slept_ms: How long everybody slept, in all.
    """

    def __init__(self, wall_ms: int = START_MS) -> None:
        self._lock = threading.Lock()
        self._wall_ms = wall_ms
        self._boot_ms = _BOOTED_MS
        self.slept_ms = 0

    def wall_ms(self) -> int:
        return self._wall_ms

    def boottime_ms(self) -> int:
        return self._boot_ms

    def sleep(self, duration_ms: int) -> None:
        self.slept_ms += duration_ms
        self.pass_ms(duration_ms)

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, awake or suspended: boot time counts both."""
        with self._lock:
            self._wall_ms += duration_ms
            self._boot_ms += duration_ms

    def set_wall(self, by_ms: int) -> None:
        """Set the wall clock forward or back; nothing else moves."""
        with self._lock:
            self._wall_ms += by_ms


class StoreClock:
    """A store's own clock: it starts with the host's, goes on with true time, and may be set.

    Args:
        host: Whose boot time is true time, but for what ``set`` adds.
        resolution_ms: What the store rounds down to; S3 tells whole seconds.
    """

    def __init__(self, host: ManualClock, *, resolution_ms: int = 1) -> None:
        self._host = host
        self._ahead_ms = host.wall_ms() - host.boottime_ms()
        self._resolution_ms = resolution_ms

    def wall_ms(self) -> int:
        told_ms = self._host.boottime_ms() + self._ahead_ms
        return told_ms - told_ms % self._resolution_ms

    def boottime_ms(self) -> int:
        return self._host.boottime_ms()

    def sleep(self, duration_ms: int) -> None:
        self._host.sleep(duration_ms)

    def set(self, by_ms: int) -> None:
        """Move the store's clock against the host's boot time."""
        self._ahead_ms += by_ms


class SeededEntropy:
    """Bytes that are the same in every run, and never the same twice in one."""

    def __init__(self, seed: str = "onceward") -> None:
        self._seed = seed.encode()
        self._taken = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> bytes:
        with self._lock:
            self._taken += 1
            number = self._taken
        return hashlib.shake_256(self._seed + number.to_bytes(8, "big")).digest(size)


class _Ended:
    def join(self, timeout_ms: int | None = None) -> bool:
        return True


class InlineSpawner:
    """Runs the work before it returns."""

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        work()
        return _Ended()


class HeldSpawner:
    """Keeps the work until it is told to run it: a thread that has not had its turn."""

    def __init__(self) -> None:
        self._held: list[Callable[[], None]] = []

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        self._held.append(work)
        return _Ended()

    def run(self) -> None:
        while self._held:
            self._held.pop(0)()
