"""A controller process on the demo's vault, and a client that speaks to it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from onceward.client import Client
from onceward.ports import Clock
from onceward.wire.limits import SECOND_MS
from onceward.wire.problems import ProblemError
from onceward.wire.tokens import Role
from onceward_controller.cli.demo import child
from onceward_controller.cli.demo.child import Child
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.exit_codes import ExitCode
from onceward_controller.cli.refusal import Refusal
from onceward_controller.settings import PORT_DEFAULT

HOST = "127.0.0.1"
START_MS = 30 * SECOND_MS
"""How long a controller may take to answer; on a busy machine that can be seconds."""
_LOOK_MS = 50


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
    """Run a controller on the vault in ``place``.

    Yields:
        The controller; it has ended when the context is left.

    Raises:
        Refusal: It did not come up; the words hold the end of its log.
    """
    token = place.token(Role.OPERATOR)
    port = free_port(PORT_DEFAULT)
    arguments = ["serve", "--store", str(place.vault), "--host", HOST, "--port", str(port)]
    url = f"http://{HOST}:{port}"
    log = place.logs / "controller.log"
    with (
        child.started("onceward_controller", arguments, log=log, variables={}) as process,
        Client(url, token) as client,
    ):
        _await(process, client, clock)
        yield Hosted(url, client, process)


def free_port(wanted: int) -> int:
    """Return ``wanted`` if nobody listens there on loopback, else a port where nobody does."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            # As the server will: a port whose last connections are still closing can be used.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise Refusal(
        ExitCode.FAILED, f"no port is free on {HOST}", "end what listens there, then run it again"
    )


def _await(process: Child, client: Client, clock: Clock) -> None:
    """Return once the controller answers a question that needs its store and its keys."""
    until_ms = clock.boottime_ms() + START_MS
    while True:
        try:
            client.workflows(limit=1)
        except ProblemError as error:
            if process.is_running and clock.boottime_ms() < until_ms:
                clock.sleep(_LOOK_MS)
                continue
            raise Refusal(
                ExitCode.FAILED,
                f"the controller did not come up: {error.detail}\n{process.last_words()}",
                f"read all that it said: {process.log}",
            ) from error
        return
