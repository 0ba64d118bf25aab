"""``onceward workflows``, or ``wf``: the commands by name."""

import typer

from onceward_controller.cli.workflows import acts, decisions, reads

workflows_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="See what there is and what it asks of you, and answer. Short: wf.",
)
workflows_app.command("list")(reads.list_workflows)
workflows_app.command("show")(reads.show)
workflows_app.command("history")(reads.history)
workflows_app.command("create")(acts.create)
workflows_app.command("enable")(acts.enable)
workflows_app.command("pause")(acts.pause)
workflows_app.command("resolve")(decisions.resolve)
workflows_app.command("abandon")(decisions.abandon)
