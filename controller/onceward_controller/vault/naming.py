"""The vault's names: keyed hashes of what they name, under keys that are never rotated.

Another name would be other work: an id derived twice, even from a restored backup, is the same.
"""

from functools import lru_cache

from onceward.wire.identifiers import LeaseToken, OperationId, WorkflowId
from onceward_controller.vault import layout
from onceward_controller.vault.keys.derive import RootKeys, name, tag
from onceward_controller.vault.layout import Drawer

_REMEMBERED = 4096
"""Derived names kept at hand; each costs a few microseconds to derive again."""


class VaultNaming:
    """Fulfils ``protocol.naming.Naming`` and names the logs.

    Args:
        root: The vault's derived keys.
    """

    def __init__(self, root: RootKeys) -> None:
        self._root = root
        self.operation_id = lru_cache(_REMEMBERED)(self._operation_id)
        self.lease_token = lru_cache(_REMEMBERED)(self._lease_token)
        self.workflow_log = lru_cache(_REMEMBERED)(self._workflow_log)
        self.key_log = lru_cache(_REMEMBERED)(self._key_log)

    def workflow_id(self, workspace: str, authority: str, key: str) -> WorkflowId:
        """See ``Naming``."""
        return WorkflowId(f"wf_{self._id('workflow', workspace, authority, key)}")

    def idempotency_key(self, operation: OperationId) -> str:
        """See ``Naming``: the id, which is a keyed hash already, under a prefix of its own."""
        return f"ik_{operation.removeprefix('op_')}"

    def credential_log(self, accessor: str) -> str:
        """Return the name of the log of one credential."""
        return layout.log_name(Drawer.CREDENTIAL, self._opaque("credential", accessor))

    def credentials_key_log(self) -> str:
        """Return the name of the log of the data key that seals all credentials."""
        return layout.log_name(Drawer.DATA_KEY, self._opaque("credentials"))

    def workspace(self, workspace: str) -> str:
        """Return the opaque name of a workspace in index rows."""
        return self._opaque("workspace", workspace)

    def row(self, workflow: WorkflowId) -> str:
        """Return the opaque name of a workflow in index rows."""
        return self._opaque("row", workflow)

    def _operation_id(self, workflow: WorkflowId, digest: str, operation: str) -> OperationId:
        return OperationId(f"op_{self._id('operation', workflow, digest, operation)}")

    def _lease_token(self, operation: OperationId, attempt: int, request_id: str) -> LeaseToken:
        derived = tag(self._root.lease_tokens, operation, str(attempt), request_id)
        return LeaseToken(f"lt_{derived.hex()}")

    def _workflow_log(self, workflow: WorkflowId) -> str:
        return layout.log_name(Drawer.WORKFLOW, self._opaque("workflow", workflow))

    def _key_log(self, workflow: WorkflowId) -> str:
        return layout.log_name(Drawer.DATA_KEY, self._opaque("data key", workflow))

    def _id(self, *fields: str) -> str:
        return name(self._root.ids, *fields)

    def _opaque(self, *fields: str) -> str:
        return name(self._root.object_names, *fields)
