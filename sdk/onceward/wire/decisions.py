"""The controller's answer to "may I run this?".

    execute, repeat, query   a grant: run it, once, before ``call_before_ms``
    reuse                    it has succeeded: here is the receipt, byte for byte
    wait                     not now; ask again after ``retry_after_ms``
    stop                     not without a person, or not ever: the reason says which
    done                     nothing of this workflow is left to run

All times are the controller's trusted time in Unix milliseconds. A caller turns them into its own
time with ``now_ms``, the controller's time when it answered, and a clock that nobody can move.
"""

from enum import StrEnum
from typing import Any, ClassVar

from msgspec import Struct, field

from onceward.wire.definitions import PayloadRef
from onceward.wire.identifiers import LeaseToken, OperationId, OperationName
from onceward.wire.receipts import Assurance, Receipt


class Mode(StrEnum):
    """What a grant permits."""

    EXECUTE = "execute"
    REPEAT = "repeat"
    QUERY = "query"


class WaitReason(StrEnum):
    """Why to ask again later."""

    ATTEMPT_IN_PROGRESS = "attempt_in_progress"
    PREDECESSOR_RUNNING = "predecessor_running"
    BACKING_OFF = "backing_off"
    ABSENCE_UNCERTAIN = "absence_uncertain"
    """The destination did not show the effect, but an issued call may still land."""


class StopReason(StrEnum):
    """Why nothing is dispatched; each names what would have to change."""

    ABANDONED = "abandoned"
    NEEDS_DECISION = "needs_decision"
    NOT_EXECUTED = "not_executed"
    NOT_ENABLED = "not_enabled"
    PAUSED = "paused"
    CLOCK_UNSAFE = "clock_unsafe"
    PREDECESSOR_NEEDS_DECISION = "predecessor_needs_decision"
    PREDECESSOR_STOPPED = "predecessor_stopped"
    ATTEMPT_LIMIT = "attempt_limit"
    REVISION_LIMIT = "revision_limit"
    UNKNOWN_TOOL = "unknown_tool"


class Grant(Struct, frozen=True, forbid_unknown_fields=True, tag_field="decision"):
    """Permission for one call.

    Attributes:
        attempt: Numbered from 1 over the life of the operation.
        lease_token: Proves that a renewal, release or receipt comes from the holder.
        lease_until_ms: End of the lease unless renewed.
        call_before_ms: The call must be issued before this time, or not at all.
        now_ms: The controller's time of this answer.
        idempotency_key: The same for every attempt of the operation.
        fence: Rises with every grant of the operation, for destinations that can fence.
    """

    mode: ClassVar[Mode]

    operation: OperationName
    operation_id: OperationId
    attempt: int
    lease_token: LeaseToken
    lease_ms: int
    lease_until_ms: int
    call_before_ms: int
    now_ms: int
    idempotency_key: str
    tool: str
    version: str
    destination: str
    timeout_ms: int
    fence: int
    arguments: dict[str, Any] = field(default_factory=dict)
    arguments_payload: PayloadRef | None = None


class Execute(Grant, frozen=True, tag="execute"):
    """Perform the effect."""

    mode: ClassVar[Mode] = Mode.EXECUTE


class Repeat(Grant, frozen=True, tag="repeat"):
    """Perform the effect again under the idempotency key it was first sent with."""

    mode: ClassVar[Mode] = Mode.REPEAT


class Query(Grant, frozen=True, tag="query"):
    """Ask the destination; do not perform the effect."""

    mode: ClassVar[Mode] = Mode.QUERY


class Reuse(Struct, frozen=True, forbid_unknown_fields=True, tag_field="decision", tag="reuse"):
    """It has succeeded; here is what was recorded."""

    operation: OperationName
    operation_id: OperationId
    receipt: Receipt
    assurance: Assurance


class Wait(Struct, frozen=True, forbid_unknown_fields=True, tag_field="decision", tag="wait"):
    """Not now.

    Attributes:
        retry_after_ms: How long until asking again can make a difference.
        predecessor: The operation that is waited for, where there is one.
    """

    operation: OperationName
    reason: WaitReason
    retry_after_ms: int
    predecessor: OperationName | None = None


class Stop(Struct, frozen=True, forbid_unknown_fields=True, tag_field="decision", tag="stop"):
    """Not without a person, or not ever.

    Attributes:
        detail: What is known, in a sentence, and the way out.
        predecessor: The operation that stops this one, where there is one.
        store_ms: Trusted time and the host's own, where they disagree.
        local_ms: See ``store_ms``.
    """

    operation: OperationName
    reason: StopReason
    detail: str
    predecessor: OperationName | None = None
    store_ms: int | None = None
    local_ms: int | None = None


class Done(Struct, frozen=True, forbid_unknown_fields=True, tag_field="decision", tag="done"):
    """Every operation of the workflow has succeeded."""

    operations: int


Granted = Execute | Repeat | Query
Decision = Execute | Repeat | Query | Reuse | Wait | Stop | Done
