"""What a script learns from the end of one of our programs; one number for each reaction.

Both programs, the operator's and the worker's, end with these, and with the same one for the same
refusal: a script that handles one handles the other.
"""

from enum import IntEnum

from onceward.wire.problems import ProblemCode, ProblemError


class ExitCode(IntEnum):
    """The closed list."""

    OK = 0
    FAILED = 1
    USAGE = 2
    """What was asked cannot mean anything: correct it."""
    NEEDS_PERSON = 3
    """A person must look: a decision, damaged bytes, a store that refuses."""
    PAUSED_OR_DENIED = 4
    CONFLICT = 5
    """The state is not what the command supposed: look again, decide again."""
    NOT_FOUND = 6
    UNREACHABLE = 7
    """Controller or store gave no answer: a write may have happened unless the words deny it."""
    LOCKED = 8
    CLOCK_UNSAFE = 9
    INTERRUPTED = 130


_C, _E = ProblemCode, ExitCode

CODES: dict[ProblemCode, ExitCode] = {
    _C.BODY_TOO_LARGE: _E.USAGE,
    _C.BODY_NOT_JSON: _E.USAGE,
    _C.BODY_INVALID: _E.USAGE,
    _C.JSON_DUPLICATE_KEY: _E.USAGE,
    _C.JSON_NUMBER: _E.USAGE,
    _C.JSON_TEXT: _E.USAGE,
    _C.JSON_DEPTH: _E.USAGE,
    _C.JSON_TYPE: _E.USAGE,
    _C.CONTENT_TYPE: _E.USAGE,
    _C.HEADER_INVALID: _E.USAGE,
    _C.METHOD_NOT_ALLOWED: _E.USAGE,
    _C.OPERATIONS_LIMIT: _E.USAGE,
    _C.OPERATION_DUPLICATE: _E.USAGE,
    _C.OPERATION_UNKNOWN: _E.USAGE,
    _C.DEFINITION_CYCLIC: _E.USAGE,
    _C.DEFINITION_TOO_LARGE: _E.USAGE,
    _C.ARGUMENTS_TWICE: _E.USAGE,
    _C.ARGUMENTS_TOO_LARGE: _E.USAGE,
    _C.PAYLOAD_TOO_LARGE: _E.USAGE,
    _C.PAYLOAD_UNKNOWN: _E.USAGE,
    _C.UNKNOWN_TOOL: _E.USAGE,
    _C.RECEIPT_TOO_LARGE: _E.USAGE,
    _C.RECEIPT_MISMATCH: _E.USAGE,
    _C.EVIDENCE_MISSING: _E.USAGE,
    _C.OPENED_BEFORE_FORK: _E.USAGE,
    _C.INTEGRITY: _E.NEEDS_PERSON,
    _C.STORE_REFUSED: _E.NEEDS_PERSON,
    _C.CREDENTIAL_MISSING: _E.PAUSED_OR_DENIED,
    _C.CREDENTIAL_INVALID: _E.PAUSED_OR_DENIED,
    _C.ROLE_DENIED: _E.PAUSED_OR_DENIED,
    _C.LEASE_TOKEN_INVALID: _E.PAUSED_OR_DENIED,
    _C.NOT_ENABLED: _E.PAUSED_OR_DENIED,
    _C.PAUSED: _E.PAUSED_OR_DENIED,
    _C.DEFINITION_CONFLICT: _E.CONFLICT,
    _C.REVISION_CONFLICT: _E.CONFLICT,
    _C.WORKFLOW_FINISHED: _E.CONFLICT,
    _C.ATTEMPT_IN_PROGRESS: _E.CONFLICT,
    _C.LEASE_LOST: _E.CONFLICT,
    _C.RENEWAL_LIMIT: _E.CONFLICT,
    _C.RECEIPT_CONFLICT: _E.CONFLICT,
    _C.OPERATION_SETTLED: _E.CONFLICT,
    _C.MAY_STILL_LAND: _E.CONFLICT,
    _C.CONTENTION: _E.CONFLICT,
    _C.NOT_FOUND: _E.NOT_FOUND,
    _C.ATTEMPT_UNKNOWN: _E.NOT_FOUND,
    _C.STORE_UNAVAILABLE: _E.UNREACHABLE,
    _C.STORE_OUTCOME_UNKNOWN: _E.UNREACHABLE,
    _C.REQUEST_TIMEOUT: _E.UNREACHABLE,
    _C.NOT_REACHED: _E.UNREACHABLE,
    _C.UNREACHABLE: _E.UNREACHABLE,
    _C.INTERNAL: _E.UNREACHABLE,
    _C.CLOCK_UNSAFE: _E.CLOCK_UNSAFE,
}
"""Every problem code stands here; a new one without a row fails at import."""

assert set(CODES) == set(ProblemCode), "every problem code has its exit code"


def of(error: ProblemError) -> ExitCode:
    """Return the exit code for a refusal."""
    return CODES[error.code]
