"""The front door: pure ASGI around the application, in the order in which things are checked.

    head -> (deadline: application -> body as it is read -> rest of the body) -> reply

The deadline covers everything from the end of the head to the start of the reply; whoever takes the
reply then has as long again. A blocking call that is still open at the deadline is left behind on
its thread: it may yet write, and the reply says so.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import cast

from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from onceward.ports import Entropy
from onceward.wire import limits
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward_controller.api.front_door import envelope, replies, reply_headers
from onceward_controller.api.front_door.body import Body
from onceward_controller.api.front_door.envelope import Head
from onceward_controller.api.front_door.request_ids import new_request_id

log = logging.getLogger("onceward.api")


class FrontDoor:
    """Lets requests through to an application, and replies out.

    Args:
        application: What answers what is let through; finds the request id in the scope's state.
        entropy: For request ids.
        allowed_hosts: What a Host header may name.
        deadline_ms: How long one request may take.
    """

    def __init__(
        self,
        application: ASGIApp,
        entropy: Entropy,
        *,
        allowed_hosts: Iterable[str],
        deadline_ms: int,
    ) -> None:
        self._application = application
        self._entropy = entropy
        self._allowed_hosts = tuple(host.lower() for host in allowed_hosts)
        self._deadline_seconds = deadline_ms / limits.SECOND_MS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; anything that is none is the application's, or closed."""
        match scope["type"]:
            case "http":
                await self._answer(cast("HTTPScope", scope), receive, send)
            case "websocket":
                await send({"type": "websocket.close", "code": 1000, "reason": None})
            case _:
                await self._application(scope, receive, send)

    async def _answer(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        request_id = new_request_id(self._entropy)
        scope.setdefault("state", {})["request_id"] = request_id
        head = _head(scope)
        body = Body(head, receive)
        reply = _Reply(send, body, request_id, is_tls=scope["scheme"] == "https")
        try:
            async with asyncio.timeout(self._deadline_seconds) as deadline:
                reply.when_started = partial(self._extend, deadline)
                try:
                    envelope.check(head, self._allowed_hosts)
                    await self._application(scope, body.receive, reply.send)
                except ProblemError as refusal:
                    await reply.refuse(refusal)
        except Exception as error:
            if reply.has_started:
                raise  # The server cuts the connection, and the client sees half a reply.
            if deadline.expired():
                await reply.refuse(_too_late(body), may_drain=False)
                return
            log.error("no answer: request=%s error=%s", request_id, type(error).__name__)  # noqa: TRY400  # the traceback may hold what was sent
            await reply.refuse(problem(ProblemCode.INTERNAL, "the controller failed"))

    def _extend(self, deadline: asyncio.Timeout) -> None:
        deadline.reschedule(asyncio.get_running_loop().time() + self._deadline_seconds)


class _Reply:
    """Stands for ``send``: completes the headers, and knows whether a reply has begun."""

    def __init__(self, send: Send, body: Body, request_id: str, *, is_tls: bool) -> None:
        self._send = send
        self._body = body
        self._request_id = request_id
        self._is_tls = is_tls
        self._may_drain = True
        self.has_started = False
        self.when_started: Callable[[], None] = _do_nothing

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if self._may_drain:
                await self._body.drain()
            headers = reply_headers.completed(
                [(bytes(name).lower(), bytes(value)) for name, value in message["headers"]],
                request_id=self._request_id,
                is_tls=self._is_tls,
                is_last=not self._body.is_finished,
            )
            self.has_started = True
            self.when_started()
            message = {
                "type": "http.response.start",
                "status": message["status"],
                "headers": headers,
            }
        await self._send(message)

    async def refuse(self, refusal: ProblemError, *, may_drain: bool = True) -> None:
        self._may_drain = may_drain
        self.when_started = _do_nothing  # A refusal is small: it needs no time of its own.
        content = replies.body(refusal, self._request_id)
        headers = {
            "content-type": replies.PROBLEM_TYPE,
            "content-length": str(len(content)),
            **replies.headers(refusal),
        }
        await self.send(
            {
                "type": "http.response.start",
                "status": replies.status(refusal),
                "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            }
        )
        await self.send({"type": "http.response.body", "body": content, "more_body": False})


def _do_nothing() -> None:
    return


def _head(scope: HTTPScope) -> Head:
    return Head(
        method=scope["method"],
        path=scope["path"],
        raw_path=scope["raw_path"],
        query=scope["query_string"],
        headers=tuple((bytes(name).lower(), bytes(value)) for name, value in scope["headers"]),
    )


def _too_late(body: Body) -> ProblemError:
    if not body.is_finished:
        return problem(
            ProblemCode.REQUEST_TIMEOUT, "the body did not arrive in time; nothing was done"
        )
    return problem(
        ProblemCode.REQUEST_TIMEOUT,
        "the store did not answer in time; a write may have happened, or may happen yet: "
        "make the same call again, or read",
    )
