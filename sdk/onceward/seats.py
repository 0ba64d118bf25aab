"""Threads that errands are carried out on, kept for the next one.

Of two errands that follow each other the second starts no thread: it gets the one that has just
become free, whose stack is still in the processor's caches. A thread that is held up by a tool that
hangs is missing here until the tool ends, and nothing waits for it.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock
from typing import TypeAlias

from onceward.ports import Spawner

IDLE_THREADS_MAX = 32
"""Threads that are kept for the next errand; a burst may use more."""

Work: TypeAlias = Callable[[], Callable[[], None] | None]
"""Work for a thread; what it returns is called when the thread is free again."""

_Seat: TypeAlias = "SimpleQueue[Work | None]"
"""Where one thread waits for its next work; None ends it."""


class Seats:
    """The threads of one client."""

    def __init__(self, spawner: Spawner) -> None:
        self._spawner = spawner
        self._guard = Lock()
        self._idle: list[_Seat] = []
        self._is_closed = False

    def run(self, work: Work) -> None:
        """Let a thread do ``work``, which raises nothing.

        Raises:
            RuntimeError: There is no thread for it; nothing was done.
        """
        with self._guard:
            seat = self._idle.pop() if self._idle else None
        if seat is None:
            seat = SimpleQueue()
            self._spawner.spawn("onceward-errand", lambda: self._serve(seat))
        seat.put(work)

    def close(self) -> None:
        """Let idle threads end; each of the others ends with its work."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for seat in idle:
            seat.put(None)

    def _serve(self, seat: _Seat) -> None:
        while (work := seat.get()) is not None:
            announce = work()
            # The seat is free before anybody hears of the work's end, so that whoever follows
            # finds it.
            self._free(seat)
            if announce is not None:
                announce()
            # Not kept alive while the thread waits: they hold what the work was about.
            del work, announce

    def _free(self, seat: _Seat) -> None:
        with self._guard:
            if not self._is_closed and len(self._idle) < IDLE_THREADS_MAX:
                self._idle.append(seat)
                return
        seat.put(None)
