"""``onceward workflows create | enable | pause | resolve | abandon``: acts on one workflow.

What cannot be taken back asks first, and shows what follows, unless ``--yes`` was said. A decision
needs words and the revision it was made on: what has changed since is refused, not overruled.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from onceward.controller import Controller
from onceward.wire import codec, limits, messages
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.messages import OperationView, WorkflowStatus, WorkflowView
from onceward.wire.problems import InvalidError
from onceward.wire.receipts import Outcome
from onceward_controller.cli import choices, connection, definition_file, prefixes, prompts, words
from onceward_controller.cli.exit_codes import ExitCode
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.refusal import Refusal
from onceward_controller.cli.workflow_reads import Id, draw_view

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Evidence = Annotated[
    str | None, typer.Option("--evidence", metavar="TEXT", help="How you know: kept for good.")
]
Revision = Annotated[
    int | None,
    typer.Option("--revision", min=1, metavar="N", help="The revision that you decided on."),
]


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
    _told(invocation, view)


@shared
def enable(invocation: Invocation, workflow: Id, yes: Yes = False) -> None:
    """Let it run, or go on after a pause. Shows what it will do, and asks."""
    with _on(invocation, workflow) as (controller, found):
        if not yes and prompts.is_person():
            from onceward_controller.cli import review, sheet

            view = controller.workflow(found)
            sheet.on_stderr(review.draw(view))
        prompts.confirm(invocation.output, "Let this run?", yes=yes)
        _told(invocation, controller.enable(found))


@shared
def pause(invocation: Invocation, workflow: Id) -> None:
    """Start nothing more of it. Attempts that run may still report."""
    with _on(invocation, workflow) as (controller, found):
        _told(invocation, controller.pause(found))


@shared
def resolve(  # noqa: PLR0913 - one parameter for each option
    invocation: Invocation,
    workflow: Id,
    operation: Annotated[str, typer.Argument(metavar="OP", help="The operation's name.")],
    *,
    succeeded: Annotated[bool, typer.Option("--succeeded", help="It happened.")] = False,
    not_executed: Annotated[
        bool,
        typer.Option("--not-executed", help="It did not happen: one more attempt may start."),
    ] = False,
    effect_id: Annotated[
        str | None,
        typer.Option("--effect-id", metavar="ID", help="What the destination calls the effect."),
    ] = None,
    result: Annotated[
        str | None,
        typer.Option("--result", metavar="JSON", help="What the tool would have returned."),
    ] = None,
    evidence: Evidence = None,
    revision: Revision = None,
    yes: Yes = False,
) -> None:
    """Say what happened where nobody knows. Your word is kept for good."""
    if succeeded == not_executed:
        raise Refusal(
            ExitCode.USAGE,
            "say what happened: --succeeded or --not-executed, one of them",
            f"see the choices: {invocation.command('workflows', 'show', workflow)}",
        )
    if not_executed and (effect_id is not None or result is not None):
        raise Refusal(
            ExitCode.USAGE,
            "what did not happen has no effect id and no result",
            "leave out --effect-id and --result, or say --succeeded",
        )
    evidence, revision = _decided(invocation, workflow, evidence, revision, effect_id)
    body = messages.Resolve(
        outcome=Outcome.SUCCEEDED if succeeded else Outcome.NOT_EXECUTED,
        evidence=evidence,
        revision=revision,
        effect_id=effect_id,
        result=_json(result),
    )
    with _on(invocation, workflow) as (controller, found):

        def consequence() -> str:
            if succeeded:
                return f"`{operation}` will count as done, for good; what waits for it goes on."
            view = controller.workflow(found)
            number = len(_operation(view, operation, invocation).attempts) + 1
            return f"`{operation}`: {choices.not_executed_consequence(number)}"

        _agreed(invocation, consequence, yes=yes)
        _told(invocation, controller.resolve(found, OperationName(operation), body))


@shared
def abandon(
    invocation: Invocation,
    workflow: Id,
    *,
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="OP", help="Only this operation.")
    ] = None,
    evidence: Evidence = None,
    revision: Revision = None,
    yes: Yes = False,
) -> None:
    """Give up all of it, or one operation, for good."""
    evidence, revision = _decided(invocation, workflow, evidence, revision)
    body = messages.Abandon(evidence=evidence, revision=revision, operation=operation)
    what = "Nothing of this workflow" if operation is None else f"`{operation}`"
    rest = "" if operation is None else ", nor what waits for it"
    with _on(invocation, workflow) as (controller, found):
        _agreed(invocation, lambda: f"{what} never runs again{rest}. There is no undo.", yes=yes)
        _told(invocation, controller.abandon(found, body))


@contextmanager
def _on(invocation: Invocation, typed: str) -> Iterator[tuple[Controller, WorkflowId]]:
    """Give a controller and the whole id; what it then refuses is told with the id."""
    with connection.connected(invocation) as controller:
        with connection.about(invocation):
            found = prefixes.whole(controller, invocation, typed)
        with connection.about(invocation, found):
            yield controller, found


def _decided(
    invocation: Invocation,
    workflow: str,
    evidence: str | None,
    revision: int | None,
    effect_id: str | None = None,
) -> tuple[str, int]:
    """Return evidence and revision; a decision without either is none."""
    look = f"look, then decide: {invocation.command('workflows', 'show', workflow)}"
    if revision is None:
        raise Refusal(ExitCode.USAGE, "say on which revision you decided: --revision N", look)
    if evidence is None or not evidence.strip():
        raise Refusal(ExitCode.USAGE, 'say how you know: --evidence "what you saw, where"', look)
    left = {evidence, effect_id} & choices.PLACEHOLDERS
    if left:
        raise Refusal(
            ExitCode.USAGE,
            f"this is a placeholder, for what only you know: `{left.pop()}`",
            "replace it; leave --effect-id out where the destination gives no id",
        )
    return evidence, revision


def _agreed(invocation: Invocation, consequence: Callable[[], str], *, yes: bool) -> None:
    if not yes and prompts.is_person():
        invocation.output.error(consequence())
    prompts.confirm(invocation.output, "Are you sure?", yes=yes)


def _operation(view: WorkflowView, name: str, invocation: Invocation) -> OperationView:
    for each in view.operations:
        if each.name == name:
            return each
    raise Refusal(
        ExitCode.NOT_FOUND,
        f"there is no such operation: `{name}`",
        f"see their names: {invocation.command('workflows', 'show', view.id)}",
    )


def _json(text: str | None) -> object:
    if text is None:
        return None
    try:
        return codec.parse(text.encode("utf-8", "surrogateescape"), bytes_max=limits.BODY_BYTES_MAX)
    except InvalidError as error:
        raise Refusal(
            ExitCode.USAGE,
            f"--result is not JSON: {error.detail}",
            """quote it for the shell: --result '{"url": "..."}'""",
        ) from None


def _told(invocation: Invocation, view: WorkflowView) -> None:
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
