"""Data on stdout, everything else on stderr.

On a terminal data is a table for a person; into a pipe or a file it is JSON for a program, one
document, in the shape that the HTTP API answers with. ``--json`` asks for JSON on a terminal too.
Whether colours are used is rich's decision alone: it looks at the terminal and at NO_COLOR.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from onceward_controller.cli.terminal.printable import printable, printable_json

Drawing = Callable[[], Any]
"""Makes what rich shows; called only when a person looks, since it imports rich."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where to write, and how much."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False

    def changed(self, *, as_json: bool, quiet: bool, verbose: bool) -> "Output":
        """Return this output with what was asked for in addition."""
        return replace(
            self,
            as_json=self.as_json or as_json,
            quiet=self.quiet or quiet,
            verbose=self.verbose or verbose,
        )

    @property
    def is_json(self) -> bool:
        """Whether data leaves as JSON."""
        return self.as_json or not sys.stdout.isatty()

    def data(self, value: object, drawing: Drawing) -> None:
        """Write what was asked for: ``value`` to a program, ``drawing`` to a person."""
        if self.is_json:
            text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
            self.text(printable_json(text))
        else:
            from onceward_controller.cli.terminal import sheet

            sheet.on_stdout(drawing())

    def text(self, line: str) -> None:
        """Write one line of data as it is."""
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def note(self, line: str) -> None:
        """Say something beside the data, unless quiet was asked for."""
        if not self.quiet:
            self.error(line)

    def detail(self, line: str) -> None:
        """Say something that only who asked for more wants to know."""
        if self.verbose:
            self.error(line)

    def error(self, line: str) -> None:
        """Say something that must be said."""
        sys.stderr.write("".join(f"{printable(each)}\n" for each in line.split("\n")))
        sys.stderr.flush()
