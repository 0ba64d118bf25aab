"""Every exception that can leave a handler, as a problem: the framework's, ours, and surprises.

Litestar's own messages quote what was sent, so they are read for the names of fields alone.
"""

import logging
import traceback
from http import HTTPStatus
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, ValidationException
from litestar.types import ExceptionHandlersMap

from onceward.wire import codec
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward_controller.api import query
from onceward_controller.api.front_door import replies

log = logging.getLogger("onceward.api")

_AnyRequest = Request[Any, Any, Any]


def problem_reply(request: _AnyRequest, refusal: ProblemError) -> Response[bytes]:
    """Return the reply that says what ``refusal`` says."""
    request_id = request.scope["state"]["request_id"]
    return Response(
        replies.body(refusal, request_id),
        status_code=replies.status(refusal),
        media_type=replies.PROBLEM_TYPE,
        headers=replies.headers(refusal),
    )


def framework_reply(request: _AnyRequest, error: HTTPException) -> Response[bytes]:
    """Return the reply for a refusal of Litestar's."""
    return problem_reply(request, _of_framework(request, error))


def surprise_reply(request: _AnyRequest, error: Exception) -> Response[bytes]:
    """Return the reply for what should not happen; only the log learns what it was.

    The log gets the class and the lines of code, never the message: it may hold what was sent.
    """
    frames = "".join(traceback.format_tb(error.__traceback__))
    request_id = request.scope["state"]["request_id"]
    log.error("failed: request=%s error=%s\n%s", request_id, type(error).__name__, frames)
    refusal = problem(
        ProblemCode.INTERNAL, "the controller failed; its log has more under this request id"
    )
    return problem_reply(request, refusal)


HANDLERS: ExceptionHandlersMap = {
    ProblemError: problem_reply,
    HTTPException: framework_reply,
    Exception: surprise_reply,
}


def _of_framework(request: _AnyRequest, error: HTTPException) -> ProblemError:
    if isinstance(error, ValidationException):
        return _invalid(request, error)
    if isinstance(error, MethodNotAllowedException):
        allowed = ", ".join(sorted(_methods(request)))
        return problem(
            ProblemCode.METHOD_NOT_ALLOWED, f"this path takes {allowed} only", allow=allowed
        )
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return problem(ProblemCode.NOT_FOUND, "there is no such path")
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return problem(ProblemCode.BODY_TOO_LARGE, "the body is too large")
        case status if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return problem(ProblemCode.HEADER_INVALID, "the request cannot be understood")
        case _:
            return problem(ProblemCode.INTERNAL, "the controller failed")


def _invalid(request: _AnyRequest, error: ValidationException) -> ProblemError:
    """Return the refusal that names the parameter, and nothing of what it held."""
    faults = error.extra if isinstance(error.extra, list) else []
    names = query.names(request.route_handler)
    said = [
        codec.without_values(
            str(fault.get("message", "")),
            root=names.get(str(fault.get("key")), str(fault.get("key", "$"))),
        )
        for fault in faults
        if isinstance(fault, dict)
    ]
    return problem(ProblemCode.BODY_INVALID, "; ".join(said) or "the request has another shape")


def _methods(request: _AnyRequest) -> set[str]:
    """Return the methods that the path of the request takes."""
    router = request.app.asgi_router
    found = set()
    for method in ("GET", "POST"):
        try:
            router.handle_routing(path=request.scope["path"], method=method)
        except HTTPException:
            continue
        found.add(method)
    return found
