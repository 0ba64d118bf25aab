"""The body of one request, counted as it comes."""

from litestar.types import HTTPReceiveMessage, Receive

from onceward.wire import limits
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.api.front_door.envelope import Head, too_large

DRAIN_BYTES_MAX = limits.PAYLOAD_BYTES_MAX
"""What is read and thrown away of a refused body, so that its sender hears the refusal: a
connection that is closed on unread bytes is reset, and the reply is lost with it."""


class Body:
    """Stands for ``receive``, and remembers whether the end was seen.

    Args:
        head: Says how much may come.
        receive: The server's.
    """

    def __init__(self, head: Head, receive: Receive) -> None:
        self._head = head
        self._receive = receive
        self._size = 0
        self.is_finished = not head.has_body
        self.is_gone = False
        self._waits_for_leave = (head.header(b"expect") or "").lower() == "100-continue"

    async def receive(self) -> HTTPReceiveMessage:
        """Return the next part, as ASGI has it.

        Raises:
            InvalidError: More came than may.
            UnknownWriteError: The client went away before the end; nobody will read this.
        """
        message = await self._next()
        if self.is_gone:
            raise problem(ProblemCode.REQUEST_TIMEOUT, "the client went away")
        if self._size > self._head.body_bytes_max:
            raise too_large(self._head)
        return message

    async def drain(self) -> None:
        """Read what is left and throw it away, up to a bound.

        A client that waits for leave to send is given none.
        """
        while not self.is_finished and not self.is_gone and not self._waits_for_leave:
            if self._size > DRAIN_BYTES_MAX:
                return
            await self._next()

    async def _next(self) -> HTTPReceiveMessage:
        self._waits_for_leave = False
        message = await self._receive()
        if message["type"] == "http.request":
            self._size += len(message["body"])
            self.is_finished = not message["more_body"]
        else:
            self.is_gone = not self.is_finished
        return message  # type: ignore[return-value]  # an HTTP scope receives nothing else
