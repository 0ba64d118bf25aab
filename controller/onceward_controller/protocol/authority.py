"""Who may do what: closed scopes, one row a role; what is not listed is denied.

A caller is never told that something exists which is not theirs: outside its scope a workflow is
``not_found``, whether there is one or not.
"""

from enum import StrEnum

from msgspec import Struct

from onceward.wire.identifiers import WorkflowId
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward.wire.tokens import Role


class Action(StrEnum):
    """What can be asked of the controller."""

    CREATE = "create"
    READ = "read"
    LIST = "list"
    ENABLE = "enable"
    PAUSE = "pause"
    RESOLVE = "resolve"
    ABANDON = "abandon"
    BEGIN = "begin"
    COMPLETE = "complete"
    RENEW = "renew"
    RELEASE = "release"
    UPLOAD = "upload"
    CREDENTIAL_CREATE = "credential_create"


_RUN = {Action.BEGIN, Action.COMPLETE, Action.RENEW, Action.RELEASE, Action.READ, Action.UPLOAD}
_OPERATE = {
    Action.CREATE,
    Action.READ,
    Action.LIST,
    Action.ENABLE,
    Action.PAUSE,
    Action.RESOLVE,
    Action.ABANDON,
    Action.UPLOAD,
}

MATRIX: dict[Role, frozenset[Action]] = {
    Role.ADMIN: frozenset(Action),
    Role.OPERATOR: frozenset(_OPERATE),
    Role.WORKER: frozenset(_RUN),
    # Roles whose scopes are not in force yet may nothing.
    Role.INVESTIGATOR: frozenset(),
    Role.POOL: frozenset(),
    Role.COORDINATOR: frozenset(),
    Role.OBSERVER: frozenset(),
}
ISSUED = (Role.ADMIN, Role.OPERATOR, Role.WORKER)
"""Roles that a credential can be made for."""

assert set(MATRIX) == set(Role), "every role has its row"


class Caller(Struct, frozen=True):
    """The identity behind one request.

    Attributes:
        principal: The name that the history shows.
        workspace: The one it is confined to; None for the whole vault.
        workflow: The one it is confined to; None for the whole workspace.
    """

    principal: str
    role: Role
    workspace: str | None = None
    workflow: WorkflowId | None = None

    def require(self, action: Action) -> None:
        """Return if the role may do ``action`` at all.

        Raises:
            DeniedError: ``role_denied``.
        """
        if action not in MATRIX[self.role]:
            raise problem(
                ProblemCode.ROLE_DENIED,
                f"the role {self.role.value} may not do this: action=`{action.value}`",
            )

    def require_workspace(self, workspace: str) -> None:
        """Return if ``workspace`` lies in the caller's scope.

        Raises:
            NotFoundError: It does not.
        """
        if self.workflow is not None or self.workspace not in (None, workspace):
            raise problem(ProblemCode.NOT_FOUND, "there is no such workspace, or it is not yours")

    def require_workflow(self, workflow: WorkflowId, workspace: str) -> None:
        """Return if the workflow, which lies in ``workspace``, lies in the caller's scope.

        Raises:
            NotFoundError: It does not.
        """
        if self.workflow not in (None, workflow) or self.workspace not in (None, workspace):
            raise unknown_workflow()


def unknown_workflow() -> ProblemError:
    """Return the refusal for a workflow that does not exist or is not the caller's."""
    return problem(ProblemCode.NOT_FOUND, "there is no such workflow, or it is not yours")
