"""How things look on a terminal: headings, tables, facts, commands to copy.

Text from elsewhere goes through ``text``, which makes it harmless; commands are never wrapped,
since a wrapped command cannot be copied.
"""

import json
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from onceward_controller.cli.terminal.printable import printable

VALUE_CHARACTERS_MAX = 600
INDENT = (0, 0, 0, 2)

ALARM = "bold red"
HEADING = "bold"
FAINT = "dim"


def text(content: str, style: str = "") -> Text:
    """Return harmless text that wraps at words."""
    return Text(printable(content), style=style)


def heading(words: str) -> Group:
    """Return the title of a section, after an empty line."""
    return Group("", Text(words, style=HEADING))


def below(*parts: RenderableType) -> Group:
    """Return the parts below each other."""
    return Group(*parts)


def indented(*parts: RenderableType) -> Padding:
    """Return the parts below each other, under a heading."""
    return Padding(Group(*parts), INDENT, expand=False)


def command(lines: Iterable[str]) -> Group:
    """Return a command as it is to be copied, whatever the width of the terminal."""
    return Group(*(_whole(f"    {line}") for line in lines))


def token(secret: str) -> Group:
    """Return a token on a line of its own, whole, so that it can be copied."""
    return Group("", Text("token, shown this once:", style=FAINT), _whole(secret))


def _whole(line: str) -> Text:
    return Text(printable(line), no_wrap=True, overflow="ignore")


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names and values side by side; rows without a value are left out."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=FAINT, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value:
            table.add_row(name, text(value))
    return table


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, keep: int = 1) -> Table:
    """Return a table without lines; the first ``keep`` columns are never wrapped."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=FAINT)
    for position, name in enumerate(columns):
        made.add_column(name, no_wrap=position < keep, overflow="fold")
    for row in rows:
        made.add_row(*(each if isinstance(each, Text) else text(each) for each in row))
    return made


def value(content: object) -> str:
    """Return a JSON value on one line, cut where it is too long for a screen."""
    written = json.dumps(content, ensure_ascii=False, sort_keys=True)
    if len(written) <= VALUE_CHARACTERS_MAX:
        return written
    left = len(written) - VALUE_CHARACTERS_MAX
    return f"{written[:VALUE_CHARACTERS_MAX]} ... {left:,} characters more, see --json"


def short(content: str, width: int) -> str:
    """Return ``content`` cut to ``width`` characters, three dots at its end where it was longer."""
    return content if len(content) <= width else f"{content[: width - 3]}..."


def on_stderr(drawing: RenderableType) -> None:
    """Show ``drawing`` beside the data, for a question that follows it."""
    _print(Console(stderr=True, highlight=False, markup=False, emoji=False), drawing)


def on_stdout(drawing: RenderableType) -> None:
    """Show ``drawing`` as the data that was asked for."""
    _print(Console(highlight=False, markup=False, emoji=False), drawing)


def _print(console: Console, drawing: RenderableType) -> None:
    # Everything but commands fits the terminal by itself; a command that was cut would be wrong.
    console.print(drawing, crop=False)
