"""``onceward workflows create | enable | pause``: acts that a later one can undo."""

from typing import Annotated

import typer

from onceward.wire.identifiers import WorkspaceName
from onceward.wire.messages import WorkflowStatus
from onceward_controller.cli import connection
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.terminal import prompts
from onceward_controller.cli.workflows import definition_file
from onceward_controller.cli.workflows.acting import Yes, on, told
from onceward_controller.cli.workflows.reads import Id


@shared
def create(
    invocation: Invocation,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The definition as JSON; `-` reads stdin.")
    ],
) -> None:
    """Write a workflow down. It is a draft: nothing runs before it is enabled."""
    body = definition_file.read(invocation, file)
    with connection.connected(invocation) as controller, connection.about(invocation):
        view = controller.create_workflow(WorkspaceName(invocation.workspace), body)
    told(invocation, view)


@shared
def enable(invocation: Invocation, workflow: Id, yes: Yes = False) -> None:
    """Let it run, or go on after a pause. Shows what it will do, and asks."""
    with on(invocation, workflow) as (controller, found):
        if not yes and prompts.is_person():
            from onceward_controller.cli.terminal import sheet
            from onceward_controller.cli.workflows import review

            view = controller.workflow(found)
            if view.status is WorkflowStatus.ENABLED:
                told(invocation, view)
                return
            sheet.on_stderr(review.draw(view))
        prompts.confirm(invocation.output, "Let this run?", yes=yes)
        told(invocation, controller.enable(found))


@shared
def pause(invocation: Invocation, workflow: Id) -> None:
    """Start nothing more of it. Attempts that run may still report."""
    with on(invocation, workflow) as (controller, found):
        told(invocation, controller.pause(found))
