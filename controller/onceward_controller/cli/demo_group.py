"""``onceward demo``, of which nothing is imported before it is asked for."""

from typing import Any

import typer
from typer.core import TyperGroup


class _Lazy(TyperGroup):
    """Loads the demos when somebody names one, or asks for their help."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the demos."""
        return self._loaded().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one demo."""
        return self._loaded().get_command(ctx, cmd_name)

    def _loaded(self) -> Any:
        from typer.main import get_group

        from onceward_controller.cli.demo import demo_app as real

        return get_group(real)


demo_app = typer.Typer(
    cls=_Lazy,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="See it work: a worker is killed, a receipt is lost, and nothing happens twice.",
)


@demo_app.callback()
def _demo() -> None:
    pass
