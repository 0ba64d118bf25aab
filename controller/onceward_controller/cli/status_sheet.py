"""The one screen of ``onceward status``."""

from rich.console import Group, RenderableType

from onceward.wire import limits
from onceward.wire.messages import RowClass
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.standing import Status
from onceward_controller.cli.terminal import moments, sheet, words
from onceward_controller.cli.workflows import lines

RESOLUTION_MS = 2 * limits.SECOND_MS
"""The time of a reply has whole seconds, and the server that writes it sets it once a second."""


def draw(status: Status, invocation: Invocation, *, now_ms: int) -> Group:
    """Return the screen; what needs a person comes last, next to the prompt."""
    more = "" if status.is_counted else " or more"
    counted = [
        (f"{count}{more if count == limits.PAGE_ROWS_MAX else ''}", words.CLASSES[row_class])
        for row_class, count in status.counts.items()
        if count
    ]
    parts: list[RenderableType] = [
        sheet.facts(
            [
                ("controller", status.controller),
                ("store", status.store),
                ("clock", _clock(status.clock_apart_ms)),
                ("workspace", status.workspace),
            ]
        ),
        "",
        sheet.indented(sheet.facts(counted)) if counted else sheet.text("No workflows here."),
    ]
    waiting = status.counts[RowClass.ATTENTION]
    if not waiting:
        return Group(*parts, "", sheet.text("Nothing needs you.", sheet.HEADING))
    shown = status.needs_you
    parts += [
        "",
        sheet.text(_waiting(waiting), sheet.ALARM),
        lines.draw_rows(shown, now_ms=now_ms),
    ]
    width = lines.id_characters([row.id for row in shown])
    look = invocation.command("workflows", "show", shown[0].id[:width], in_workspace=True)
    parts += ["", sheet.text("Next, for the first of them:"), sheet.command([look])]
    if waiting > len(shown):
        every = invocation.command("workflows", "list", "--class", "attention", in_workspace=True)
        parts += [sheet.text("All of them:"), sheet.command([every])]
    return Group(*parts)


def _waiting(count: int) -> str:
    return "1 workflow needs you:" if count == 1 else f"{count} workflows need you:"


def _clock(apart_ms: int | None) -> str:
    if apart_ms is None:
        return "the controller does not tell"
    if abs(apart_ms) <= RESOLUTION_MS:
        return "as here"
    side = "ahead of" if apart_ms > 0 else "behind"
    apart = f"{moments.duration(abs(apart_ms))} {side} this machine's"
    return apart if abs(apart_ms) <= limits.CLOCK_ERROR_MS else f"WRONG here or there: {apart}"
