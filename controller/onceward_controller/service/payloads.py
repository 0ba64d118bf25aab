"""Arguments and results too large to ride in a revision."""

from hashlib import sha256

from onceward.sealing import Kind
from onceward.wire import definitions, limits, messages
from onceward.wire.identifiers import WorkflowId
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.protocol.authority import Action, Caller
from onceward_controller.protocol.plan import OPERATOR_AUTHORITY
from onceward_controller.service.failures import told_to_the_caller
from onceward_controller.service.transact import Transactor
from onceward_controller.vault.log import SealKey
from onceward_controller.vault.vault import Vault


class Payloads:
    """Content sealed under a workflow's own data key, so that it is gone when the key is.

    Arguments are stored before their workflow exists: its key is made then.
    """

    def __init__(self, vault: Vault, transactor: Transactor) -> None:
        self._vault = vault
        self._transactor = transactor

    def store_arguments(
        self, caller: Caller, workspace: str, key: str, content: bytes
    ) -> messages.PayloadStored:
        """Store content for the workflow that ``key`` names or will name.

        Raises:
            ProblemError: It is too large, the caller may not, or the store failed.
        """
        caller.require(Action.CREATE)
        caller.require_workspace(workspace)
        _require_fit(content)
        workflow = self._vault.naming.workflow_id(workspace, OPERATOR_AUTHORITY, key)
        with told_to_the_caller():
            sealing_key, _ = self._vault.keys.make(self._vault.naming.key_log(workflow))
            return self._stored(workflow, content, sealing_key)

    def store_result(
        self, caller: Caller, workflow: WorkflowId, content: bytes
    ) -> messages.PayloadStored:
        """Store content for a receipt of ``workflow``.

        Raises:
            ProblemError: It is too large, the workflow is not the caller's, or the store failed.
        """
        caller.require(Action.UPLOAD)
        _require_fit(content)
        with told_to_the_caller():
            head = self._transactor.look(workflow, caller)
            return self._stored(workflow, content, head.key)

    def read(self, caller: Caller, workflow: WorkflowId, digest: str) -> bytes:
        """Return the content that ``digest`` names.

        Raises:
            NotFoundError: There is none, or it belongs to another workflow.
            ProblemError: The workflow is not the caller's, or the store failed.
        """
        caller.require(Action.READ)
        with told_to_the_caller():
            head = self._transactor.look(workflow, caller)
            objects = self._vault.workflow_log(workflow).objects
            content = objects.read(Kind.PAYLOAD, digest, head.key)
        if content is None:
            raise problem(ProblemCode.NOT_FOUND, "there is no such payload, or it is not yours")
        return content

    def require(self, workflow: WorkflowId, operations: definitions.Operations) -> None:
        """Return if every payload that the operations name is there.

        Raises:
            InvalidError: ``payload_unknown``, naming the operation.
            StoreError: The store could not be read.
        """
        named = [each for each in operations if each.arguments_payload is not None]
        if not named:
            return
        key = self._vault.keys.read(self._vault.naming.key_log(workflow))
        objects = self._vault.workflow_log(workflow).objects
        for operation in named:
            payload = operation.arguments_payload
            assert payload is not None, "only operations with a payload are asked about"
            content = None if key is None else objects.read(Kind.PAYLOAD, payload.digest, key)
            if content is None or sha256(content).hexdigest() != payload.sha256:
                raise problem(
                    ProblemCode.PAYLOAD_UNKNOWN,
                    f"upload the arguments of `{operation.name}` first: no such payload",
                    operation=operation.name,
                )

    def _stored(self, workflow: WorkflowId, content: bytes, key: SealKey) -> messages.PayloadStored:
        digest = self._vault.workflow_log(workflow).objects.write(Kind.PAYLOAD, content, key)
        return messages.PayloadStored(
            digest=digest, sha256=sha256(content).hexdigest(), size=len(content)
        )


def _require_fit(content: bytes) -> None:
    if len(content) > limits.PAYLOAD_BYTES_MAX:
        raise problem(
            ProblemCode.PAYLOAD_TOO_LARGE,
            "the payload is too large",
            bytes=len(content),
            bytes_max=limits.PAYLOAD_BYTES_MAX,
        )
