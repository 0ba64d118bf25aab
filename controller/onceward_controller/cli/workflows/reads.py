"""``onceward workflows list | show | history``: looking, which changes nothing."""

from functools import partial
from typing import Annotated

import typer

from onceward.system import SystemClock
from onceward.wire import limits, messages
from onceward.wire.identifiers import WorkspaceName
from onceward.wire.messages import RowClass
from onceward_controller.cli import connection
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.workflows import prefixes

Id = Annotated[str, typer.Argument(metavar="ID", help="A workflow id, or 6 characters of one.")]
All = Annotated[bool, typer.Option("--all", help="Every page, not only the first.")]


@shared
def list_workflows(
    invocation: Invocation,
    *,
    row_class: Annotated[
        RowClass | None, typer.Option("--class", help="Only workflows in this state.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Only the workflow with exactly this key.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=limits.PAGE_ROWS_MAX, help="Rows of one page.")
    ] = 50,
    after: Annotated[
        str, typer.Option("--after", metavar="CURSOR", help="Go on where a page ended.")
    ] = "",
    every: All = False,
) -> None:
    """What there is, and what it asks of you: the urgent first."""
    with connection.connected(invocation) as controller, connection.about(invocation):
        ask = partial(
            controller.workflows,
            WorkspaceName(invocation.workspace),
            row_class=row_class,
            key=key,
            limit=limit,
        )
        page = ask(after=after)
        while every and page.after:
            further = ask(after=page.after)
            page = messages.WorkflowPage(
                rows=page.rows + further.rows,
                after=further.after,
                damaged=page.damaged + further.damaged,
            )
    output, now_ms = invocation.output, SystemClock().wall_ms()
    if not page.rows:
        output.note(f"nothing here: workspace=`{invocation.workspace}`")
        output.note("  next: onceward workflows create FILE, or look elsewhere: --workspace NAME")
    if page.rows or output.is_json:
        from onceward_controller.cli.workflows import lines

        output.data(page, lambda: lines.draw_rows(page.rows, now_ms=now_ms))
    if page.damaged:
        output.note(f"rows that are not what was written, and not shown: {page.damaged}")
        output.note("  a workflow is whole without its row: open it by its id or --key")
    if page.after:
        # The cursor is a thousand characters long: for a script, which finds it in the JSON.
        output.note("there is more: --all; a script goes on with --after and `after` of the JSON")


@shared
def show(invocation: Invocation, workflow: Id) -> None:
    """Everything about one workflow, and what you can decide."""
    with connection.connected(invocation) as controller:
        with connection.about(invocation):
            found = prefixes.whole(controller, invocation, workflow)
        with connection.about(invocation, found):
            view = controller.workflow(found)
    draw_view(invocation, view)


@shared
def history(
    invocation: Invocation,
    workflow: Id,
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="REVISION", help="Only what came later.")
    ] = 0,
    every: All = False,
) -> None:
    """Every change: when, by whom, what. Oldest first."""
    with connection.connected(invocation) as controller:
        with connection.about(invocation):
            found = prefixes.whole(controller, invocation, workflow)
        with connection.about(invocation, found):
            page = controller.history(found, after=after)
            while every and page.after:
                further = controller.history(found, after=page.after)
                page = messages.HistoryPage(page.changes + further.changes, further.after)
    from onceward_controller.cli.workflows import lines

    invocation.output.data(page, lambda: lines.draw_changes(page.changes))
    if page.after:
        again = invocation.command("workflows", "history", found, "--after", str(page.after))
        invocation.output.note(f"there is more: --all, or\n  {again}")


def draw_view(invocation: Invocation, view: messages.WorkflowView) -> None:
    """Write one workflow as data."""

    def drawing() -> object:
        from onceward_controller.cli.workflows import sheet as workflow_sheet

        return workflow_sheet.draw(view, invocation, now_ms=SystemClock().wall_ms())

    invocation.output.data(view, drawing)
