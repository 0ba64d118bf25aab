"""What a tool is handed, and how it answers.

A call is one attempt at one operation. Its ids and its idempotency key are the same for every
attempt of the operation, so they are what a destination should know the effect by.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Lock
from typing import Any

from onceward.wire.decisions import Mode
from onceward.wire.receipts import Outcome, Receipt

_telling = Lock()
"""Orders telling and beginning to wait; of all calls, since hardly anybody does either."""


class Cancellation:
    """Tells a running tool that its answer is no longer waited for, or may come too late.

    Set when a renewal of the lease was refused, when the timeout passed, and when the client is
    closed. A tool that has not yet sent its request should not send it any more; one that has
    should find out what became of it. Whatever it then reports still counts where it can.
    """

    __slots__ = ("_event", "_is_set")

    def __init__(self) -> None:
        self._is_set = False
        # Made by the first who waits: hardly a tool does, and an event costs more than all else
        # in a call.
        self._event: Event | None = None

    def set(self) -> None:
        """Tell the tool; for the runner."""
        with _telling:
            self._is_set = True
            event = self._event
        if event is not None:
            event.set()

    def is_set(self) -> bool:
        """Return whether the tool was told."""
        return self._is_set

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Return whether the tool was told, having waited for it ``timeout_seconds`` at most."""
        with _telling:
            if self._is_set:
                return True
            event = self._event = self._event or Event()
        return event.wait(timeout_seconds)


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt at one operation.

    Attributes:
        arguments: The JSON object that was declared; treat it as read-only.
        operation_id: Stable over all attempts.
        idempotency_key: For destinations that enforce one; the same for all attempts.
        destination: As the tool declared it and a person may have reviewed it.
        timeout: How long this call may take; it is enforced.
        attempt: Numbered from 1.
        mode: Whether to perform the effect, repeat it under the key, or only look it up.
        fence: Rises with every grant of the operation, for destinations that can fence.
        cancelled: Set when the answer is no longer waited for.
    """

    arguments: Mapping[str, Any]
    operation_id: str
    idempotency_key: str
    destination: str
    timeout: timedelta
    attempt: int
    mode: Mode
    fence: int
    cancelled: Cancellation

    def succeeded(self, *, effect_id: str | None = None, result: object = None) -> Receipt:
        """Return the receipt of an effect that is there.

        Args:
            effect_id: The destination's own name for it, up to 256 characters.
            result: Any JSON value. What is not JSON, or larger than 16 MiB, is left out of the
                record, which says so; the success is recorded all the same.
        """
        return Receipt(Outcome.SUCCEEDED, self.operation_id, effect_id, result)

    def not_executed(self, reason: str) -> Receipt:
        """Return the receipt of an effect that is not there and will not come.

        A query answers so when it did not find the effect.

        Args:
            reason: Why, in words that may be stored and shown, up to 1,000 characters.
        """
        return Receipt(Outcome.NOT_EXECUTED, self.operation_id, reason=reason)

    def unknown(self, reason: str) -> Receipt:
        """Return the receipt of a call of which nobody can tell what it did.

        Args:
            reason: As for ``not_executed``.
        """
        return Receipt(Outcome.UNKNOWN, self.operation_id, reason=reason)
