"""The real clock, random source and threads: the one module of the SDK that touches them."""

import os
import threading
import time
from collections.abc import Callable

from onceward.ports import Task

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)


class SystemClock:
    """The host's clocks; ``CLOCK_BOOTTIME`` where the platform has it, else the monotonic clock."""

    def wall_ms(self) -> int:
        """See ``ports.Clock``."""
        return time.time_ns() // 1_000_000

    def boottime_ms(self) -> int:
        """See ``ports.Clock``; where there is no boot time, a suspend is not counted."""
        if _BOOTTIME is None:
            return time.monotonic_ns() // 1_000_000
        return time.clock_gettime_ns(_BOOTTIME) // 1_000_000

    def sleep(self, duration_ms: int) -> None:
        """See ``ports.Clock``."""
        time.sleep(max(duration_ms, 0) / 1000)


class SystemEntropy:
    """The operating system's random source."""

    def take(self, size: int) -> bytes:
        """See ``ports.Entropy``."""
        return os.urandom(size)


class _ThreadTask:
    def __init__(self, thread: threading.Thread) -> None:
        self._thread = thread

    def join(self, timeout_ms: int | None = None) -> bool:
        self._thread.join(None if timeout_ms is None else timeout_ms / 1000)
        return not self._thread.is_alive()


class ThreadSpawner:
    """Daemon threads: a process that ends does not wait for them."""

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        """See ``ports.Spawner``."""
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return _ThreadTask(thread)
