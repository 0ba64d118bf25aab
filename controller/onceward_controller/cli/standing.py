"""How things stand with a controller: what ``onceward status`` finds out before it is drawn."""

from msgspec import Struct

from onceward.controller import Controller
from onceward.wire import limits
from onceward.wire.identifiers import WorkspaceName
from onceward.wire.messages import RowClass, WorkflowRow
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.terminal import words

SHOWN_MAX = 5


class Status(Struct, frozen=True):
    """What is found.

    Attributes:
        controller: Its address, or the folder of a vault.
        store: ``reachable`` or ``unreachable``.
        clock_apart_ms: The controller's clock less this host's; 0 for a vault on this host, None
            when the controller does not tell.
        counts: Workflows in each state.
        is_counted: Whether the counts are complete; at least one state has more otherwise.
        needs_you: The first that wait for a person.
    """

    controller: str
    store: str
    clock_apart_ms: int | None
    workspace: str
    counts: dict[RowClass, int]
    is_counted: bool
    needs_you: tuple[WorkflowRow, ...]


def look(controller: Controller, invocation: Invocation) -> Status:
    """Return how things stand in the workspace of ``invocation``.

    Raises:
        ProblemError: The controller gave no answer, or refuses.
    """
    from onceward_controller.cli.remote import Look, RemoteController

    where, seen = str(invocation.vault), Look(is_ready=True, apart_ms=0)
    if isinstance(controller, RemoteController):
        where, seen = controller.origin, controller.look()
    counts: dict[RowClass, int] = {}
    is_counted = True
    urgent: tuple[WorkflowRow, ...] = ()
    for row_class in words.CLASSES:
        page = controller.workflows(
            WorkspaceName(invocation.workspace), row_class=row_class, limit=limits.PAGE_ROWS_MAX
        )
        counts[row_class] = len(page.rows)
        is_counted = is_counted and not page.after
        if row_class is RowClass.ATTENTION:
            urgent = page.rows[:SHOWN_MAX]
    return Status(
        controller=where,
        store="reachable" if seen.is_ready else "unreachable",
        clock_apart_ms=seen.apart_ms,
        workspace=invocation.workspace,
        counts=counts,
        is_counted=is_counted,
        needs_you=urgent,
    )
