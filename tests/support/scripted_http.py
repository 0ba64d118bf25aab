"""An HTTP server on loopback that answers each request with the next line of a script.

It reads requests whole and then does exactly what the script says, down to cutting the connection
in the middle of an answer, which no well-behaved server can be made to do.
"""

import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

DATE = "Mon, 30 Nov 2026 12:00:00 GMT"
DATE_MS = 1_796_040_000_000


class Answer(msgspec.Struct, frozen=True):
    """A whole answer, or as much of it as ``cut_to`` leaves."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    date: str | None = DATE
    cut_to: int | None = None

    def encode(self) -> bytes:
        lines = [
            f"HTTP/1.1 {self.status} Scripted",
            f"Content-Length: {len(self.body)}",
            "Connection: close",
        ]
        if self.date is not None:
            lines.append(f"Date: {self.date}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + self.body


class Raw(msgspec.Struct, frozen=True):
    """These bytes and then the end of the connection."""

    content: bytes


class Reset(msgspec.Struct, frozen=True):
    """Read the request, then reset the connection."""


class Silence(msgspec.Struct, frozen=True):
    """Read the request and never answer."""


Step = Answer | Raw | Reset | Silence


class Request(msgspec.Struct, frozen=True):
    """What arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


def failure(status: int, code: str) -> Answer:
    """An error as S3 words it."""
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>m</Message></Error>'
    return Answer(status, body.encode(), headers=(("Content-Type", "application/xml"),))


class ScriptedServer:
    """See the module; ``requests`` holds what arrived, in order."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.requests: list[Request] = []
        self._steps = deque(steps)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, name="scripted", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def script(self, *steps: Step) -> None:
        """Begin anew with these steps."""
        self._steps = deque(steps)
        self.requests = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        # Closing a listener does not wake who waits in accept on every platform: connect instead.
        self._steps.clear()
        address = self._listener.getsockname()
        for connection in self._connections:
            connection.close()
        with socket.create_connection(address):
            self._stopping = True
        self._thread.join()
        self._listener.close()

    _stopping = False

    def _serve(self) -> None:
        while not self._stopping:
            connection, _ = self._listener.accept()
            self._connections.append(connection)
            try:
                self._converse(connection)
            except OSError:
                connection.close()

    def _converse(self, connection: socket.socket) -> None:
        request = _read(connection)
        if request is None or not self._steps:
            connection.close()
            return
        self.requests.append(request)
        match self._steps.popleft():
            case Answer() as answer:
                connection.sendall(answer.encode()[: answer.cut_to])
                connection.close()
            case Raw(content):
                connection.sendall(content)
                connection.close()
            case Reset():
                no_lingering = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_lingering)
                connection.close()
            case Silence():
                pass


def _read(connection: socket.socket) -> Request | None:
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65536)
        if not chunk:
            return None
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    return Request(method, target, headers, body)


@contextmanager
def scripted_server(*steps: Step) -> Iterator[ScriptedServer]:
    """Serve ``steps`` until the block is left; a request beyond them finds a closed connection."""
    server = ScriptedServer(steps)
    server.start()
    try:
        yield server
    finally:
        server.stop()
