"""A controller over HTTP on a free loopback port, in a thread of the test's own process.

What runs is what ``onceward serve`` runs, over a vault in one SQLite file. Raw requests are sent
through a plain socket: a client library would mend what a test wants to send broken.
"""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceward.wire import messages
from onceward.wire.identifiers import WorkflowId
from onceward.wire.tokens import Role
from onceward_controller import serve
from onceward_controller.bootstrap import HOST, open_embedded_service
from onceward_controller.service.service import Service
from onceward_controller.settings import DEADLINE_MS, FolderStore, Settings

HOUR_MS = 3_600_000
JSON = "application/json"


@dataclass(frozen=True)
class RunningController:
    """Where it listens, an administrator's token, and the service behind it."""

    url: str
    token: str
    address: tuple[str, int]
    service: Service

    def credential(
        self,
        role: Role,
        *,
        workspace: str | None = None,
        workflow: WorkflowId | None = None,
        ttl_ms: int = HOUR_MS,
    ) -> str:
        """Return the token of a new credential."""
        made = self.service.credentials.create(
            HOST,
            messages.CreateCredential(
                role=role,
                principal=f"test-{role.value}",
                ttl_ms=ttl_ms,
                workspace=workspace,
                workflow=workflow,
            ),
        )
        return made.token


@dataclass(frozen=True)
class Reply:
    """One HTTP reply, as it came."""

    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each == name), None)

    @property
    def json(self) -> Any:  # noqa: ANN401  # tests index into it
        return json.loads(self.content)

    @property
    def code(self) -> str:
        assert self.header("content-type") == "application/problem+json", self
        return str(self.json["code"])


@contextmanager
def running_controller(
    folder: Path, *, deadline_ms: int = DEADLINE_MS
) -> Iterator[tuple[str, str]]:
    """Run a controller on a vault in ``folder``; give its URL and an administrator's token."""
    with serving(open_embedded_service(folder), deadline_ms=deadline_ms) as running:
        yield running.url, running.token


@contextmanager
def serving(
    service: Service, *, deadline_ms: int = DEADLINE_MS, head_ms: int = DEADLINE_MS
) -> Iterator[RunningController]:
    """Run a controller in front of ``service``, and close both at the end."""
    settings = Settings(
        store=FolderStore(Path("elsewhere")),  # Opened by whoever gives the service.
        key_file=Path("elsewhere"),
        port=0,
        deadline_ms=deadline_ms,
        head_ms=head_ms,
    )
    server = serve.new_server(serve.application_of(service, settings), settings)
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        running = RunningController(
            url=f"http://{host}:{port}", token="", address=(host, port), service=service
        )
        token = running.credential(Role.ADMIN)
        # The listener exists, so a connection made now is answered once the server is up.
        exchange((host, port), b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        yield RunningController(running.url, token, running.address, service)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
        service.close()


def request(
    controller: RunningController,
    method: str,
    path: str,
    body: object = None,
    *,
    token: str | None = None,
    content: bytes | None = None,
    content_type: str = JSON,
) -> Reply:
    """Send one well-formed request on a connection of its own; ``token=""`` sends none."""
    sent = controller.token if token is None else token
    if body is not None:
        content = json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", f"Host: {controller.address[0]}"]
    if sent:
        lines.append(f"Authorization: Bearer {sent}")
    if content is not None:
        lines += [f"Content-Type: {content_type}", f"Content-Length: {len(content)}"]
    head = "\r\n".join([*lines, "", ""]).encode()
    return exchange(controller.address, head + (content or b""))


def exchange(address: tuple[str, int], sent: bytes, *parts: bytes) -> Reply:
    """Send bytes as they are and return the one reply."""
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(sent)
        for part in parts:
            connection.sendall(part)
        return read_reply(connection)


def read_reply(connection: socket.socket) -> Reply:
    """Read one reply to its end."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _some(connection)
    head, _, content = received.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    headers = tuple(
        (name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)
    )
    length = int(dict(headers).get("content-length", "0"))
    while len(content) < length:
        content += _some(connection)
    return Reply(int(status_line.split(" ")[1]), headers, content)


def _some(connection: socket.socket) -> bytes:
    received = connection.recv(65_536)
    if not received:
        raise ConnectionError("the connection ended before the reply did")
    return received
