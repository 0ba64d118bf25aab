"""What a workflow is, fixed at creation: who asked, under which key, for which operations."""

from functools import cached_property

from msgspec import Struct

from onceward.wire.definitions import OperationDefinition, Operations, order
from onceward.wire.identifiers import OperationId, WorkflowId
from onceward_controller.protocol.naming import Naming

OPERATOR_AUTHORITY = ""
"""The authority of workflows that operators create; a coordinator's is its principal."""


class Identity(Struct, frozen=True, array_like=True):
    """Who asked for the workflow, and under which key.

    Attributes:
        authority: ``OPERATOR_AUTHORITY`` or one coordinator's principal.
        created_by: The principal that created it.
        created_ms: Trusted time of its creation.
    """

    id: WorkflowId
    workspace: str
    authority: str
    key: str
    label: str
    tags: tuple[str, ...]
    created_by: str
    created_ms: int


class Plan(Struct, frozen=True, dict=True):
    """Identity and resolved operations; what is computed from them is kept."""

    identity: Identity
    operations: Operations
    digest: str

    @cached_property
    def index(self) -> dict[str, int]:
        """Where each name stands in ``operations``."""
        return {operation.name: at for at, operation in enumerate(self.operations)}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Indexes so that each operation comes after all that it waits for."""
        return order(self.operations)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For each operation the indexes of those it waits for."""
        return tuple(
            tuple(self.index[name] for name in operation.after or ())
            for operation in self.operations
        )

    def definition(self, at: int) -> OperationDefinition:
        """Return the operation at index ``at``."""
        return self.operations[at]

    def operation_id(self, at: int, naming: Naming) -> OperationId:
        """Return the derived id of the operation at index ``at``."""
        return naming.operation_id(self.identity.id, self.digest, self.operations[at].name)
