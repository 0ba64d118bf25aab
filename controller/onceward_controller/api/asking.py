"""Who asks, and whether their role may: settled before any body is read.

Each route says in its options which action it asks for. A route that says nothing cannot be
served: the guard refuses to be attached to it, so that forgetting is found when the process starts.
"""

from collections.abc import Mapping
from typing import Any

from litestar import Request
from litestar.concurrency import sync_to_thread
from litestar.connection import ASGIConnection
from litestar.di import Provide
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard
from msgspec import Struct

from onceward.wire.problems import ProblemCode, problem
from onceward_controller.api import query
from onceward_controller.protocol.authority import Action, Caller
from onceward_controller.service.service import Service

_ACTION = "action"
_SCHEME = "bearer"


class Asking(Struct, frozen=True):
    """A request whose sender is known: on whose behalf, and of what it is asked."""

    caller: Caller
    service: Service


def asks(action: Action) -> dict[str, Any]:
    """Return the options of a route that asks for ``action``."""
    return {_ACTION: action}


ASKS_NOTHING: Mapping[str, Any] = {_ACTION: None}
"""The options of a route for which any valid credential will do."""


def action_of(handler: BaseRouteHandler) -> Action | None:
    """Return what a route asks for; None where any valid credential will do.

    Raises:
        KeyError: It does not say: a mistake in our code.
    """
    action: Action | None = handler.opt[_ACTION]
    return action


# Closures and no objects: Litestar copies what it is given, deeply, and a service cannot be copied.


def gate(service: Service) -> Guard:
    """Return the guard of every route under ``/v1``.

    It raises ``DeniedError`` for a credential that is missing or not good, or whose role may not do
    this at all.
    """

    async def require_credential(
        connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
    ) -> None:
        action = action_of(handler)
        token = _bearer(connection)
        caller = await sync_to_thread(service.credentials.authenticate, token)
        if action is not None:
            caller.require(action)
        query.check(connection, handler)
        connection.scope["state"]["caller"] = caller

    return require_credential


def provider(service: Service) -> Provide:
    """Return what gives a handler its ``Asking``, once the request has passed the gate."""

    def provide(request: Request[Any, Any, Any]) -> Asking:
        return Asking(caller=request.scope["state"]["caller"], service=service)

    return Provide(provide, sync_to_thread=False)


def _bearer(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    header = connection.headers.get("authorization")
    if header is None:
        raise problem(
            ProblemCode.CREDENTIAL_MISSING, "send a credential: `Authorization: Bearer <token>`"
        )
    scheme, _, token = header.partition(" ")
    if scheme.lower() != _SCHEME:
        raise problem(ProblemCode.CREDENTIAL_INVALID, "the credential is no bearer token")
    return token.strip()
