"""A store in one SQLite file, for embedded use; many threads and processes may share it.

Writes go through group commit (``vault.sqlite.group_commit``) on one connection, flushed before
they are acknowledged (``synchronous=FULL``). Reads have connections of their own and never wait for
a write. Between processes SQLite's own lock decides: a transaction that cannot begin within
``busy_ms`` has done nothing and says so.

The log is folded into the file every 4 MiB by a FULL checkpoint of this one connection, never by
SQLite itself. A FULL checkpoint holds the write lock while it copies, so that no other process can
restart the log underneath it: SQLite before 3.51.3 can lose track of the log in that race.

The store's time is the host's clock, which is all that one machine has.

Source: https://www.sqlite.org/wal.html#walresetbug
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from onceward.ports import Clock
from onceward_controller.vault.sqlite import failure as sqlite_failure
from onceward_controller.vault.sqlite import file as sqlite_file
from onceward_controller.vault.sqlite.group_commit import GroupCommit
from onceward_controller.vault.sqlite.readers import Readers
from onceward_controller.vault.store import (
    PAGE_NAMES_MAX,
    ConflictError,
    Page,
    RefusedError,
    Stored,
    StoreError,
)

_CREATE = "INSERT INTO objects(name, body) VALUES(?, ?) ON CONFLICT DO NOTHING"
_PUT = (
    "INSERT INTO objects(name, body) VALUES(?, ?)"
    " ON CONFLICT(name) DO UPDATE SET body = excluded.body"
)
_DELETE = "DELETE FROM objects WHERE name = ?"
_GET = "SELECT body FROM objects WHERE name = ?"
_LIST = "SELECT name FROM objects WHERE name >= ? AND name < ? ORDER BY name LIMIT ?"
_LIST_AFTER = "SELECT name FROM objects WHERE name > ? AND name < ? ORDER BY name LIMIT ?"

_CHECKPOINT_BYTES = 4 * 1024 * 1024
_PAGES_BYTES_PER_WRITE = 2 * 4096
"""A write touches at least a page of the table and one of the index."""

_CHECKPOINT_BUSY_MS = 100
_ABOVE_EVERY_NAME = "\x7f"

_Write = tuple[str, str, bytes | None]
"""The statement, the name and, unless it deletes, the body."""


class SqliteStore:
    """One file in WAL mode: a writer that commits in groups, and readers beside it."""

    def __init__(self, path: Path, clock: Clock, *, busy_ms: int = 5_000) -> None:
        """Open the file, or make it when there is none.

        Args:
            path: Where the file lies; its folder must exist, on a local file system.
            clock: Where the store's own time comes from.
            busy_ms: How long a write waits for other processes, in milliseconds, 0 or more.

        Raises:
            RefusedError: The file is not a private store of this version, or cannot be made.
            UnavailableError: Other processes kept it locked.
        """
        sqlite_file.prepare(path)
        self._clock = clock
        self._busy_ms = busy_ms
        self._process = os.getpid()
        self._writer = sqlite_file.open_writer(path, busy_ms=busy_ms)
        self._writes: GroupCommit[_Write] = GroupCommit(self._commit, self._checkpoint_when_due)
        self._readers = Readers(path, busy_ms=busy_ms)
        self._log_bytes = 0

    def create(self, name: str, body: bytes) -> int:
        """See ``Store.create``."""
        self._write(_CREATE, name, body)
        return self._clock.wall_ms()

    def get(self, name: str) -> Stored | None:
        """See ``Store.get``."""
        rows = self._read(_GET, (name,))
        return Stored(rows[0][0], self._clock.wall_ms()) if rows else None

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        """See ``Store.list``."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else _ABOVE_EVERY_NAME
        if after < prefix:
            rows = self._read(_LIST, (prefix, end, limit + 1))
        else:
            rows = self._read(_LIST_AFTER, (after, end, limit + 1))
        names = tuple(name for (name,) in rows)
        return Page(names[:limit], self._clock.wall_ms(), more=len(names) > limit)

    def put(self, name: str, body: bytes) -> int:
        """See ``Store.put``."""
        self._write(_PUT, name, body)
        return self._clock.wall_ms()

    def blank(self, name: str) -> None:
        """See ``Store.blank``."""
        self._write(_PUT, name, b"")

    def delete(self, name: str) -> None:
        """See ``Store.delete``."""
        self._write(_DELETE, name, None)

    def close(self) -> None:
        """See ``Store.close``; writes that were accepted are finished first."""
        if os.getpid() != self._process:
            return
        self._writes.close()
        self._readers.close()
        self._writer.close()

    def _write(self, statement: str, name: str, body: bytes | None) -> None:
        self._refuse_after_fork()
        # What SQLite cannot bind must fail in its own caller, not in the transaction of all.
        if not name.isascii():
            raise ValueError("names are ASCII")
        self._writes.submit((statement, name, body))

    def _commit(self, batch: Sequence[_Write]) -> Sequence[StoreError | None]:
        writer = self._writer
        try:
            if len(batch) == 1:
                # A statement on its own is a transaction on its own: one call instead of three.
                return [self._apply(batch[0])]
            writer.execute("BEGIN IMMEDIATE")
            failures = [self._apply(write) for write in batch]
            writer.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            return [sqlite_failure.of_write(error) for _ in batch]
        except BaseException:
            self._roll_back()
            raise
        else:
            return failures

    def _roll_back(self) -> None:
        try:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        except sqlite3.Error:
            # Closed, every later write fails; open, it would join a transaction nobody commits.
            self._writer.close()

    def _apply(self, write: _Write) -> StoreError | None:
        statement, name, body = write
        if body is None:
            self._writer.execute(statement, (name,))
            body = b""
        elif self._writer.execute(statement, (name, body)).rowcount == 0:
            return ConflictError(f"the name is taken: name=`{name}`")
        self._log_bytes += len(body) + _PAGES_BYTES_PER_WRITE
        return None

    def _checkpoint_when_due(self) -> None:
        if self._log_bytes < _CHECKPOINT_BYTES:
            return
        self._log_bytes = 0
        # A checkpoint that fails or meets a long reader loses nothing: the log stays, and the next
        # one tries again.
        with suppress(sqlite3.Error):
            self._writer.execute(f"PRAGMA busy_timeout={_CHECKPOINT_BUSY_MS}")
            self._writer.execute("PRAGMA wal_checkpoint(FULL)")
        with suppress(sqlite3.Error):
            self._writer.execute(f"PRAGMA busy_timeout={self._busy_ms}")

    def _read(self, query: str, parameters: tuple[str | int, ...]) -> Sequence[tuple[Any, ...]]:
        self._refuse_after_fork()
        return self._readers.query(query, parameters)

    def _refuse_after_fork(self) -> None:
        if os.getpid() != self._process:
            raise RefusedError("the store was opened before a fork: open it in this process")
