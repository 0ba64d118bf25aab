"""Trusted time: the store's clock, carried on by this host's boot time.

    anchor = newest store time seen, and boot time when it was seen
    now    = anchor.store + (boot time - anchor.boot)

Store time and boot time must move together. A process that was frozen, a host whose clock was
set, or a store that answers with another date shows as a step between two answers; then the
anchor is dropped, with everything that was concluded from it, and a new one is taken once two
answers agree. Two, since one alone cannot tell a wrong store from a wrong host.
"""

import threading

from msgspec import Struct

from onceward.ports import Clock
from onceward.wire import limits
from onceward_controller.protocol.clockguard import Reading
from onceward_controller.vault.store import Page, Store, Stored

DRIFT_PER_MILLION = 200
"""How far an honest quartz may run off, in parts per million."""
SLOW_READ_MS = limits.CLOCK_ERROR_MS // 2
"""Of a read that took longer the time is not believed: it stood in the head of the answer, and a
large body over a slow line would pass for a step of the clock."""


class _Anchor(Struct, frozen=True):
    store_ms: int
    boot_ms: int

    def expects(self, boot_ms: int) -> int:
        """Return what the store's clock should say at ``boot_ms``."""
        return self.store_ms + (boot_ms - self.boot_ms)

    def agrees(self, other: "_Anchor") -> bool:
        """Return whether store and host moved together from this answer to ``other``."""
        gap_ms = abs(other.boot_ms - self.boot_ms)
        allowed_ms = limits.CLOCK_ERROR_MS + gap_ms * DRIFT_PER_MILLION // 1_000_000
        return abs(other.store_ms - self.expects(other.boot_ms)) <= allowed_ms


class TrustedTime:
    """Keeps the anchor. Every answer of the store is shown to it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._anchor: _Anchor | None = None
        self._candidate: _Anchor | None = None
        self._floor_ms = 0
        self._steps = 0

    @property
    def steps(self) -> int:
        """How often store and host have stepped apart: what was concluded before is void."""
        return self._steps

    def saw(self, store_ms: int) -> None:
        """Take note of the store's clock, as one of its answers gave it."""
        seen = _Anchor(store_ms=store_ms, boot_ms=self._clock.boottime_ms())
        with self._lock:
            if self._anchor is not None:
                if self._anchor.agrees(seen):
                    self._anchor = seen
                    return
                self._anchor, self._candidate, self._floor_ms = None, seen, 0
                self._steps += 1
                return
            if self._candidate is None and self._steps == 0:
                self._anchor = seen  # The first answer of all: nothing contradicts it yet.
            elif self._candidate is not None and self._candidate.agrees(seen):
                self._anchor, self._candidate = seen, None
            else:
                self._candidate = seen

    def read(self) -> Reading:
        """Return both clocks as they are now.

        Without an anchor the reading is not safe, and its store time is the host's.
        """
        local_ms = self._clock.wall_ms()
        with self._lock:
            if self._anchor is None:
                return Reading(store_ms=local_ms, local_ms=local_ms, anchored=False)
            # Answers in whole seconds make the sum jitter; a process never sees it go back.
            now_ms = max(self._anchor.expects(self._clock.boottime_ms()), self._floor_ms)
            self._floor_ms = now_ms
            return Reading(store_ms=now_ms, local_ms=local_ms, anchored=True)


class TimedStore:
    """A store whose every answer is shown to ``TrustedTime``; else the store it wraps.

    Args:
        store: What answers.
        time: What is shown the times of its answers.
        clock: Tells how long a read took.
    """

    def __init__(self, store: Store, time: TrustedTime, clock: Clock) -> None:
        self._store = store
        self._time = time
        self._clock = clock

    def create(self, name: str, body: bytes) -> int:
        """See ``Store``."""
        return self._saw(self._store.create(name, body))

    def get(self, name: str) -> Stored | None:
        """See ``Store``."""
        began_ms = self._clock.boottime_ms()
        found = self._store.get(name)
        if found is not None and self._clock.boottime_ms() - began_ms <= SLOW_READ_MS:
            self._saw(found.time_ms)
        return found

    def list(self, prefix: str, *, after: str = "", limit: int = 1000) -> Page:
        """See ``Store``."""
        page = self._store.list(prefix, after=after, limit=limit)
        self._saw(page.time_ms)
        return page

    def put(self, name: str, body: bytes) -> int:
        """See ``Store``."""
        return self._saw(self._store.put(name, body))

    def blank(self, name: str) -> None:
        """See ``Store``."""
        self._store.blank(name)

    def delete(self, name: str) -> None:
        """See ``Store``."""
        self._store.delete(name)

    def close(self) -> None:
        """See ``Store``."""
        self._store.close()

    def _saw(self, time_ms: int) -> int:
        self._time.saw(time_ms)
        return time_ms
