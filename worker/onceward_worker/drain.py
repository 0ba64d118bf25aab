"""Being told to stop: nothing more is asked for, and what runs is finished.

A signal may arrive at any instruction of the main thread, so its handler takes no lock and raises
nothing: it sets one attribute and writes one byte into a pipe. The byte ends a pause that is under
way; a tool that is running is not disturbed at all.
"""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from onceward.ports import Clock


class Drain:
    """Whether this process was told to stop. Close it, or use it as a context."""

    def __init__(self) -> None:
        self.is_on = False
        self._ends, self._start = os.pipe()
        # Were the pipe ever full, the byte that is wanted would already be in it.
        os.set_blocking(self._start, False)

    def begin(self) -> None:
        """Ask for nothing more from now on; may be called by a signal handler, and again."""
        if not self.is_on:
            self.is_on = True
            os.write(self._start, b"\0")

    def wait(self, duration_ms: int) -> None:
        """Return after ``duration_ms`` milliseconds, or as soon as this is told to stop."""
        select.select([self._ends], [], [], max(duration_ms, 0) / 1000)

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._ends)
        os.close(self._start)

    @classmethod
    @contextmanager
    def at_sigterm(cls) -> Iterator["Drain"]:
        """Give a drain that SIGTERM begins; what SIGTERM did before is put back at the end."""
        drain = cls()

        def handle(_number: int, _frame: FrameType | None) -> None:
            drain.begin()

        before = signal.signal(signal.SIGTERM, handle)
        try:
            yield drain
        finally:
            signal.signal(signal.SIGTERM, before)
            drain.close()


class DrainClock:
    """A clock whose pauses end early when the process is told to stop.

    Once it was told, pauses are whole again: what still has to be said to the controller, above
    all a receipt, is tried as patiently as ever.
    """

    def __init__(self, clock: Clock, drain: Drain) -> None:
        self._clock = clock
        self._drain = drain

    def wall_ms(self) -> int:
        """See ``ports.Clock``."""
        return self._clock.wall_ms()

    def boottime_ms(self) -> int:
        """See ``ports.Clock``."""
        return self._clock.boottime_ms()

    def sleep(self, duration_ms: int) -> None:
        """See ``ports.Clock``; ends early once, at the moment of being told to stop."""
        if self._drain.is_on:
            self._clock.sleep(duration_ms)
        else:
            self._drain.wait(duration_ms)
