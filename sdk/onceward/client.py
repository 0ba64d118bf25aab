"""The conversation with a controller, wherever it runs.

    Client(url, token)       over HTTP
    Client.embedded(path)    in this process, on one SQLite file

Both say the same and are held to the same tests. A client may be shared by threads; it owns
connections and threads, and closing it waits for calls under way, since only they know what became
of their effects.

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
from threading import Condition
from types import TracebackType
from typing import Any, Self

from onceward.attempt import Attempts
from onceward.controller import Controller
from onceward.delivery import Delivery, Flushed
from onceward.dispatch import Dispatcher
from onceward.lease_keeper import LeaseKeeper
from onceward.ports import Clock, Entropy, Spawner
from onceward.runner import Errand, Runner
from onceward.spool import Spool
from onceward.system import SystemClock, SystemEntropy, ThreadSpawner
from onceward.toolhost import ToolHost
from onceward.tools import Tool, milliseconds
from onceward.uploads import fitted
from onceward.wire import messages
from onceward.wire.definitions import OperationDefinition
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.receipts import Outcome
from onceward.wire.secrets import Secret

SPOOL_KEY_VARIABLE = "ONCEWARD_SPOOL_KEY"
CLOSE_SECONDS = 30.0
"""How long closing waits for calls under way."""

_CLOCK = SystemClock()
_ENTROPY = SystemEntropy()
_SPAWNER = ThreadSpawner()


class Client:
    """Creates workflows and runs their operations.

    Args:
        url: Of the controller: https, or http to this machine.
        token: The credential; it is kept out of everything that prints.
        workspace: Where ``create`` and ``workflows`` look.
        spool: Directory for receipts that cannot be delivered; None for none, see the module. Its
            key is a file beside them, unless ONCEWARD_SPOOL_KEY holds 64 hexadecimal digits.
        clock: Tells the time and waits.
        entropy: Makes random bytes.
        spawner: Starts threads.

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
        clock: Clock = _CLOCK,
        entropy: Entropy = _ENTROPY,
        spawner: Spawner = _SPAWNER,
    ) -> None:
        # Loaded here, so that an embedded client pays for no HTTP library.
        from onceward.transport import HttpController  # noqa: PLC0415

        named = WorkspaceName(workspace)
        controller = HttpController(url, Secret(token), workspace=named, clock=clock)
        held = None
        if spool is not None:
            key = os.environ.get(SPOOL_KEY_VARIABLE)
            held = Spool.open(spool, clock=clock, entropy=entropy, key=key)
        self._connect(
            controller,
            workspace=named,
            spool=held,
            origin=controller.origin,
            clock=clock,
            entropy=entropy,
            spawner=spawner,
        )

    @classmethod
    def embedded(
        cls,
        path: str | os.PathLike[str],
        *,
        workspace: str = "default",
        clock: Clock = _CLOCK,
        entropy: Entropy = _ENTROPY,
        spawner: Spawner = _SPAWNER,
    ) -> Self:
        """Return a client with the controller in this process.

        Args:
            path: The SQLite file that holds the vault, made when it is missing.
            workspace: As for ``Client``.
            clock: As for ``Client``.
            entropy: As for ``Client``.
            spawner: As for ``Client``.
        """
        # The controller's service is loaded by those alone who host it.
        from onceward.embedded import open_embedded  # noqa: PLC0415

        controller = open_embedded(
            Path(path), workspace=workspace, clock=clock, entropy=entropy, spawner=spawner
        )
        return cls.over(
            controller, workspace=workspace, clock=clock, entropy=entropy, spawner=spawner
        )

    @classmethod
    def over(
        cls,
        controller: Controller,
        *,
        workspace: str = "default",
        spool: Spool | None = None,
        origin: str = "",
        clock: Clock = _CLOCK,
        entropy: Entropy = _ENTROPY,
        spawner: Spawner = _SPAWNER,
    ) -> Self:
        """Return a client of any controller; it owns the controller and the spool from now on.

        Args:
            controller: Whom to ask.
            workspace: As for ``Client``.
            spool: Where undelivered receipts are kept; None for nowhere.
            origin: Which controller this is, in the spool's words.
            clock: As for ``Client``.
            entropy: As for ``Client``.
            spawner: As for ``Client``.
        """
        client = cls.__new__(cls)
        client._connect(
            controller,
            workspace=WorkspaceName(workspace),
            spool=spool,
            origin=origin,
            clock=clock,
            entropy=entropy,
            spawner=spawner,
        )
        return client

    def _connect(
        self,
        controller: Controller,
        *,
        workspace: WorkspaceName,
        spool: Spool | None,
        origin: str,
        clock: Clock,
        entropy: Entropy,
        spawner: Spawner,
    ) -> None:
        self._controller = controller
        self._workspace = workspace
        self._spool = spool
        self._host = ToolHost(spawner)
        self._keeper = LeaseKeeper(controller, clock, spawner)
        self._dispatcher = Dispatcher(controller, clock, entropy)
        self._delivery = Delivery(controller, clock, entropy, spool=spool, origin=origin)
        attempts = Attempts(
            controller, clock, host=self._host, keeper=self._keeper, spool=spool, origin=origin
        )
        self._runner = Runner(
            controller,
            clock,
            dispatcher=self._dispatcher,
            attempts=attempts,
            delivery=self._delivery,
        )
        self._changed = Condition()
        self._errands = 0
        self._is_closed = False

    def create(
        self,
        key: str,
        operations: Iterable[OperationDefinition],
        *,
        label: str = "",
        tags: Iterable[str] = (),
    ) -> messages.WorkflowView:
        """Create a workflow, or return the one that has this key and these operations.

        Args:
            key: What the application knows this work by, up to 200 characters; the same key is the
                same workflow for ever.
            operations: From ``Tool.operation``, 1 to 200; each follows the one before it unless it
                says ``after``. Arguments too large to ride along are uploaded first.
            label: For people, up to 120 characters.
            tags: Up to eight words by which people find it.

        Raises:
            ConflictError: The key names a workflow with other operations.
            InvalidError: The operations cannot mean anything.
            ProblemError: See its classes.
        """
        fitting = fitted(
            operations, lambda content: self._controller.upload(self._workspace, content, key=key)
        )
        body = messages.CreateWorkflow(key, fitting, label, tuple(tags))
        return self._controller.create_workflow(self._workspace, body)

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

    def run_operation(  # noqa: ANN401 - a result is whatever JSON value the tool gave
        self,
        workflow_id: str,
        name: str,
        tools: Iterable[Tool],
        *,
        wait: timedelta | None = None,
        loop: AbstractEventLoop | None = None,
    ) -> Any:
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

    def enable(self, workflow_id: str) -> messages.WorkflowView:
        """Let the workflow run; also ends a pause."""
        return self._controller.enable(WorkflowId(workflow_id))

    def pause(self, workflow_id: str) -> messages.WorkflowView:
        """Let nothing more of it be dispatched once this returns."""
        return self._controller.pause(WorkflowId(workflow_id))

    def resolve(  # noqa: PLR0913 - a person's word on an effect leaves nothing out
        self,
        workflow_id: str,
        name: str,
        outcome: Outcome,
        *,
        evidence: str,
        revision: int,
        effect_id: str | None = None,
        result: object = None,
    ) -> messages.WorkflowView:
        """Record a person's word on what happened.

        Args:
            workflow_id: The workflow.
            name: The operation.
            outcome: What is known now.
            evidence: How, in words.
            revision: Of the workflow as it was when this was decided.
            effect_id: The destination's name for the effect.
            result: What the tool would have returned.

        Raises:
            ConflictError: The workflow has changed since, or the call may still land.
            ProblemError: See its classes.
        """
        body = messages.Resolve(outcome, evidence, revision, effect_id, result)
        return self._controller.resolve(WorkflowId(workflow_id), OperationName(name), body)

    def abandon(
        self, workflow_id: str, *, evidence: str, revision: int, operation: str | None = None
    ) -> messages.WorkflowView:
        """Give up the workflow, or one operation of it, for good.

        Args:
            workflow_id: The workflow.
            evidence: Why, in words.
            revision: Of the workflow as it was when this was decided.
            operation: The one to give up; None for the whole workflow.

        Raises:
            ConflictError: The workflow has changed since, or a lease is live.
            ProblemError: See its classes.
        """
        body = messages.Abandon(evidence, revision, operation)
        return self._controller.abandon(WorkflowId(workflow_id), body)

    def workflow(self, workflow_id: str) -> messages.WorkflowView:
        """Return the workflow as it is now."""
        return self._controller.workflow(WorkflowId(workflow_id))

    def workflows(
        self,
        *,
        row_class: messages.RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> messages.WorkflowPage:
        """Return one page of the workspace's workflows.

        Args:
            row_class: One drawer of the listing; None for all, those that need a person first.
            key: Only the workflow with this key.
            after: From the page before; empty for the first.
            limit: Rows at most, 1 to 1,000.
        """
        return self._controller.workflows(
            self._workspace, row_class=row_class, key=key, after=after, limit=limit
        )

    def history(self, workflow_id: str, *, after: int = 0) -> messages.HistoryPage:
        """Return what happened to the workflow after revision ``after``, oldest first."""
        return self._controller.history(WorkflowId(workflow_id), after=after)

    def flush(self) -> Flushed:
        """Deliver receipts from the spool, each tried once; every ``run`` begins with this."""
        return self._delivery.flush()

    def close(self) -> None:
        """Take no further grant, tell running tools, wait for them, and give everything back.

        A call that goes on for more than 30 seconds is left to its thread; its receipt is then
        lost with the process, unless a spool keeps it.
        """
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
        self._runner.close()
        with self._changed:
            self._changed.wait_for(lambda: self._errands == 0, CLOSE_SECONDS)
        self._dispatcher.return_left()
        self._keeper.close()
        self._host.close()
        self._controller.close()
        if self._spool is not None:
            self._spool.close()

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
        with self._changed:
            self._errands += 1
        try:
            self._delivery.flush()
            return self._runner.run(errand)
        finally:
            with self._changed:
                self._errands -= 1
                if self._is_closed:
                    self._changed.notify_all()
