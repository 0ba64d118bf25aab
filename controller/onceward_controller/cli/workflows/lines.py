"""Many workflows, or many changes of one, a line each: what ``list`` and ``history`` print."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from onceward.wire.messages import Change, RowClass, WorkflowRow
from onceward_controller.cli.terminal import moments, sheet, words

ID_CHARACTERS = 11
"""``wf_`` and eight more: enough to be unique among a million, and to be typed."""
_NAME_CHARACTERS = 22


def draw_rows(rows: Sequence[WorkflowRow], *, now_ms: int) -> RenderableType:
    """Return a listing, in the order in which the controller gave it: the urgent first."""
    width = id_characters([row.id for row in rows])
    return sheet.table(
        ("id", "workflow", "what to do", "done", "when"),
        [
            (
                row.id[:width],
                sheet.short(row.label or row.key, _NAME_CHARACTERS),
                _state(row),
                f"{row.succeeded}/{row.operations}",
                _when(row, now_ms=now_ms),
            )
            for row in rows
        ],
        keep=2,
    )


def id_characters(ids: Sequence[str]) -> int:
    """Return how much of each id must be shown so that no two of these look alike."""
    width = ID_CHARACTERS
    while len({each[:width] for each in ids}) < len(set(ids)):
        width += 1
    return width


def draw_changes(changes: Sequence[Change]) -> RenderableType:
    """Return a history, the oldest first."""
    return sheet.table(
        ("rev", "time", "who", "what"),
        [
            (str(change.revision), moments.clock(change.time_ms), change.actor, _what(change))
            for change in changes
        ],
        keep=2,
    )


def _state(row: WorkflowRow) -> Text:
    style = sheet.ALARM if row.row_class is RowClass.ATTENTION else ""
    if row.row_class is RowClass.DONE:
        style = sheet.FAINT
    return sheet.text(words.of_row(row), style)


def _when(row: WorkflowRow, *, now_ms: int) -> str:
    when = moments.distance(row.at_ms, now_ms=now_ms)
    # Of a running workflow the row says when its lease must have been renewed or be over.
    return f"check {when}" if row.at_ms > now_ms else when


def _what(change: Change) -> Text:
    about = [change.operation, f"attempt {change.attempt}" if change.attempt else ""]
    said = " ".join([change.event, *filter(None, about)])
    return sheet.text(f"{said}: {change.detail}" if change.detail else said)
