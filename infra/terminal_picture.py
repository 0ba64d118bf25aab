# ruff: noqa: INP001 - a script, in no package
"""A picture of what a command really prints on a terminal of 80 columns.

    python infra/terminal_picture.py docs/images/demo-crash.svg onceward demo crash --exit

Runs the command on a pseudo-terminal and writes the screen as SVG. Lines that a countdown wrote
over are left out, as they are on the screen.
"""

import os
import pty
import re
import sys
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

COLUMNS = 80


def main() -> None:
    """Draw what the command line asks for: FILE COMMAND ..."""
    file, *command = sys.argv[1:]
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ {' '.join(command)}\n{_screen(_run(command))}"))
    # Rich would have the reader's browser fetch a font from elsewhere; the reader has one.
    page = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    page = page.replace("Fira Code, monospace", "ui-monospace, monospace")
    Path(file).write_text(
        console.export_svg(title=" ".join(command[:3]), code_format=page), encoding="utf-8"
    )


def _run(command: list[str]) -> str:
    seen = bytearray()

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 65_536)
        seen.extend(data)
        return data

    os.environ |= {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    status = pty.spawn(command, read)
    if status != 0:
        sys.exit(f"the command failed: status=`{status}`")
    return seen.decode()


def _screen(output: str) -> str:
    """Return what is left on the screen: of a line that was written over, its last writing."""
    lines = output.replace("\r\n", "\n").split("\n")
    return "\n".join(re.split(r"\r|\x1b\[2K", line)[-1] for line in lines).rstrip("\n")


if __name__ == "__main__":
    main()
