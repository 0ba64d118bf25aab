"""What an agent catches.

    Stopped        nothing runs now; ``reason`` says why, ``detail`` says the way out
    ProblemError   the controller refused the call, or could not be asked; each subclass is one
                   thing to do about it (``onceward.wire.problems``)
    SpoolError     the directory for undelivered receipts cannot be used; nothing was sent
    NotExecuted    not caught but raised: a tool's word that its effect did not happen

A tool's own exception never arrives here: it becomes a receipt of unknown outcome.
"""

from datetime import timedelta
from enum import StrEnum

from onceward.wire.decisions import Stop, StopReason, Wait, WaitReason
from onceward.wire.limits import REASON_CHARACTERS_MAX
from onceward.wire.problems import (
    ConflictError,
    DamagedError,
    DeniedError,
    InvalidError,
    NotFoundError,
    ProblemError,
    UnavailableError,
    UnknownWriteError,
)

__all__ = [
    "ConflictError",
    "DamagedError",
    "DeniedError",
    "InvalidError",
    "LocalReason",
    "NotExecuted",
    "NotFoundError",
    "ProblemError",
    "SpoolError",
    "Stopped",
    "UnavailableError",
    "UnknownWriteError",
]


class LocalReason(StrEnum):
    """Why this process does not call the tool, whatever the controller permits."""

    TOOL_CHANGED = "tool_changed"
    """The tool here is not the one that was declared and reviewed."""
    LATE_GRANT = "late_grant"
    """Grants arrive after the time by which the call must have been made."""
    ARGUMENTS_UNREADABLE = "arguments_unreadable"
    """The stored arguments are not a JSON object."""
    CLOSING = "closing"
    """The client is being closed."""


StoppedReason = StopReason | WaitReason | LocalReason


class Stopped(Exception):  # noqa: N818 - it reports a state of the workflow, not a mistake
    """Nothing runs now, and nothing was lost.

    Attributes:
        reason: Why; a stop needs a person, a wait only time.
        detail: What is known, in a sentence, with the way out.
        operation: The operation that was asked about.
        predecessor: The operation that stands in its way, where there is one.
        retry_after: When asking again can make a difference; None when time alone changes nothing.
    """

    def __init__(
        self,
        reason: StoppedReason,
        detail: str,
        *,
        operation: str,
        predecessor: str | None = None,
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(f"{detail}: operation=`{operation}` reason=`{reason.value}`")
        self.reason = reason
        self.detail = detail
        self.operation = operation
        self.predecessor = predecessor
        self.retry_after = retry_after

    @classmethod
    def by(cls, decision: Stop | Wait) -> "Stopped":
        """Return the exception that says what the controller said."""
        if isinstance(decision, Stop):
            return cls(
                decision.reason,
                decision.detail,
                operation=decision.operation,
                predecessor=decision.predecessor,
            )
        return cls(
            decision.reason,
            f"{_WAITS[decision.reason]} in {-(-decision.retry_after_ms // 1000)} s",
            operation=decision.operation,
            predecessor=decision.predecessor,
            retry_after=timedelta(milliseconds=decision.retry_after_ms),
        )


_WAITS = {
    WaitReason.ATTEMPT_IN_PROGRESS: "another attempt holds a lease, which is over",
    WaitReason.PREDECESSOR_RUNNING: "an operation that comes first has not finished: ask again",
    WaitReason.BACKING_OFF: "the last attempt did not succeed; the next one may start",
    WaitReason.ABSENCE_UNCERTAIN: (
        "the effect was not found, but an issued call may still land: ask again"
    ),
}


class SpoolError(Exception):
    """The spool cannot be used as it is; a person must look at its directory or its key."""


class NotExecuted(Exception):  # noqa: N818 - a statement about the effect, see the module
    """Raised by a tool: the effect did not happen and will not.

    Args:
        reason: Why, in words that may be stored and shown; never an argument or a secret. At most
            1,000 characters are kept.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason[:REASON_CHARACTERS_MAX]
