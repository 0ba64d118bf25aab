"""Refusals: a closed table of codes, and one error class for each thing the reader can do.

A code never changes its meaning. The class says what to do:

    InvalidError      correct the call and send it again
    DeniedError       use another credential, or the token that the grant came with
    NotFoundError     there is no such thing, or it is not yours
    ConflictError     read the present state and decide again
    UnavailableError  nothing happened: make the same call later
    UnknownWriteError we may have written: make the same call with the same request id, or read
    DamagedError      stored bytes are not what was written: a person must look

On the wire a refusal is ``application/problem+json`` (RFC 9457); in process it is raised as it is.
Messages hold facts and ids, never an argument, a receipt or a key.
"""

from enum import StrEnum
from typing import ClassVar

from msgspec import Struct


class ProblemError(Exception):
    """A refusal with a stable code; see the subclasses for what to do.

    Attributes:
        code: One of ``ProblemCode``.
        detail: What happened, in words.
        more: Further facts by name: a limit, a path, a time.
    """

    status: ClassVar[int] = 500

    def __init__(self, code: "ProblemCode", detail: str, **more: str | int) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.more = more


class InvalidError(ProblemError):
    """Correct the call and send it again."""

    status = 400


class DeniedError(ProblemError):
    """Use another credential, or the token that the grant came with."""

    status = 403


class NotFoundError(ProblemError):
    """There is no such thing, or it is not yours."""

    status = 404


class ConflictError(ProblemError):
    """Read the present state and decide again."""

    status = 409


class UnavailableError(ProblemError):
    """Nothing happened: make the same call later."""

    status = 503


class UnknownWriteError(ProblemError):
    """We may have written: make the same call with the same request id, or read."""

    status = 503


class DamagedError(ProblemError):
    """Stored bytes are not what was written: a person must look."""

    status = 500


class ProblemCode(StrEnum):
    """Every code; ``CLASSES`` and ``STATUSES`` say what each means for the reader."""

    # Bodies and requests.
    BODY_TOO_LARGE = "body_too_large"
    BODY_NOT_JSON = "body_not_json"
    BODY_INVALID = "body_invalid"
    JSON_DUPLICATE_KEY = "json_duplicate_key"
    JSON_NUMBER = "json_number"
    JSON_TEXT = "json_text"
    JSON_DEPTH = "json_depth"
    JSON_TYPE = "json_type"
    CONTENT_TYPE = "content_type"
    HEADER_INVALID = "header_invalid"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"
    INTERNAL = "internal"
    # Definitions and payloads.
    OPERATIONS_LIMIT = "operations_limit"
    OPERATION_DUPLICATE = "operation_duplicate"
    OPERATION_UNKNOWN = "operation_unknown"
    DEFINITION_CYCLIC = "definition_cyclic"
    DEFINITION_TOO_LARGE = "definition_too_large"
    ARGUMENTS_TWICE = "arguments_twice"
    ARGUMENTS_TOO_LARGE = "arguments_too_large"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    PAYLOAD_UNKNOWN = "payload_unknown"
    # Who asks, and for what.
    CREDENTIAL_MISSING = "credential_missing"
    CREDENTIAL_INVALID = "credential_invalid"
    ROLE_DENIED = "role_denied"
    NOT_FOUND = "not_found"
    # The state of things.
    DEFINITION_CONFLICT = "definition_conflict"
    REVISION_CONFLICT = "revision_conflict"
    WORKFLOW_FINISHED = "workflow_finished"
    NOT_ENABLED = "not_enabled"
    PAUSED = "paused"
    UNKNOWN_TOOL = "unknown_tool"
    ATTEMPT_UNKNOWN = "attempt_unknown"
    ATTEMPT_IN_PROGRESS = "attempt_in_progress"
    LEASE_TOKEN_INVALID = "lease_token_invalid"
    LEASE_LOST = "lease_lost"
    RENEWAL_LIMIT = "renewal_limit"
    RECEIPT_TOO_LARGE = "receipt_too_large"
    RECEIPT_MISMATCH = "receipt_mismatch"
    RECEIPT_CONFLICT = "receipt_conflict"
    OPERATION_SETTLED = "operation_settled"
    MAY_STILL_LAND = "may_still_land"
    EVIDENCE_MISSING = "evidence_missing"
    CLOCK_UNSAFE = "clock_unsafe"
    # The store.
    STORE_UNAVAILABLE = "store_unavailable"
    STORE_OUTCOME_UNKNOWN = "store_outcome_unknown"
    STORE_REFUSED = "store_refused"
    CONTENTION = "contention"
    NOT_REACHED = "not_reached"
    UNREACHABLE = "unreachable"
    INTEGRITY = "integrity"
    # The client.
    OPENED_BEFORE_FORK = "opened_before_fork"


_C = ProblemCode

CLASSES: dict[type[ProblemError], tuple[ProblemCode, ...]] = {
    InvalidError: (
        _C.BODY_TOO_LARGE,
        _C.BODY_NOT_JSON,
        _C.BODY_INVALID,
        _C.JSON_DUPLICATE_KEY,
        _C.JSON_NUMBER,
        _C.JSON_TEXT,
        _C.JSON_DEPTH,
        _C.JSON_TYPE,
        _C.CONTENT_TYPE,
        _C.HEADER_INVALID,
        _C.METHOD_NOT_ALLOWED,
        _C.OPERATIONS_LIMIT,
        _C.OPERATION_DUPLICATE,
        _C.OPERATION_UNKNOWN,
        _C.DEFINITION_CYCLIC,
        _C.DEFINITION_TOO_LARGE,
        _C.ARGUMENTS_TWICE,
        _C.ARGUMENTS_TOO_LARGE,
        _C.PAYLOAD_TOO_LARGE,
        _C.PAYLOAD_UNKNOWN,
        _C.UNKNOWN_TOOL,
        _C.RECEIPT_TOO_LARGE,
        _C.RECEIPT_MISMATCH,
        _C.EVIDENCE_MISSING,
        _C.OPENED_BEFORE_FORK,
    ),
    DeniedError: (
        _C.CREDENTIAL_MISSING,
        _C.CREDENTIAL_INVALID,
        _C.ROLE_DENIED,
        _C.LEASE_TOKEN_INVALID,
    ),
    NotFoundError: (_C.NOT_FOUND, _C.ATTEMPT_UNKNOWN),
    ConflictError: (
        _C.DEFINITION_CONFLICT,
        _C.REVISION_CONFLICT,
        _C.WORKFLOW_FINISHED,
        _C.NOT_ENABLED,
        _C.PAUSED,
        _C.ATTEMPT_IN_PROGRESS,
        _C.LEASE_LOST,
        _C.RENEWAL_LIMIT,
        _C.RECEIPT_CONFLICT,
        _C.OPERATION_SETTLED,
        _C.MAY_STILL_LAND,
        _C.CLOCK_UNSAFE,
    ),
    UnavailableError: (
        _C.STORE_UNAVAILABLE,
        _C.STORE_REFUSED,
        _C.CONTENTION,
        _C.NOT_REACHED,
    ),
    UnknownWriteError: (
        _C.STORE_OUTCOME_UNKNOWN,
        _C.REQUEST_TIMEOUT,
        _C.UNREACHABLE,
        _C.INTERNAL,
    ),
    DamagedError: (_C.INTEGRITY,),
}
"""What the reader can do about each code; every code stands here once."""

_STATUSES: dict[ProblemCode, int] = {
    _C.BODY_TOO_LARGE: 413,
    _C.RECEIPT_TOO_LARGE: 413,
    _C.PAYLOAD_TOO_LARGE: 413,
    _C.ARGUMENTS_TOO_LARGE: 413,
    _C.DEFINITION_TOO_LARGE: 413,
    _C.CONTENT_TYPE: 415,
    _C.METHOD_NOT_ALLOWED: 405,
    _C.CREDENTIAL_MISSING: 401,
    _C.CREDENTIAL_INVALID: 401,
    _C.INTERNAL: 500,
}
"""Statuses that differ from their class's."""

_CLASS_OF = {code: kind for kind, codes in CLASSES.items() for code in codes}

assert set(_CLASS_OF) == set(ProblemCode), "every code belongs to one class"
assert sum(len(codes) for codes in CLASSES.values()) == len(ProblemCode), "and to one only"


def problem(code: ProblemCode | str, detail: str, **more: str | int) -> ProblemError:
    """Return the error to raise for ``code``; an unknown code, from a newer peer, is INTERNAL."""
    try:
        known = ProblemCode(code)
    except ValueError:
        known = ProblemCode.INTERNAL
    return _CLASS_OF[known](known, detail, **more)


def status_of(code: ProblemCode) -> int:
    """Return the HTTP status that goes with ``code``."""
    return _STATUSES.get(code, _CLASS_OF[code].status)


class Problem(Struct, frozen=True, omit_defaults=True):
    """The body of a refusal on the wire, after RFC 9457.

    Attributes:
        type: A URI reference that stays the same for the code.
        title: The code in words.
        more: Further facts by name.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str = ""
    more: dict[str, str | int] = {}

    @classmethod
    def of(cls, error: ProblemError, request_id: str) -> "Problem":
        """Return the body that says what ``error`` says."""
        return cls(
            type=f"urn:onceward:problem:{error.code.value}",
            title=error.code.value.replace("_", " "),
            status=status_of(error.code),
            detail=error.detail,
            code=error.code.value,
            request_id=request_id,
            more=dict(error.more),
        )
