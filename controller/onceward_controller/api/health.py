"""Health: whether this process lives, and whether it can serve.

The two routes that need no credential; they tell nothing but that, and strangers who ask them while
the store is slow take no thread from those who work.
"""

import threading

from litestar import get
from litestar.di import NamedDependency
from msgspec import Struct

from onceward.ports import Clock
from onceward.wire import limits
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.api.openapi import PROBLEMS
from onceward_controller.vault.store import Store, StoreError

FRESH_MS = 2 * limits.SECOND_MS
"""How long one look at the store answers for, so that strangers cannot make us list a bucket."""


class Alive(Struct, frozen=True):
    """The process answers."""

    status: str = "alive"


class Ready(Struct, frozen=True):
    """The process can serve.

    The probe and the keys are no questions by now: a process whose store failed the probe, or whose
    keys did not open the vault, never began to listen.
    """

    status: str = "ready"
    store: str = "reachable"
    probe: str = "passed"
    keys: str = "unlocked"


class Readiness:
    """Looks at the store, one look at a time, and remembers for a moment what it saw."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._looking = threading.Lock()
        self._seen: tuple[int, bool] | None = None

    def is_reachable(self) -> bool:
        """Return whether the store answered now, or ``FRESH_MS`` ago at most.

        While somebody looks nobody waits for them: what was seen before counts for ``FRESH_MS``
        longer, and then a store that is still silent is not reachable.
        """
        if not self._looking.acquire(blocking=False):
            return self._was_reachable(within_ms=2 * FRESH_MS)
        try:
            now_ms = self._clock.boottime_ms()
            if self._seen is None or now_ms - self._seen[0] >= FRESH_MS:
                self._seen = (now_ms, self._look())
            return self._seen[1]
        finally:
            self._looking.release()

    def _was_reachable(self, *, within_ms: int) -> bool:
        seen = self._seen
        return seen is not None and seen[1] and self._clock.boottime_ms() - seen[0] < within_ms

    def _look(self) -> bool:
        try:
            self._store.list("", limit=1)
        except StoreError:
            return False
        return True


@get("/livez", responses=PROBLEMS, sync_to_thread=False, security=[{}])
def live() -> Alive:
    """Answer that the process lives."""
    return Alive()


@get("/readyz", responses=PROBLEMS, sync_to_thread=True, security=[{}])
def ready(readiness: NamedDependency[Readiness]) -> Ready:
    """Answer whether the process can serve."""
    if not readiness.is_reachable():
        raise problem(ProblemCode.STORE_UNAVAILABLE, "the store does not answer")
    return Ready()


ROUTES = (live, ready)
