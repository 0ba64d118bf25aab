"""A controller process on the demo's vault, and a client that speaks to it.

The address is the one that the process itself tells once it listens there, never one that was
merely asked for: another process may have taken the port in between, and must not be told a token.
"""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from onceward.client import Client
from onceward.exit_codes import ExitCode
from onceward.ports import Clock
from onceward.wire.limits import SECOND_MS
from onceward.wire.problems import ProblemError
from onceward.wire.tokens import Role
from onceward_controller.cli.demo import child
from onceward_controller.cli.demo.child import Child
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.refusal import Refusal
from onceward_controller.settings import PORT_DEFAULT

HOST = "127.0.0.1"
ANY_PORT = 0
START_MS = 60 * SECOND_MS
"""How long a controller may take until it listens; on a busy machine that can be seconds."""
_LOOK_MS = 50
_ADDRESS = re.compile(rf"http://{re.escape(HOST)}:\d+")


@dataclass(frozen=True, slots=True)
class Hosted:
    """A controller that answers.

    Attributes:
        url: Its address.
        client: Speaks to it as an operator.
        process: The process itself.
    """

    url: str
    client: Client
    process: Child


@contextmanager
def hosted(place: Place, clock: Clock) -> Iterator[Hosted]:
    """Run a controller on the vault in ``place``, on the usual port if nobody has it.

    Yields:
        The controller; it has ended when the context is left.

    Raises:
        Refusal: It did not come up; the words hold the end of its log.
    """
    token = place.token(Role.OPERATOR)
    ports = [PORT_DEFAULT, ANY_PORT] if is_free(PORT_DEFAULT) else [ANY_PORT]
    with ExitStack() as stack:
        for port in ports:
            process = stack.enter_context(_started(place, port))
            url = _address(process, clock)
            if url is not None:
                break
        else:
            raise _failed(process, "it ended")
        client = stack.enter_context(Client(url, token))
        try:
            # The first question waits for it to be ready, and takes its store and its keys.
            client.workflows(limit=1)
        except ProblemError as error:
            raise _failed(process, error.detail) from error
        yield Hosted(url, client, process)


def is_free(port: int) -> bool:
    """Return whether nobody listens at ``port`` on loopback."""
    with socket.socket() as probe:
        # As the server will: a port whose last connections are still closing can be used.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


@contextmanager
def _started(place: Place, port: int) -> Iterator[Child]:
    arguments = ["serve", "--store", str(place.vault), "--host", HOST, "--port", str(port)]
    log = place.logs / "controller.log"
    with child.started("onceward_controller", arguments, log=log, variables={}) as process:
        yield process


def _address(process: Child, clock: Clock) -> str | None:
    """Return where the controller says that it listens; None when it ended instead.

    Raises:
        Refusal: It says nothing.
    """
    until_ms = clock.boottime_ms() + START_MS
    while clock.boottime_ms() < until_ms:
        is_running = process.is_running
        said = _ADDRESS.search(process.said())
        if said is not None and is_running:
            return said[0]
        if not is_running:
            return None
        clock.sleep(_LOOK_MS)
    raise _failed(process, f"it does not listen after {START_MS // SECOND_MS} s")


def _failed(process: Child, why: str) -> Refusal:
    return Refusal(
        ExitCode.FAILED,
        f"the controller did not come up: {why}\n{process.last_words()}",
        f"read all that it said: {process.log}",
    )
