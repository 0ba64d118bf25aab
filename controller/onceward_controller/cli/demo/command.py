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
from onceward_controller.cli.demo.lost_receipt import LostReceipt
from onceward_controller.cli.demo.person import Answer, Person
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.demo.stage import Stage

demo_app = typer.Typer(
    name="demo",
    help="See it work: a worker is killed, a receipt is lost, and nothing happens twice.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

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


@demo_app.command("crash", short_help="The next worker asks the destination.")
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
    play = Crash.of(where, document or where.document, clock, stage)
    stage.pending("a controller starts")
    with controller.hosted(where, clock) as hosted:
        _begin(stage, where, hosted)
        _end(stage, where, hosted, play.play(hosted), leave=leave)


@demo_app.command("lost-receipt", short_help="Nobody can be asked: a person decides.")
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
    stage.pending("a controller starts")
    may_ask = _is_watched()
    # A script that said nothing gets an answer all the same: a demo that hangs shows nothing.
    is_played = answer is None and (leave or not may_ask)
    said = Answer.HAPPENED if is_played else answer or Answer.ASK
    with controller.hosted(where, clock) as hosted:
        _begin(stage, where, hosted)
        person = Person(stage, answer=said, is_played=is_played, may_ask=may_ask)
        play = LostReceipt(where, clock, stage, person)
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
    stage.note("The controller stays up until you press Ctrl-C.")
    with suppress(KeyboardInterrupt):
        hosted.process.wait()


def _is_watched() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
