"""Which of the port's failures an error of SQLite is.

SQLite says what went wrong; the caller needs to know what is true. The one hard case is an error
of the disk while a transaction is committed: the frames of the write-ahead log may have reached
the disk although the flush failed, so that a recovery after a crash brings back what the caller was
told had failed. Writing the same object again settles it, because it overwrites those very frames.

A full disk is different: the log is written in order and the frame that commits comes last, so a
write that did not fit has not committed.

Source: https://www.sqlite.org/rescode.html, https://www.sqlite.org/fileformat2.html#walformat
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from onceward_controller.vault.store import (
    OutcomeUnknownError,
    RefusedError,
    StoreError,
    UnavailableError,
)

_PRIMARY = 0xFF
"""The low byte of a result code is its class; the rest says more."""

_LATER = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
"""Another connection held a lock longer than we were ready to wait."""

_REPAIRS = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_READONLY: "the file cannot be written: check its owner, modes and mount",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened: check its folder, owner and modes",
    sqlite3.SQLITE_PERM: "the file may not be opened: check its owner and modes",
    sqlite3.SQLITE_AUTH: "the file may not be used: check its owner and modes",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore it from a backup",
    sqlite3.SQLITE_NOTADB: "the file is not a database: check the path",
    sqlite3.SQLITE_TOOBIG: "the object is larger than SQLite allows",
    sqlite3.SQLITE_ERROR: "the file does not hold what this version expects: check the path",
}


def of_write(error: sqlite3.Error) -> StoreError:
    """Return what an error during a write or its commit means."""
    code = _primary_code(error)
    if code in _LATER:
        return UnavailableError(f"another process is writing: {_said(error)}")
    if code in _REPAIRS:
        return RefusedError(f"{_REPAIRS[code]}: {_said(error)}")
    return OutcomeUnknownError(f"the commit failed half-way: {_said(error)}")


def of_read(error: sqlite3.Error) -> StoreError:
    """Return what an error during a read or while opening means."""
    code = _primary_code(error)
    if code in _REPAIRS:
        return RefusedError(f"{_REPAIRS[code]}: {_said(error)}")
    return UnavailableError(f"the file could not be read: {_said(error)}")


@contextmanager
def reading() -> Iterator[None]:
    """Raise an error of SQLite inside the block as what it means for a read."""
    try:
        yield
    except sqlite3.Error as error:
        raise of_read(error) from error


def _primary_code(error: sqlite3.Error) -> int:
    # Errors that the Python module raises by itself carry no code.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)
    return code & _PRIMARY


def _said(error: sqlite3.Error) -> str:
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    return f"sqlite=`{name}` message=`{error}`"
