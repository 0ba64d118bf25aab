"""A refusal as ``application/problem+json``: the one place where it becomes a reply."""

from onceward.wire import codec
from onceward.wire.problems import Problem, ProblemCode, ProblemError, status_of

PROBLEM_TYPE = "application/problem+json"

_CHALLENGED = (ProblemCode.CREDENTIAL_MISSING, ProblemCode.CREDENTIAL_INVALID)


def body(error: ProblemError, request_id: str) -> bytes:
    """Return the body that says what ``error`` says."""
    return codec.encode(Problem.of(error, request_id))


def headers(error: ProblemError) -> dict[str, str]:
    """Return the headers that belong to a refusal, besides those of every reply."""
    if error.code in _CHALLENGED:
        return {"www-authenticate": 'Bearer realm="onceward"'}
    if error.code is ProblemCode.METHOD_NOT_ALLOWED and "allow" in error.more:
        return {"allow": str(error.more["allow"])}
    return {}


def status(error: ProblemError) -> int:
    """Return the status that goes with ``error``."""
    return status_of(error.code)
