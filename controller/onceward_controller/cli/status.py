"""``onceward status``: one screen that says whether anybody has to get up."""

from onceward.exit_codes import ExitCode
from onceward.system import SystemClock
from onceward.wire.messages import RowClass
from onceward_controller.cli import connection, standing
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.refusal import Ended


@shared
def status(invocation: Invocation) -> None:
    """Show controller, store, clock and what needs you. Exit code 3 when something does."""
    with connection.connected(invocation) as controller, connection.about(invocation):
        found = standing.look(controller, invocation)
    now_ms = SystemClock().wall_ms()

    def drawing() -> object:
        from onceward_controller.cli import status_sheet

        return status_sheet.draw(found, invocation, now_ms=now_ms)

    invocation.output.data(found, drawing)
    if found.counts[RowClass.ATTENTION]:
        raise Ended(ExitCode.NEEDS_PERSON)
