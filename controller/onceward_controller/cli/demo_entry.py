"""``onceward demo``, of which nothing is imported before it is asked for."""

import typer

PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Whatever follows ``demo`` is for the demos' own program to read, ``--help`` included."""


def demo(ctx: typer.Context) -> None:
    """See it work: a worker is killed, and nothing happens twice."""
    from onceward_controller.cli.demo import demo_app

    code = demo_app(ctx.args, prog_name="onceward demo", standalone_mode=False, obj=ctx.obj)
    raise typer.Exit(code if isinstance(code, int) else 0)
