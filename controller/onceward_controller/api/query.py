"""Query parameters are closed too: one that a route does not know is a mistake, not noise."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter

from onceward.wire import json_path
from onceward.wire.problems import ProblemCode, problem


def check(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Return if every query parameter is one of the route's, and stands there once.

    Raises:
        InvalidError: ``body_invalid``, naming the first that is not.
    """
    if not connection.scope["query_string"]:
        return
    known = set(names(handler).values())
    seen = set()
    for name, _ in connection.query_params.multi_items():
        rendered = json_path.render((None, name))
        if name not in known:
            raise problem(ProblemCode.BODY_INVALID, f"unknown query parameter: `{rendered}`")
        if name in seen:
            raise problem(ProblemCode.BODY_INVALID, f"query parameter occurs twice: `{rendered}`")
        seen.add(name)


def names(handler: BaseRouteHandler) -> dict[str, str]:
    """Return what a route's query parameters are called: in Python, and on the wire."""
    parameters = handler.parsed_fn_signature.parameters
    return {
        argument: definition.kwarg_definition.name or argument
        for argument, definition in parameters.items()
        if isinstance(definition.kwarg_definition, QueryParameter)
    }
