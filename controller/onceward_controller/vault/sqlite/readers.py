"""Connections that read a SQLite store: lent to one thread at a time, kept while idle.

In WAL mode a reader neither waits for the writer nor holds it up, and each query sees everything
committed before it began.
"""

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onceward_controller.vault.sqlite import failure as sqlite_failure
from onceward_controller.vault.sqlite import file as sqlite_file
from onceward_controller.vault.store import RefusedError

_IDLE_MAX = 16


class Readers:
    """As many connections as there are threads reading at once."""

    def __init__(self, path: Path, *, busy_ms: int) -> None:
        """Prepare to read ``path``; connections are opened when they are needed.

        Args:
            path: A file that ``sqlite_file.prepare`` accepted.
            busy_ms: How long to wait while another process recovers the file, in milliseconds.
        """
        self._path = path
        self._busy_ms = busy_ms
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    def query(self, statement: str, parameters: tuple[str | int, ...]) -> Sequence[tuple[Any, ...]]:
        """Return every row that ``statement`` selects.

        Raises:
            UnavailableError: The file could not be read now.
            RefusedError: The file cannot be read until a person acts, or this was closed.
        """
        with sqlite_failure.reading():
            connection = self._borrow()
            try:
                rows = connection.execute(statement, parameters).fetchall()
            except BaseException:
                connection.close()
                raise
        self._give_back(connection)
        return rows

    def close(self) -> None:
        """Close what is idle now, and the rest when it is given back."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise RefusedError("the store was closed: open it again")
            if self._idle:
                return self._idle.pop()
        return sqlite_file.open_reader(self._path, busy_ms=self._busy_ms)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE_MAX:
                self._idle.append(connection)
                return
        connection.close()
