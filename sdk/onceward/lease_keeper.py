"""Renews the leases of calls that take long; one thread for a client, and only while one does.

A lease is renewed when a third of it is left. Most calls are over long before: their runner asks
the keeper for nothing, and no thread is started or woken for them. A lease is counted in this
process's own boot time from before the request that was answered was sent, so it ends here no
later than it does at the controller.

    renewed                        the next renewal is due when a third of the new lease is left
    unavailable, outcome unknown   again after a quarter of what is left
    refused                        lost, at once
    over, renewed or not           lost

"Lost" tells the tool. Its receipt is still sent: however late, it counts while nothing newer was
granted.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Lock

from onceward.controller import Controller
from onceward.ports import Clock, Spawner, Task
from onceward.wire.identifiers import LeaseToken, OperationName, WorkflowId
from onceward.wire.limits import RENEWALS_MAX
from onceward.wire.messages import Renew
from onceward.wire.problems import ProblemError, UnavailableError, UnknownWriteError

RETRY_MIN_MS = 50
"""No two tries of one renewal are closer."""


@dataclass(eq=False, slots=True)
class Lease:
    """One live lease.

    Attributes:
        workflow: Whose operation it is.
        operation: Which.
        attempt: The attempt that it belongs to.
        token: Proves that it is ours.
        until_ms: When it ends, in boot time.
        lost: Called once when it cannot be kept.
        renewals: How often it was renewed.
        is_over: The call came to its end; nothing is to be renewed any more.
    """

    workflow: WorkflowId
    operation: OperationName
    attempt: int
    token: LeaseToken
    until_ms: int
    lost: Callable[[], None]
    renewals: int = 0
    is_over: bool = False


def renewal_due_ms(now_ms: int, until_ms: int) -> int:
    """Return when a lease is to be renewed that is counted from ``now_ms``."""
    return until_ms - (until_ms - now_ms) // 3


class LeaseKeeper:
    """Holds the leases of one client's long calls."""

    def __init__(self, controller: Controller, clock: Clock, spawner: Spawner) -> None:
        self._controller = controller
        self._clock = clock
        self._spawner = spawner
        # A plain lock beneath: whoever holds a lease may be interrupted, and an interrupt in the
        # Python code by which a condition enters its own lock would leave that locked for good.
        self._guard = Lock()
        self._changed = Condition(self._guard)
        self._due: list[tuple[int, int, Lease]] = []
        self._tickets = 0
        self._thread: Task | None = None
        self._is_closed = False

    def hold(self, lease: Lease) -> None:
        """Keep ``lease`` from now on: a third of it is left."""
        with self._guard:
            if self._is_closed:
                return
            self._push(self._clock.boottime_ms(), lease)
            if self._thread is None:
                self._thread = self._spawner.spawn("onceward-leases", self._serve)
            self._changed.notify()

    def drop(self, lease: Lease) -> None:
        """Keep ``lease`` no longer; a renewal that is under way may still happen."""
        # Without a lock and without waking anybody: the keeper passes over it when it is due.
        lease.is_over = True

    def renew_due(self) -> int | None:
        """Renew what is due now.

        Returns:
            Milliseconds until the next renewal is due; None when no lease is held.
        """
        for lease in self._take_due():
            self._renew(lease)
        with self._changed:
            return self._next_in_ms()

    def close(self) -> None:
        """Renew nothing any more and end the thread."""
        with self._changed:
            self._is_closed = True
            self._due.clear()
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            # A renewal that is under way ends by its own deadline; nobody needs its answer.
            thread.join(timeout_ms=1_000)

    def _serve(self) -> None:
        while True:
            self.renew_due()
            # Decided under the lock: a lease that is held after this wakes the thread, or finds
            # that there is none and starts one.
            with self._changed:
                wait_ms = self._next_in_ms()
                if wait_ms is None:
                    self._thread = None
                    return
                if wait_ms > 0:
                    self._changed.wait(wait_ms / 1000)

    def _next_in_ms(self) -> int | None:
        while self._due and self._due[0][2].is_over:
            heapq.heappop(self._due)
        return self._due[0][0] - self._clock.boottime_ms() if self._due else None

    def _take_due(self) -> list[Lease]:
        taken: list[Lease] = []
        with self._changed:
            now_ms = self._clock.boottime_ms()
            while self._due and self._due[0][0] <= now_ms:
                lease = heapq.heappop(self._due)[2]
                if not lease.is_over:
                    taken.append(lease)
        return taken

    def _renew(self, lease: Lease) -> None:
        sent_ms = self._clock.boottime_ms()
        if sent_ms >= lease.until_ms:
            self._lose(lease)
            return
        try:
            renewed = self._controller.renew(
                lease.workflow, lease.operation, Renew(lease.attempt, lease.token)
            )
        except (UnavailableError, UnknownWriteError):
            now_ms = self._clock.boottime_ms()
            pause_ms = max((lease.until_ms - now_ms) // 4, RETRY_MIN_MS)
            self._push_again(min(now_ms + pause_ms, lease.until_ms), lease)
        except ProblemError:
            self._lose(lease)
        else:
            lease.renewals += 1
            lease.until_ms = sent_ms + renewed.lease_until_ms - renewed.now_ms
            may_renew = lease.renewals < RENEWALS_MAX
            due_ms = renewal_due_ms(sent_ms, lease.until_ms) if may_renew else lease.until_ms
            self._push_again(due_ms, lease)

    def _lose(self, lease: Lease) -> None:
        lease.is_over = True
        lease.lost()

    def _push_again(self, due_ms: int, lease: Lease) -> None:
        with self._changed:
            if not self._is_closed:
                self._push(due_ms, lease)

    def _push(self, due_ms: int, lease: Lease) -> None:
        # The ticket decides between equal times, since leases have no order.
        self._tickets += 1
        heapq.heappush(self._due, (due_ms, self._tickets, lease))
