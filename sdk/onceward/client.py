"""The conversation with a controller, wherever it runs.

    Client(url, token)       over HTTP
    Client.embedded(path)    in this process, on a SQLite file in the folder ``path``

Both say the same and are held to the same tests. A client may be shared by threads; it owns
connections and threads, and closing it waits for calls under way, since only they know what became
of their effects. A process that forks shares no client with its children: each opens its own, and
one from before the fork is refused there, with nothing sent.

Undelivered receipts. With ``spool=`` a receipt that the controller does not acknowledge in time is
kept, sealed, in that directory and delivered first next time. Without it the receipt ends with the
process and the operation is of unknown outcome. No directory is used unasked: results hold what
tools returned, and where that may lie is for the application to say. An embedded client has no
spool, because the vault is on the same disk: where the one cannot be written, nor can the other.
With a spool each call costs one more fsync, the mark that it is about to be made.
"""

import os
from asyncio import AbstractEventLoop
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from onceward.controller import Controller
from onceward.delivery import Flushed
from onceward.engine import Engine, Ports
from onceward.errand import Errand
from onceward.operator import Operator
from onceward.spool import Spool
from onceward.tools import Tool, milliseconds
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.secrets import Secret

SPOOL_KEY_VARIABLE = "ONCEWARD_SPOOL_KEY"

_REAL = Ports()


class Client(Operator):
    """Creates workflows and runs their operations.

    Args:
        url: Of the controller: https, or http to this machine.
        token: The credential; it is kept out of everything that prints.
        workspace: Where ``create`` and ``workflows`` look.
        spool: Directory for receipts that cannot be delivered; None for none, see the module. Its
            key is a file beside them, unless ONCEWARD_SPOOL_KEY holds 64 hexadecimal digits.
        ports: Clock, random source and threads; the real ones unless a test says otherwise.

    Raises:
        ValueError: The URL is not one that a credential may be sent to.
        SpoolError: The spool cannot be used as it is.
        OSError: The spool's disk refused.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        workspace: str = "default",
        spool: str | os.PathLike[str] | None = None,
        ports: Ports = _REAL,
    ) -> None:
        # Loaded here, so that an embedded client pays for no HTTP library.
        from onceward.transport import HttpController  # noqa: PLC0415

        controller = HttpController(
            url, Secret(token), workspace=WorkspaceName(workspace), clock=ports.clock
        )
        held = None
        if spool is not None:
            key = os.environ.get(SPOOL_KEY_VARIABLE)
            held = Spool.open(spool, clock=ports.clock, entropy=ports.entropy, key=key)
        super().__init__(controller, workspace)
        self._engine = Engine(controller, ports, spool=held, origin=controller.origin)

    @staticmethod
    def embedded(
        path: str | os.PathLike[str],
        *,
        workspace: str = "default",
        ports: Ports = _REAL,
    ) -> "Client":
        """Return a client with the controller in this process.

        Args:
            path: The folder that holds the vault and its key, made when it is missing.
            workspace: As for ``Client``.
            ports: As for ``Client``.
        """
        # The controller's service is loaded by those alone who host it.
        from onceward.embedded import open_embedded  # noqa: PLC0415

        controller = open_embedded(
            Path(path), clock=ports.clock, entropy=ports.entropy, spawner=ports.spawner
        )
        return Client.over(controller, workspace=workspace, ports=ports)

    @staticmethod
    def over(
        controller: Controller,
        *,
        workspace: str = "default",
        spool: Spool | None = None,
        origin: str = "",
        ports: Ports = _REAL,
    ) -> "Client":
        """Return a client of any controller; it owns the controller and the spool from now on.

        Args:
            controller: Whom to ask.
            workspace: As for ``Client``.
            spool: Where undelivered receipts are kept; None for nowhere.
            origin: Which controller this is, in the spool's words.
            ports: As for ``Client``.
        """
        return _ClientOver(
            controller, workspace, Engine(controller, ports, spool=spool, origin=origin)
        )

    def run(
        self,
        workflow_id: str,
        tools: Iterable[Tool],
        *,
        wait: timedelta | None = None,
        loop: AbstractEventLoop | None = None,
    ) -> dict[str, Any]:
        """Run all that is ready, and what becomes ready by it, until the workflow is done.

        Args:
            workflow_id: From ``create``.
            tools: What this process can run; operations of other tools are left to others.
            wait: How long in all to wait where asking again later can help (another process holds
                a lease, a retry backs off); None for not at all.
            loop: Where asynchronous tools run; None for a loop of the client's own.

        Returns:
            The result of every operation by its name; for one too large to keep a
            ``ResultOmitted``.

        Raises:
            Stopped: Something does not run now; what was finished stays finished.
            UnavailableError: The controller could not be asked, or not be told: the message says
                where the receipt is. Run again.
            ProblemError: See its classes.
        """
        return self._carry_out(workflow_id, None, tools, wait, loop)

    def run_operation(
        self,
        workflow_id: str,
        name: str,
        tools: Iterable[Tool],
        *,
        wait: timedelta | None = None,
        loop: AbstractEventLoop | None = None,
    ) -> Any:  # noqa: ANN401 - a result is whatever JSON value the tool gave
        """Run one operation, or find that it has succeeded, and return its result.

        Args:
            workflow_id: From ``create``.
            name: The operation.
            tools: As for ``run``.
            wait: As for ``run``.
            loop: As for ``run``.

        Raises:
            Stopped: As for ``run``.
            UnavailableError: As for ``run``.
            ProblemError: See its classes.
        """
        results = self._carry_out(workflow_id, OperationName(name), tools, wait, loop)
        return results[name]

    def flush(self) -> Flushed:
        """Deliver receipts from the spool, each tried once; every ``run`` begins with this."""
        return self._engine.flush()

    def close(self) -> None:
        """Take no further grant, tell running tools, wait for them, and give everything back.

        A call that goes on for more than 30 seconds is left to its thread; its receipt is then
        lost with the process, unless a spool keeps it.
        """
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _carry_out(
        self,
        workflow_id: str,
        name: OperationName | None,
        tools: Iterable[Tool],
        wait: timedelta | None,
        loop: AbstractEventLoop | None,
    ) -> dict[str, Any]:
        wait_ms = 0 if wait is None else milliseconds(wait)
        errand = Errand.of(WorkflowId(workflow_id), name, tools, wait_ms=wait_ms, loop=loop)
        return self._engine.carry_out(errand)


class _ClientOver(Client):
    """A client whose controller somebody else opened."""

    def __init__(self, controller: Controller, workspace: str, engine: Engine) -> None:
        Operator.__init__(self, controller, workspace)
        self._engine = engine
