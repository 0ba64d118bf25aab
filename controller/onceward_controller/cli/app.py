"""The commands, mounted, and the one place where a failure becomes words and an exit code."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from onceward.exit_codes import ExitCode
from onceward_controller.cli import demo_entry, failures, refusal
from onceward_controller.cli.credential import credential_app
from onceward_controller.cli.host.doctor import doctor
from onceward_controller.cli.host.init import init
from onceward_controller.cli.host.serve import serve
from onceward_controller.cli.host.up import up
from onceward_controller.cli.invocation import DEFAULT_WORKSPACE, Invocation, shared
from onceward_controller.cli.status import status
from onceward_controller.cli.terminal.output import Output
from onceward_controller.cli.workflows.commands import workflows_app

WORKSPACE_VARIABLE = "ONCEWARD_WORKSPACE"

app = typer.Typer(
    name="onceward",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=(
        "Governed tool calls: what is about to happen is durable before it happens, and an unknown "
        "outcome is never guessed."
    ),
    epilog="New here? `onceward demo crash`. At three in the morning: `onceward status`.",
)


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        sys.stdout.write(f"onceward {version('onceward')}\n")
        raise typer.Exit


@app.callback()
@shared
def _root(
    _invocation: Invocation,
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say which version."),
    ] = False,
) -> None:
    pass


app.command("init")(init)
app.command("up")(up)
app.command("serve")(serve)
app.command("status")(status)
app.command("doctor")(doctor)
app.add_typer(credential_app, name="credential")
app.add_typer(workflows_app, name="workflows")
app.add_typer(workflows_app, name="wf", hidden=True)
app.command("demo", context_settings=demo_entry.PASSED_ON)(demo_entry.demo)


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: The command line without the program's name.

    Returns:
        The exit code.

    Raises:
        Exception: A bug; what is not one becomes words and a code.
    """
    workspace = os.environ.get(WORKSPACE_VARIABLE) or DEFAULT_WORKSPACE
    obj = Invocation(workspace_default=workspace)
    output = Output()
    try:
        code: Any = app(arguments, prog_name="onceward", standalone_mode=False, obj=obj)
    except KeyboardInterrupt:
        return _interrupted(output)
    except typer.Abort:
        return _interrupted(output)
    except SystemExit as ended:
        # typer ends so, in silence, when whoever read our output has gone.
        return ended.code if isinstance(ended.code, int) else ExitCode.FAILED
    except refusal.Ended as ended:
        return ended.code
    except Exception as error:
        words = failures.usage(error)
        if words is not None:
            output.error(words)
            return ExitCode.USAGE
        found = failures.refusal_of(error)
        if found is None:
            raise
        output.error(refusal.lines(found.fact, found.following))
        return found.code
    if code == ExitCode.INTERRUPTED:  # typer's own answer to Ctrl-C
        return _interrupted(output)
    return code if isinstance(code, int) else ExitCode.OK


def _interrupted(output: Output) -> int:
    output.error("onceward: interrupted")
    return ExitCode.INTERRUPTED
