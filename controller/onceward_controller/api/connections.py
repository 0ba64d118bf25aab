"""One HTTP connection: uvicorn's, with bounds on what comes before there is a request.

An ASGI application first hears of a request when its head is complete. Until then uvicorn takes a
head of any size and waits for it for ever; and what is no HTTP at all it answers in plain text.
So here the head has a size and a time, and such answers are problems like any other.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from onceward.ports import Entropy
from onceward.wire import limits
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.api.front_door import replies, reply_headers
from onceward_controller.api.front_door.request_ids import new_request_id

HEAD_BYTES_MAX = 64 * limits.KIB
"""Of one head, counted in whole reads; of those that end, the front door counts exactly."""

_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\n"


def bounded_connections(entropy: Entropy, *, head_ms: int) -> type["BoundedConnection"]:
    """Return the class of a server's connections.

    Args:
        entropy: For request ids.
        head_ms: How long a connection may take until its first, or next, head is complete once it
            has begun.
    """
    told = {"entropy": entropy, "head_ms": head_ms}
    return type("BoundedConnection", (BoundedConnection,), told)


class BoundedConnection(HttpToolsProtocol):
    """Ends a connection whose next request does not begin, or whose head does not end.

    uvicorn makes one for each connection, from the class; so what it needs is said by a subclass.

    Attributes:
        entropy: For request ids.
        head_ms: How long a head may take.
    """

    entropy: ClassVar[Entropy]
    head_ms: ClassVar[int]

    _is_head_open = True
    _head_began_now = False
    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        """Start to wait for the first head."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what came while a head is open, from the read after the one that opened it."""
        self._head_began_now = False
        super().data_received(data)
        if self._is_head_open and not self._head_began_now:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self.send_400_response("the head of the request is too long")

    def on_message_begin(self) -> None:
        """Open a head."""
        self._head_began_now = True
        self._head_bytes = 0
        if not self._is_head_open:
            self._is_head_open = True
            self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Close the head."""
        self._is_head_open = False
        self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot become a request, and end the connection."""
        if self.transport.is_closing():
            return
        request_id = new_request_id(self.entropy)
        self.logger.warning("no request: request=%s fault=%s", request_id, msg)
        refusal = problem(ProblemCode.HEADER_INVALID, msg[:1].lower() + msg[1:])
        content = replies.body(refusal, request_id)
        headers = reply_headers.completed(
            [
                (b"content-type", replies.PROBLEM_TYPE.encode("ascii")),
                (b"content-length", str(len(content)).encode("ascii")),
            ],
            request_id=request_id,
            is_tls=self.scheme == "https",
            is_last=True,
        )
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([_BAD_REQUEST, *lines, b"\r\n", content]))
        self.transport.close()

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._head_timer = self.loop.call_later(
            self.head_ms / limits.SECOND_MS, self.transport.close
        )

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
