"""Small phrases that both demos use."""

import shlex
import shutil
import sys
from pathlib import Path

from onceward.wire.messages import WorkflowView
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.invocation import Invocation

ID_CHARACTERS = 11
"""Of a workflow's id, in a command: enough to find it by, and short enough for a line."""
DIGITS = 16
"""Of a SHA-256, where 64 would not be read."""


def counted(number: int, noun: str) -> str:
    """Return ``1 file``, ``2 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def near(path: Path) -> str:
    """Return ``path`` as one would type it from here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) and path != here else str(path)


def invocation(place: Place) -> Invocation:
    """Return the options under which the operator's commands reach this demo's vault.

    The vault and not the controller's address: so they work while it runs, and after it has ended.
    """
    return Invocation(vault=Path(near(place.vault)))


def show_command(place: Place, view: WorkflowView) -> str:
    """Return the command that shows the workflow, to be pasted where the demo was started."""
    command = invocation(place).command("workflows", "show", view.id[:ID_CHARACTERS])
    return command.replace("onceward", _program(), 1)


def _program() -> str:
    """Return what to type for ``onceward``: what started this, unless the PATH has it."""
    started = Path(sys.argv[0])
    if started.name != "onceward":
        return shlex.join([sys.executable, "-m", "onceward_controller"])
    found = shutil.which("onceward")
    is_on_path = found is not None and Path(found).resolve() == started.resolve()
    return "onceward" if is_on_path else shlex.quote(near(started))
