"""The program ``onceward-worker``.

    onceward-worker run TOOLS --workflow ID    runs what is ready, with the tools declared there
    onceward-worker tools TOOLS                shows what is declared there

Data goes to standard output, as JSON where that is no terminal; everything else to standard error.
A refusal is words and an exit code, never a traceback.
"""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

if TYPE_CHECKING:
    from onceward_worker.run import Ending

try:
    import typer
except ModuleNotFoundError:  # pragma: no cover - the extra is there wherever the tests run
    sys.stderr.write(
        "onceward-worker: the worker's dependencies are not installed\n"
        '  next: pip install "onceward[worker]"\n'
    )
    sys.exit(1)

from onceward.exit_codes import ExitCode
from onceward_worker import registry
from onceward_worker.registry import RegistryError

app = typer.Typer(
    name="onceward-worker",
    help="Run governed tools: each call is permitted first and accounted for afterwards.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Source = Annotated[
    str,
    typer.Argument(metavar="MODULE_OR_FILE", help="Where tools are declared: a.b, or path/to.py."),
]


@app.command(short_help="Run the operations of one workflow.")
def run(  # noqa: PLR0917 - typer passes every option by its name
    source: Source,
    workflow: Annotated[
        str, typer.Option("--workflow", metavar="ID", help="The workflow to run: wf_...")
    ],
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="The controller's address [env: ONCEWARD_URL]."),
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option(
            "--workspace", metavar="NAME", help="Its workspace [env: ONCEWARD_WORKSPACE; default]."
        ),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            min=0,
            help="How long in all to wait where only time is in the way: a lease, a backoff.",
        ),
    ] = 0.0,
    spool: Annotated[
        Path | None,
        typer.Option(
            "--spool", metavar="DIR", help="Keep receipts here that cannot be delivered now."
        ),
    ] = None,
) -> None:
    """Run the operations of one workflow until it is done or something stands in its way.

    The credential is read from ONCEWARD_TOKEN. SIGTERM and Ctrl-C let a running tool finish,
    deliver its receipt and ask for nothing more.
    """
    try:
        ending = _run(
            source,
            workflow,
            url=url,
            workspace=workspace,
            wait=timedelta(seconds=wait),
            spool=spool,
        )
    except KeyboardInterrupt:
        _end(ExitCode.INTERRUPTED, "interrupted; run it again, and it goes on where it stands")
    if not sys.stdout.isatty():
        sys.stdout.write(ending.as_json(workflow).decode("utf-8") + "\n")
    if ending.outcome == "done":
        raise typer.Exit(ExitCode.OK)
    at = f"{ending.operation}: " if ending.operation else ""
    _end(ending.code, f"{ending.outcome}: {at}{ending.detail}", *_next(ending, workflow))


@app.command(short_help="Show what a module or file declares.")
def tools(source: Source) -> None:
    """Show the tools that are declared in a module or file, and what each promises."""
    from onceward_worker import declarations

    declared = _loaded(source)
    if sys.stdout.isatty():
        for tool in declared:
            print(declarations.as_text(tool))
    else:
        print(declarations.as_json(declared).decode("utf-8"))


def _run(
    source: str,
    workflow: str,
    *,
    url: str | None,
    workspace: str | None,
    wait: timedelta,
    spool: Path | None,
) -> "Ending":
    from onceward.engine import Ports
    from onceward.errors import SpoolError
    from onceward.wire.identifiers import is_workflow_id
    from onceward_worker import run, settings
    from onceward_worker.drain import Drain
    from onceward_worker.report import Report

    if not is_workflow_id(workflow):
        _end(ExitCode.USAGE, f"this is no workflow id (wf_ and 32 characters): `{workflow}`")
    try:
        taken = settings.take(os.environ, url=url, workspace=workspace)
    except settings.SettingsError as error:
        _end(ExitCode.USAGE, str(error))
    declared = _loaded(source)
    ports = Ports()
    with Drain.at_signals() as drain:
        host = run.Host(
            settings=taken,
            spool=spool,
            ports=ports,
            report=Report.for_terminal(ports.clock),
            drain=drain,
        )
        try:
            ending = run.run(host, workflow, declared, wait=wait)
            return ending.interrupted() if drain.is_interrupt else ending
        except ValueError as error:
            _end(ExitCode.USAGE, str(error))
        except (SpoolError, OSError) as error:
            _end(ExitCode.FAILED, f"the spool cannot be used: {error}")


def _loaded(source: str) -> registry.Tools:
    try:
        return registry.load(source)
    except RegistryError as error:
        _end(ExitCode.USAGE, str(error))


def _next(ending: "Ending", workflow: str) -> tuple[str, ...]:
    """Return the command that helps, where there is one."""
    if ending.reason in {"not_enabled", "paused"}:
        return (f"onceward workflows enable {workflow}",)
    match ending.code:
        case ExitCode.NEEDS_PERSON | ExitCode.CONFLICT:
            return (f"onceward workflows show {workflow}",)
        case ExitCode.PAUSED_OR_DENIED:
            return (f"onceward credential create --role worker --workflow {workflow} --token-only",)
        case ExitCode.CLOCK_UNSAFE:
            return ("onceward doctor",)
        case _:
            return ()


def _end(code: ExitCode, what: str, *commands: str) -> NoReturn:
    """Say what happened and the next command, and end with ``code``."""
    sys.stderr.write("".join([f"onceward-worker: {what}\n", *(f"  next: {c}\n" for c in commands)]))
    raise typer.Exit(code)


def main() -> None:
    """Run the program."""
    app()
