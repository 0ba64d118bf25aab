"""``onceward workflows``, or ``wf``: the commands by name."""

import typer

from onceward_controller.cli.workflows import acts as workflow_acts
from onceward_controller.cli.workflows import decisions as workflow_decisions
from onceward_controller.cli.workflows import reads as workflow_reads

workflows_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="See what there is and what it asks of you, and answer. Short: wf.",
)
workflows_app.command("list")(workflow_reads.list_workflows)
workflows_app.command("show")(workflow_reads.show)
workflows_app.command("history")(workflow_reads.history)
workflows_app.command("create")(workflow_acts.create)
workflows_app.command("enable")(workflow_acts.enable)
workflows_app.command("pause")(workflow_acts.pause)
workflows_app.command("resolve")(workflow_decisions.resolve)
workflows_app.command("abandon")(workflow_decisions.abandon)
