"""How the thread that waits for an errand and the one that carries it out speak to each other.

    caller's thread                      errand's thread
        │                                   attend(call 1)     must be looked at in 30 s
        │  sleeps until call 1 is due       attend(call 2)     in 30 s and a little: says nothing
        │                                   attend(call 3)     in 2 s
        ◀───────────── look ────────────────┘
        │  sleeps until call 3 is due       ...
        ◀───────────── end ─────────────────┘

The errand's thread publishes each call as a plain attribute and wakes nobody, unless the call must
be looked at before the caller would look anyway. A caller that wakes and finds another call than
the one it slept for just sleeps on. So a chain of quick calls costs one hand-over in all.
"""

from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from onceward.ports import Clock
from onceward.running import Running

IDLE_LOOK_MS = 1_000
"""How soon the caller looks again while no call is under way."""


@dataclass(frozen=True, slots=True)
class Results:
    """The errand came to its end; results by operation."""

    by_operation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """The errand ended in an exception, to be raised where it is waited for."""

    error: BaseException


End: TypeAlias = Results | Failure


class Watch:
    """One errand's meeting point.

    Attributes:
        running: The latest call, published by the errand's thread.
        is_over: No further call may begin: the caller has gone, or the client is being closed.
    """

    __slots__ = ("_box", "_clock", "_looks_ms", "is_over", "running")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._box: SimpleQueue[End | None] = SimpleQueue()
        self._looks_ms = 0
        self.running: Running | None = None
        self.is_over = False

    def attend(self, running: Running) -> None:
        """Publish the next call; on the errand's thread, before the call may begin."""
        self.running = running
        if running.look_ms < self._looks_ms:
            self._box.put(None)

    def end(self, end: End) -> None:
        """Tell the caller that the errand is over."""
        self._box.put(end)

    def wait(self) -> End | Running:
        """Wait until the errand is over, or a call must be looked at."""
        while True:
            running, now_ms = self.running, self._clock.boottime_ms()
            live = running if running is not None and running.answer is None else None
            self._looks_ms = now_ms + IDLE_LOOK_MS if live is None else live.look_ms
            if running is not self.running:
                # Published before its thread could see when this one would look.
                continue
            try:
                end = self._box.get(timeout=max(self._looks_ms - now_ms, 0) / 1000)
            except Empty:
                if live is not None and live is self.running:
                    return live
            else:
                if end is not None:
                    return end

    def close(self) -> Running | None:
        """Let no further call begin, and return the call that may have begun already."""
        self.is_over = True
        return self.running
