"""What acts on one workflow have in common: the id that was meant, and what is said afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from onceward.controller import Controller
from onceward.wire.identifiers import WorkflowId
from onceward.wire.messages import WorkflowStatus, WorkflowView
from onceward_controller.cli import connection
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.terminal import words
from onceward_controller.cli.workflows import prefixes
from onceward_controller.cli.workflows.reads import draw_view

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@contextmanager
def on(invocation: Invocation, typed: str) -> Iterator[tuple[Controller, WorkflowId]]:
    """Give a controller and the whole id; what it then refuses is told with the id."""
    with connection.connected(invocation) as controller:
        with connection.about(invocation):
            found = prefixes.whole(controller, invocation, typed)
        with connection.about(invocation, found):
            yield controller, found


def told(invocation: Invocation, view: WorkflowView) -> None:
    """Write the workflow as data; to a person, in a sentence with the next command."""
    output = invocation.output
    if output.is_json:
        draw_view(invocation, view)
        return
    output.text(f"{view.id}  revision {view.revision}")
    output.text(words.sentence(view))
    if view.status is WorkflowStatus.DRAFT:
        output.note(f"  next: {invocation.command('workflows', 'enable', view.id)}")
    elif words.needs_decision(view):
        output.note(f"  next: {invocation.command('workflows', 'show', view.id)}")
