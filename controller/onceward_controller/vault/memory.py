"""A store in memory, for tests and simulations: the port's promises and nothing else."""

import threading
from bisect import bisect_left, bisect_right, insort
from itertools import islice, takewhile

from onceward.ports import Clock
from onceward_controller.vault.store import (
    PAGE_NAMES_MAX,
    ConflictError,
    Page,
    RefusedError,
    Stored,
)


class MemoryStore:
    """A dict and its sorted names behind one lock; what it holds is gone with the process."""

    def __init__(self, clock: Clock) -> None:
        """Make an empty store.

        Args:
            clock: Where the store's own time comes from.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._bodies: dict[str, bytes] = {}
        self._names: list[str] = []
        self._closed = False

    def create(self, name: str, body: bytes) -> int:
        """See ``Store.create``."""
        with self._lock:
            self._refuse_when_closed()
            if name in self._bodies:
                raise ConflictError(f"the name is taken: name=`{name}`")
            self._write(name, body)
            return self._clock.wall_ms()

    def get(self, name: str) -> Stored | None:
        """See ``Store.get``."""
        with self._lock:
            self._refuse_when_closed()
            body = self._bodies.get(name)
            return None if body is None else Stored(body, self._clock.wall_ms())

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        """See ``Store.list``."""
        with self._lock:
            self._refuse_when_closed()
            start = max(bisect_left(self._names, prefix), bisect_right(self._names, after))
            rest = islice(self._names, start, start + limit + 1)
            names = tuple(takewhile(lambda name: name.startswith(prefix), rest))
            return Page(names[:limit], self._clock.wall_ms(), more=len(names) > limit)

    def put(self, name: str, body: bytes) -> int:
        """See ``Store.put``."""
        with self._lock:
            self._refuse_when_closed()
            self._write(name, body)
            return self._clock.wall_ms()

    def blank(self, name: str) -> None:
        """See ``Store.blank``."""
        self.put(name, b"")

    def delete(self, name: str) -> None:
        """See ``Store.delete``."""
        with self._lock:
            self._refuse_when_closed()
            if self._bodies.pop(name, None) is not None:
                del self._names[bisect_left(self._names, name)]

    def close(self) -> None:
        """See ``Store.close``."""
        with self._lock:
            self._closed = True

    def _write(self, name: str, body: bytes) -> None:
        if name not in self._bodies:
            insort(self._names, name)
        self._bodies[name] = bytes(body)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise RefusedError("the store was closed: open it again")
