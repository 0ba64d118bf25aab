"""``onceward workflows resolve | abandon``: a person's word, which nothing takes back.

A decision needs words and the revision it was made on: what has changed since is refused, not
overruled. On a terminal it says what follows, and asks; a script says ``--yes``.
"""

from collections.abc import Callable
from typing import Annotated

import typer

from onceward.exit_codes import ExitCode
from onceward.wire import codec, limits, messages
from onceward.wire.identifiers import OperationName
from onceward.wire.messages import OperationView, WorkflowView
from onceward.wire.problems import InvalidError
from onceward.wire.receipts import Outcome
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.refusal import Refusal
from onceward_controller.cli.terminal import prompts
from onceward_controller.cli.workflows import choices
from onceward_controller.cli.workflows.acting import Yes, on, told
from onceward_controller.cli.workflows.reads import Id

Evidence = Annotated[
    str | None, typer.Option("--evidence", metavar="TEXT", help="How you know: kept for good.")
]
Revision = Annotated[
    int | None,
    typer.Option("--revision", min=1, metavar="N", help="The revision that you decided on."),
]


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
    with on(invocation, workflow) as (controller, found):

        def consequence() -> str:
            if succeeded:
                return f"`{operation}` will count as done, for good; what waits for it goes on."
            view = controller.workflow(found)
            number = len(_operation(view, operation, invocation).attempts) + 1
            return f"`{operation}`: {choices.not_executed_consequence(number)}"

        _agreed(invocation, consequence, yes=yes)
        told(invocation, controller.resolve(found, OperationName(operation), body))


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
    with on(invocation, workflow) as (controller, found):
        _agreed(invocation, lambda: f"{what} never runs again{rest}. There is no undo.", yes=yes)
        told(invocation, controller.abandon(found, body))


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
