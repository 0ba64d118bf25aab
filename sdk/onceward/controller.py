"""The controller as the SDK sees it, wherever it runs.

Two things fulfil this port: ``transport.HttpController``, which speaks to a server, and
``embedded.EmbeddedController``, which hosts the same service in this process. One contract suite
runs against both; nothing above this line knows which one it has.

Every method raises ``onceward.wire.problems.ProblemError`` in the class that says what to do, and
nothing else.
"""

from typing import Protocol

from onceward.wire import messages
from onceward.wire.decisions import Decision
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName


class Controller(Protocol):
    """Commands on workflows, as the wire names them."""

    def create_workflow(
        self, workspace: WorkspaceName, body: messages.CreateWorkflow
    ) -> messages.WorkflowView:
        """Create the workflow, or return the existing one if key and operations are the same.

        Raises:
            ConflictError: ``definition_conflict``, naming the first difference.
            InvalidError: The definition cannot mean anything.
        """
        ...

    def workflow(self, workflow: WorkflowId) -> messages.WorkflowView:
        """Return the workflow as it is now."""
        ...

    def workflows(
        self,
        workspace: WorkspaceName,
        *,
        row_class: messages.RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> messages.WorkflowPage:
        """Return one page of a listing; without a class, those that need a person come first."""
        ...

    def history(self, workflow: WorkflowId, *, after: int = 0) -> messages.HistoryPage:
        """Return changes after revision ``after``, oldest first."""
        ...

    def enable(self, workflow: WorkflowId) -> messages.WorkflowView:
        """Let it run; also ends a pause."""
        ...

    def pause(self, workflow: WorkflowId) -> messages.WorkflowView:
        """Dispatch nothing more once this returns."""
        ...

    def abandon(self, workflow: WorkflowId, body: messages.Abandon) -> messages.WorkflowView:
        """Give up the workflow, or one operation of it."""
        ...

    def resolve(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Resolve
    ) -> messages.WorkflowView:
        """Record a person's word on what happened."""
        ...

    def begin(self, workflow: WorkflowId, body: messages.Begin) -> Decision:
        """Ask to run an operation; repeated with the same request id it is answered the same."""
        ...

    def complete(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Complete
    ) -> messages.Completed:
        """Hand in a receipt; it is durable once this returns."""
        ...

    def renew(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Renew
    ) -> messages.Renewed:
        """Ask for more time."""
        ...

    def release(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Release
    ) -> None:
        """Say that a granted call was never made."""
        ...

    def upload(
        self, workspace: WorkspaceName, content: bytes, *, key: str
    ) -> messages.PayloadStored:
        """Store arguments for the workflow that will be created under ``key``."""
        ...

    def upload_result(self, workflow: WorkflowId, content: bytes) -> messages.PayloadStored:
        """Store a result for a receipt of ``workflow``."""
        ...

    def download(self, workflow: WorkflowId, digest: str) -> bytes:
        """Return the content of a payload of ``workflow``."""
        ...

    def close(self) -> None:
        """Give back connections, files and threads; idempotent."""
        ...
