"""``onceward demo``: what becomes of a call whose worker is killed, on real processes and files.

    command         the two commands
    crash           the destination can be asked: the next worker asks it
    lost_receipt    it cannot: a person decides
    stage           what is shown, step by step
    place           the folder in which everything lies
    controller      a controller process on a vault in that folder
    worker          worker processes, one of which is killed
    child, tether   processes that never outlive the demo
    person          who decides where nobody can be asked
    words           phrases and commands that both demos show
    tools           what the workers run; the only file with a hook for the demo's sake

Nothing is staged but the moment: the processes, the signals and the files are real.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onceward_controller.cli.demo.command import demo_app

__all__ = ["demo_app"]


def __getattr__(name: str) -> object:
    """Load the commands when they are asked for: a child passes here too, and needs none."""
    if name != "demo_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from onceward_controller.cli.demo.command import demo_app as loaded

    return loaded
