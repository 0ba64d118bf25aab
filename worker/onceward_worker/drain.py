"""Being told to stop: nothing more is asked for, and what runs is finished.

    SIGTERM          drain
    SIGINT, Ctrl-C   drain as well, and the process ends as one that was interrupted
    Ctrl-C again     KeyboardInterrupt: the tool is left alone, and its outcome may stay unknown

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

_STANDARD_ERROR = 2
_INTERRUPTED = b"\nstopping: a tool that runs may finish; Ctrl-C again leaves it alone\n"


class Drain:
    """Whether this process was told to stop; closed by who made it.

    Attributes:
        is_on: It was.
        is_interrupt: By a person at the terminal.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.is_interrupt = False
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
    def at_signals(cls) -> Iterator["Drain"]:
        """Give a drain that SIGTERM and SIGINT begin; at the end they do what they did before."""
        drain = cls()

        def terminate(_number: int, _frame: FrameType | None) -> None:
            drain.begin()

        def interrupt(_number: int, _frame: FrameType | None) -> None:
            drain.is_interrupt = True
            drain.begin()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if os.isatty(_STANDARD_ERROR):
                os.write(_STANDARD_ERROR, _INTERRUPTED)

        before_term = signal.signal(signal.SIGTERM, terminate)
        before_int = signal.signal(signal.SIGINT, interrupt)
        try:
            yield drain
        finally:
            signal.signal(signal.SIGTERM, before_term)
            signal.signal(signal.SIGINT, before_int)
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
