"""One call under way: settled once, by whoever comes first.

    begin ──▶ called ──settle──▶ the tool's answer
      │          └─────give_up─▶ TimedOut; what the tool answers after that is late
      └─give_up, abandon, or begin refused─▶ NotCalled; the tool is never called

The tool's thread settles, the caller's thread gives up, and a lock of the call's own lets one of
them. Whether the tool may be called at all is asked in the last moment, on the thread that calls.
"""

from collections.abc import Callable
from threading import Lock

from onceward.answers import NotCalled, Settled, TimedOut
from onceward.call import Call
from onceward.grants import Held
from onceward.lease_keeper import Lease


class Running:
    """A call that is made on the errand's own thread.

    Args:
        held: The grant.
        call: What the tool is handed.
        note: Its name in the spool; None where there is none.
        look_ms: When the caller must look first, in boot time.
        ends_ms: When its time is over, in boot time.

    Attributes:
        lease: The lease, once somebody renews it.
        answer: None until the call is settled.
    """

    __slots__ = (
        "_guard",
        "_is_called",
        "answer",
        "call",
        "ends_ms",
        "held",
        "lease",
        "look_ms",
        "note",
    )

    _holds_its_thread = True
    """While the tool runs, the errand's thread does nothing else."""

    def __init__(
        self, held: Held, call: Call, note: str | None, *, look_ms: int, ends_ms: int
    ) -> None:
        self.held = held
        self.call = call
        self.note = note
        self.look_ms = look_ms
        self.ends_ms = ends_ms
        self.lease: Lease | None = None
        self.answer: Settled | None = None
        self._guard = Lock()
        self._is_called = False

    def begin(self, may_call: Callable[[], bool]) -> bool:
        """Return whether to call the tool, right now; if not, the call is settled as not made."""
        with self._guard:
            if self.answer is not None:
                return False
            self._is_called = may_call()
            if self._is_called:
                return True
            self.answer = NotCalled()
        self._announce()
        return False

    def settle(self, answer: Settled) -> bool:
        """Settle the call with what the tool answered; False when it was given up before."""
        with self._guard:
            if self.answer is not None:
                return False
            self.answer = answer
        self._announce()
        return True

    def give_up(self) -> bool:
        """Wait no longer, and tell the tool.

        Returns:
            Whether the errand's thread is left behind with the tool, so that another has to go on.
        """
        with self._guard:
            if self.answer is not None:
                return False
            self.answer = TimedOut() if self._is_called else NotCalled()
        self._tell()
        self._announce()
        return self._is_called and self._holds_its_thread

    def abandon(self) -> None:
        """Tell the tool that its caller has gone, and call it no more if it was not called yet."""
        with self._guard:
            is_refused = self.answer is None and not self._is_called
            if is_refused:
                self.answer = NotCalled()
        self._tell()
        if is_refused:
            self._announce()
        if self.lease is not None:
            self.lease.is_over = True

    def _tell(self) -> None:
        self.call.cancelled.set()

    def _announce(self) -> None:
        """Wake who waits for the answer, once; nobody does where the tool's thread goes on."""
