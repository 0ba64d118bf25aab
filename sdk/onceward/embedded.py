"""The controller inside this process: the same service on a SQLite file, and no server.

The one module of the SDK that imports the controller, and only when it is asked for. Whoever may
open the key file may do everything, so calls are made as the host's administrator.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from onceward.controller import Controller
from onceward.ports import Clock, Entropy, Spawner
from onceward.wire import messages
from onceward.wire.decisions import Decision
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.tokens import Role

if TYPE_CHECKING:
    from onceward_controller.service.service import Service


def open_embedded(
    folder: Path,
    *,
    principal: str = "host",
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    spawner: Spawner | None = None,
) -> Controller:
    """Return a controller on the vault in ``folder``, made now if it is not there.

    Args:
        folder: Holds ``vault.db`` and ``vault.key``; made with mode 0700.
        principal: The name under which the history shows this process.
        clock: The host's clocks; the real ones unless a test says otherwise.
        entropy: The random source, likewise.
        spawner: Starts threads, likewise.

    Raises:
        UnlockError: The key file does not open the vault.
        StoreError: The file could not be read or written.
    """
    from onceward_controller.bootstrap import open_embedded_service

    service = open_embedded_service(folder, clock=clock, entropy=entropy, spawner=spawner)
    return EmbeddedController(service, principal=principal)


class EmbeddedController:
    """Fulfils ``Controller`` by calling the service."""

    def __init__(self, service: "Service", *, principal: str) -> None:
        from onceward_controller.protocol.authority import Caller

        self._service = service
        self._caller = Caller(principal=principal, role=Role.ADMIN)

    def create_workflow(
        self, workspace: WorkspaceName, body: messages.CreateWorkflow
    ) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._service.workflows.create(self._caller, workspace, body)

    def workflow(self, workflow: WorkflowId) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._service.workflows.read(self._caller, workflow)

    def workflows(
        self,
        workspace: WorkspaceName,
        *,
        row_class: messages.RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> messages.WorkflowPage:
        """See ``Controller``."""
        return self._service.listing.rows(
            self._caller, workspace, row_class=row_class, key=key, after=after, limit=limit
        )

    def history(self, workflow: WorkflowId, *, after: int = 0) -> messages.HistoryPage:
        """See ``Controller``."""
        return self._service.listing.history(self._caller, workflow, after=after)

    def enable(self, workflow: WorkflowId) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._service.workflows.enable(self._caller, workflow)

    def pause(self, workflow: WorkflowId) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._service.workflows.pause(self._caller, workflow)

    def abandon(self, workflow: WorkflowId, body: messages.Abandon) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._service.workflows.abandon(self._caller, workflow, body)

    def resolve(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Resolve
    ) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._service.workflows.resolve(self._caller, workflow, operation, body)

    def begin(self, workflow: WorkflowId, body: messages.Begin) -> Decision:
        """See ``Controller``."""
        return self._service.attempts.begin(self._caller, workflow, body)

    def complete(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Complete
    ) -> messages.Completed:
        """See ``Controller``."""
        return self._service.attempts.complete(self._caller, workflow, operation, body)

    def renew(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Renew
    ) -> messages.Renewed:
        """See ``Controller``."""
        return self._service.attempts.renew(self._caller, workflow, operation, body)

    def release(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Release
    ) -> None:
        """See ``Controller``."""
        self._service.attempts.release(self._caller, workflow, operation, body)

    def upload(
        self, workspace: WorkspaceName, content: bytes, *, key: str
    ) -> messages.PayloadStored:
        """See ``Controller``."""
        return self._service.payloads.store_arguments(self._caller, workspace, key, content)

    def upload_result(self, workflow: WorkflowId, content: bytes) -> messages.PayloadStored:
        """See ``Controller``."""
        return self._service.payloads.store_result(self._caller, workflow, content)

    def download(self, workflow: WorkflowId, digest: str) -> bytes:
        """See ``Controller``."""
        return self._service.payloads.read(self._caller, workflow, digest)

    def close(self) -> None:
        """See ``Controller``."""
        self._service.close()
