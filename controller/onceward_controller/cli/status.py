"""``onceward status``: one screen that says whether anybody has to get up."""

from msgspec import Struct

from onceward.controller import Controller
from onceward.system import SystemClock
from onceward.wire import limits
from onceward.wire.identifiers import WorkspaceName
from onceward.wire.messages import RowClass, WorkflowRow
from onceward_controller.cli import connection
from onceward_controller.cli.exit_codes import ExitCode
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.refusal import Ended
from onceward_controller.cli.terminal import words

SHOWN_MAX = 5


class Status(Struct, frozen=True):
    """What is shown.

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


@shared
def status(invocation: Invocation) -> None:
    """Show controller, store, clock and what needs you. Exit code 3 when something does."""
    with connection.connected(invocation) as controller, connection.about(invocation):
        found = _look(controller, invocation)
    now_ms = SystemClock().wall_ms()

    def drawing() -> object:
        from onceward_controller.cli import status_sheet

        return status_sheet.draw(found, invocation, now_ms=now_ms)

    invocation.output.data(found, drawing)
    if found.counts[RowClass.ATTENTION]:
        raise Ended(ExitCode.NEEDS_PERSON)


def _look(controller: Controller, invocation: Invocation) -> Status:
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
