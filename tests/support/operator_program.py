"""The operator's program as a process of its own, in a folder of its own.

``run`` gives it pipes, as a script does; ``on_terminal`` gives it a terminal of 80 columns, as a
person does, and types the answers. Nothing of the user's own configuration is seen or touched.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

SECONDS_MAX = 60
_ROWS, _COLUMNS = 40, 80
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Ran:
    """What became of one run.

    Attributes:
        out: What came on stdout; on a terminal, everything that was shown.
        err: What came on stderr; nothing on a terminal.
    """

    code: int
    out: str
    err: str = ""

    @property
    def data(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        return msgspec.json.decode(self.out)

    @property
    def plain(self) -> str:
        """What was shown, without colours."""
        return _ESCAPE.sub("", self.out).replace("\r\n", "\n")


@dataclass(frozen=True)
class Program:
    """``onceward`` with a home of its own."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def telling(self, **variables: str) -> "Program":
        """Return the program with further environment variables."""
        return Program(self.home, {**self.variables, **variables})

    @property
    def folder(self) -> Path:
        """The folder that ``up`` uses when it is told none."""
        return self.home / "data" / "onceward"

    def run(self, *arguments: str, stdin: str | bytes = b"") -> Ran:
        sent = stdin.encode() if isinstance(stdin, str) else stdin
        ended = subprocess.run(
            self._command(arguments),
            env=self.environment,
            cwd=self.home,
            input=sent,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def on_terminal(self, *arguments: str, typed: str = "", interrupt_at: str = "") -> Ran:
        """Run on a terminal; ``typed`` is there to be read, Ctrl-C comes after ``interrupt_at``."""
        with self._started_on_terminal(arguments) as (process, master):
            if typed:
                os.write(master, typed.encode())
            shown = _read(master, until=interrupt_at)
            if interrupt_at:
                os.write(master, b"\x03")
                shown += _read(master)
            return Ran(process.wait(SECONDS_MAX), shown.decode())

    @contextlib.contextmanager
    def up(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Keep ``onceward up`` running on a free port for the length of the block."""
        command = self._command(("up", "--port", "0", *arguments))
        with subprocess.Popen(
            command,
            env=self.environment,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                assert process.stdout is not None
                for line in process.stdout:  # It has said all once the object is closed.
                    if line == b"}\n":
                        break
                else:
                    raise AssertionError(f"`up` ended before it served: {process.wait()}")
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                process.wait(SECONDS_MAX)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "onceward_controller", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("ONCEWARD_")
        }
        return {
            **kept,
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "TERM": "xterm-256color",
            "COLUMNS": str(_COLUMNS),
            **self.variables,
        }

    @contextlib.contextmanager
    def _started_on_terminal(
        self, arguments: tuple[str, ...]
    ) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        try:
            process = subprocess.Popen(
                self._command(arguments),
                env=self.environment,
                cwd=self.home,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
                preexec_fn=_take_terminal,  # noqa: PLW1509 - Ctrl-C reaches only a terminal's owner
            )
        finally:
            os.close(slave)
        try:
            with process:
                try:
                    yield process, master
                finally:
                    if process.poll() is None:
                        process.kill()
        finally:
            os.close(master)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read(master: int, until: str = "") -> bytes:
    """Return what is shown until the program ends, or has shown ``until``."""
    shown = b""
    while not until or until.encode() not in shown:
        ready, _, _ = select.select([master], [], [], SECONDS_MAX)
        if not ready:
            raise AssertionError(f"nothing more was shown: {shown!r}")
        try:
            piece = os.read(master, 65_536)
        except OSError:  # Linux says EIO once the other end is closed.
            break
        if not piece:
            break
        shown += piece
    return shown
