"""The two commands of ``onceward demo``."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from onceward.system import SystemClock
from onceward.wire.messages import WorkflowView
from onceward_controller.cli.demo import controller, place, words
from onceward_controller.cli.demo.controller import Hosted
from onceward_controller.cli.demo.crash import Crash
from onceward_controller.cli.demo.lost_receipt import Answer, LostReceipt
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.demo.stage import Stage

demo_app = typer.Typer(name="demo", no_args_is_help=True, rich_markup_mode=None)

Dir = Annotated[
    Path,
    typer.Option("--dir", metavar="DIR", help="Where everything lies; made if it is not there."),
]
Exit = Annotated[
    bool, typer.Option("--exit", help="End when it is done, instead of keeping the controller up.")
]
NoBrowser = Annotated[
    # There is nothing to open yet; a script that says so now stays right once there is.
    bool,
    typer.Option("--no-browser", help="Open no browser."),
]
DEFAULT_DIR = Path("onceward-demo")


@demo_app.command("crash")
def crash(
    folder: Dir = DEFAULT_DIR,
    leave: Exit = False,
    _no_browser: NoBrowser = False,
    document: Annotated[
        Path | None,
        typer.Option("--document", metavar="FILE", help="Publish this; else a file of the demo's."),
    ] = None,
) -> None:
    """Kill a worker after its effect: the next one asks the destination, nothing happens twice."""
    where, clock = place.prepare(folder), SystemClock()
    stage = Stage(clock)
    with controller.hosted(where, clock) as hosted:
        _begin(stage, where, hosted)
        play = Crash(where, document or where.document, clock, stage)
        _end(stage, where, hosted, play.play(hosted), leave=leave)


@demo_app.command("lost-receipt")
def lost_receipt(
    folder: Dir = DEFAULT_DIR,
    leave: Exit = False,
    _no_browser: NoBrowser = False,
    answer: Annotated[
        Answer | None,
        typer.Option("--answer", help="What the person says: else asked at the terminal."),
    ] = None,
) -> None:
    """Lose a receipt where nobody can be asked: it stops, a person decides, the rest goes on."""
    where, clock = place.prepare(folder), SystemClock()
    stage = Stage(clock)
    may_ask = _is_watched()
    is_played = answer is None and (leave or not may_ask)
    with controller.hosted(where, clock) as hosted:
        _begin(stage, where, hosted)
        play = LostReceipt(
            where,
            clock,
            stage,
            answer=Answer.HAPPENED if is_played else answer or Answer.ASK,
            is_played=is_played,
            may_ask=may_ask,
        )
        code, view = play.play(hosted)
        _end(stage, where, hosted, view, leave=leave)
    raise typer.Exit(code)


def _begin(stage: Stage, where: Place, hosted: Hosted) -> None:
    stage.step("controller", f"{hosted.url}, everything under {words.near(where.root)}/")


def _end(stage: Stage, where: Place, hosted: Hosted, view: WorkflowView, *, leave: bool) -> None:
    """Say where to look, and keep the controller up while somebody may want to."""
    stage.gap()
    stage.command(words.show_command(where, view))
    if leave or not _is_watched():
        return
    stage.gap()
    stage.say("The controller stays up until you press Ctrl-C.")
    with suppress(KeyboardInterrupt):
        hosted.process.wait()


def _is_watched() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
