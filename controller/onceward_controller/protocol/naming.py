"""What the core needs derived, and never keeps: ids, idempotency keys, lease tokens.

All are keyed hashes of what they name, so that the same work always has the same names and a lost
reply can be given again. The vault holds the keys and fulfils this port.
"""

from typing import Protocol

from onceward.wire.identifiers import LeaseToken, OperationId, WorkflowId


class Naming(Protocol):
    """Pure functions of the vault's naming keys."""

    def workflow_id(self, workspace: str, authority: str, key: str) -> WorkflowId:
        """Return the id of the workflow that ``authority`` calls ``key`` in ``workspace``."""
        ...

    def operation_id(self, workflow: WorkflowId, definition_digest: str, name: str) -> OperationId:
        """Return the id of the operation ``name`` of one definition of a workflow."""
        ...

    def idempotency_key(self, operation: OperationId) -> str:
        """Return the key under which every attempt of ``operation`` is sent."""
        ...

    def lease_token(self, operation: OperationId, attempt: int, request_id: str) -> LeaseToken:
        """Return the token that the holder of one grant presents."""
        ...
