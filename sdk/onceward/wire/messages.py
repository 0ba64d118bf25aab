"""Bodies of requests and replies.

Every request shape is closed: an unknown field is refused, never dropped. Times are the
controller's trusted time in Unix milliseconds.
"""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from onceward.wire import limits
from onceward.wire.capabilities import Capability
from onceward.wire.decisions import Decision, Mode
from onceward.wire.definitions import Name, OperationDefinition, PayloadRef, Sha256, Version
from onceward.wire.identifiers import (
    REQUEST_ID_PATTERN,
    OperationId,
    OperationName,
    WorkflowId,
    WorkflowKey,
    WorkspaceName,
)
from onceward.wire.receipts import Assurance, Outcome, Receipt
from onceward.wire.tokens import Role

Key = Annotated[str, Meta(min_length=1, max_length=limits.KEY_CHARACTERS_MAX)]
RequestIdText = Annotated[str, Meta(pattern=REQUEST_ID_PATTERN)]
Evidence = Annotated[str, Meta(max_length=limits.EVIDENCE_CHARACTERS_MAX)]
Label = Annotated[str, Meta(max_length=limits.LABEL_CHARACTERS_MAX)]
AttemptNumber = Annotated[int, Meta(ge=1, le=limits.INTEGER_MAX)]
TokenText = Annotated[str, Meta(min_length=1, max_length=128)]


class ToolOffer(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that the caller can run."""

    name: Name
    version: Version = "1"


class CreateWorkflow(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Ask for a workflow; the same key with the same operations is the same workflow."""

    key: Key
    operations: tuple[OperationDefinition, ...]
    label: Label = ""
    tags: Annotated[tuple[Label, ...], Meta(max_length=limits.TAGS_MAX)] = ()


class Begin(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Ask to run one operation, or the next that is ready.

    Attributes:
        request_id: Made by the process that will run the tool; the same id is answered with the
            same grant for as long as its lease lives.
        operation: Which one; None for the next that is ready.
        tools: What the caller can run; an operation of any other tool is not granted. None when
            the caller does not say.
    """

    request_id: RequestIdText
    operation: Name | None = None
    tools: tuple[ToolOffer, ...] | None = None


class BeginOperation(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """``Begin`` where the path already names the operation."""

    request_id: RequestIdText
    tools: tuple[ToolOffer, ...] | None = None


class Complete(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Hand in a receipt and, in the same transition, ask for the next operation."""

    attempt: AttemptNumber
    lease_token: TokenText
    receipt: Receipt
    then_begin: Begin | None = None


class Standing(StrEnum):
    """What became of a receipt."""

    ACCEPTED = "accepted"
    EVIDENCE = "evidence"
    """Kept, and completes nothing: a newer attempt or a person has taken its place."""


class Completed(Struct, frozen=True, forbid_unknown_fields=True):
    """The receipt is durable; the decision answers ``then_begin``."""

    standing: Standing
    decision: Decision | None = None


class Renew(Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for more time."""

    attempt: AttemptNumber
    lease_token: TokenText


class Renewed(Struct, frozen=True, forbid_unknown_fields=True):
    """More time was granted; ``now_ms`` is the controller's time of this answer."""

    lease_until_ms: int
    now_ms: int


class Release(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Say that a granted call was never made, by attempt and token or by the request id."""

    attempt: AttemptNumber | None = None
    lease_token: TokenText | None = None
    request_id: RequestIdText | None = None


class Resolve(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A person's word on what happened, decided on a revision they have seen."""

    outcome: Outcome
    evidence: Evidence
    revision: Annotated[int, Meta(ge=1)]
    effect_id: Annotated[str, Meta(max_length=limits.EFFECT_ID_CHARACTERS_MAX)] | None = None
    result: Any = None


class Abandon(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Give up the workflow, or one operation of it, for good."""

    evidence: Evidence
    revision: Annotated[int, Meta(ge=1)]
    operation: Name | None = None


class WorkflowStatus(StrEnum):
    """Where a workflow stands as a whole."""

    DRAFT = "draft"
    ENABLED = "enabled"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    ABANDONED = "abandoned"


class OperationStatus(StrEnum):
    """Where an operation stands."""

    PENDING = "pending"
    IN_FLIGHT = "in_flight"
    UNCERTAIN = "uncertain"
    BLOCKED = "blocked"
    """A superseded attempt reported success: nothing more runs until a person decides."""
    NOT_EXECUTED = "not_executed"
    SUCCEEDED = "succeeded"
    ABANDONED = "abandoned"


class AttemptView(Struct, frozen=True, omit_defaults=True):
    """One granted try, as people see it."""

    number: int
    mode: Mode
    granted_ms: int
    lease_until_ms: int
    renewals: int = 0
    released: bool = False
    outcome: Outcome | None = None
    standing: Standing | None = None
    effect_id: str | None = None
    reason: str = ""


class OperationView(Struct, frozen=True, omit_defaults=True):
    """One operation, as people see it.

    Attributes:
        next: What ``begin`` would answer now: a grant's mode, or the reason why not.
        detail: The same in a sentence, with the way out.
    """

    name: OperationName
    operation_id: OperationId
    tool: str
    version: str
    destination: str
    capability: Capability
    guarantee: str
    timeout_ms: int
    lease_ms: int
    max_in_flight_ms: int
    after: tuple[OperationName, ...]
    status: OperationStatus
    next: str
    detail: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    arguments_payload: PayloadRef | None = None
    attempts: tuple[AttemptView, ...] = ()
    receipt: Receipt | None = None
    assurance: Assurance | None = None
    double_effect_suspected: bool = False


class WorkflowView(Struct, frozen=True, omit_defaults=True):
    """One workflow, as people see it."""

    id: WorkflowId
    workspace: WorkspaceName
    key: WorkflowKey
    status: WorkflowStatus
    revision: int
    definition_digest: str
    created_ms: int
    operations: tuple[OperationView, ...]
    label: str = ""
    tags: tuple[str, ...] = ()


class RowClass(StrEnum):
    """The drawers of a listing."""

    DRAFT = "draft"
    READY = "ready"
    ACTIVE = "active"
    WAITING = "waiting"
    ATTENTION = "attention"
    PAUSED = "paused"
    DONE = "done"


class WorkflowRow(Struct, frozen=True, omit_defaults=True):
    """One line of a listing; a hint, where the workflow itself is the truth.

    Attributes:
        at_ms: Of ``active`` and ``waiting`` rows the time of the next check, else of the change
            that brought the workflow into its class.
    """

    id: WorkflowId
    row_class: RowClass
    key: str
    label: str
    status: WorkflowStatus
    succeeded: int
    operations: int
    at_ms: int
    note: str = ""


class WorkflowPage(Struct, frozen=True):
    """One page of a listing.

    Attributes:
        after: Asks for the next page; empty when there is none.
        damaged: Rows met that are not what was written; their workflows are not shown.
    """

    rows: tuple[WorkflowRow, ...]
    after: str = ""
    damaged: int = 0


class Change(Struct, frozen=True, omit_defaults=True):
    """One line of a workflow's history."""

    revision: int
    time_ms: int
    actor: str
    command: str
    event: str
    operation: str = ""
    attempt: int = 0
    detail: str = ""


class HistoryPage(Struct, frozen=True):
    """Revisions in order; ``after`` asks for the next, 0 when there is none."""

    changes: tuple[Change, ...]
    after: int = 0


class PayloadStored(Struct, frozen=True):
    """A payload object is durable; name it in a definition or a receipt."""

    digest: Sha256
    sha256: Sha256
    size: int


class CreateCredential(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Ask for a credential; a worker's names its workflow."""

    role: Role
    principal: Name
    ttl_ms: Annotated[int, Meta(ge=limits.MINUTE_MS, le=limits.RETENTION_MAX_MS)]
    workspace: Name | None = None
    workflow: str | None = None


class CredentialCreated(Struct, frozen=True):
    """The only time that the token is shown."""

    token: str
    accessor: str
    expires_ms: int
