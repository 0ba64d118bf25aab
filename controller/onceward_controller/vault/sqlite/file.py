"""The file of a SQLite store: how it comes to be, who may read it, and how it is opened.

The file is made whole under a temporary name and then linked to its own, so that nobody ever sees
half a database and of several processes that start together one makes the file and all open it.
It belongs to the user who made it and nobody else may read it (0600); SQLite gives the same modes
to the ``-wal`` and ``-shm`` files beside it. A file that others could have read or replaced is
refused and left for a person, who alone knows whether that matters.

An existing file is looked at by name and never opened by this module: closing any descriptor of a
database drops the locks which SQLite holds on it in this process.

    objects   id    INTEGER PRIMARY KEY    rows in order of arrival: a create appends
              name  TEXT UNIQUE            a dense index: a listing reads names, never bodies
              body  BLOB                   a sealed object

Bodies in the tree of names (``WITHOUT ROWID``) were measured and are slower: a sealed revision is
too large for an index page of 4 KiB and pages split all over the tree. On tmpfs a create of 1.2 KiB
takes 13 us this way against 33 us, a page of 1,000 names 0.25 ms against 0.63 ms, and a row 1.4 KB
against 4.9 KB (2.1 KB with pages of 8 KiB, at 29 us); on a disk that flushes they are alike.

Source: https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
"""

import errno
import os
import sqlite3
import stat
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from onceward_controller.vault.sqlite import failure as sqlite_failure
from onceward_controller.vault.store import RefusedError

_APPLICATION_ID = 0x4F4E4357
"""``ONCW``: marks the file as ours, for us and for ``file(1)``."""

_SCHEMA_VERSION = 1

_CREATE = f"""
PRAGMA page_size=4096;
PRAGMA application_id={_APPLICATION_ID};
PRAGMA user_version={_SCHEMA_VERSION};
CREATE TABLE objects(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, body BLOB NOT NULL);
PRAGMA journal_mode=WAL;
"""

_FORBIDDEN_MODES = stat.S_IRWXG | stat.S_IRWXO


def prepare(path: Path) -> None:
    """Return once a private database of ours lies at ``path``, made now or before.

    Raises:
        RefusedError: What lies there is not ours alone, or nothing can be made there.
    """
    try:
        if not os.path.lexists(path):
            with sqlite_failure.reading():
                _make(path)
        for suffix in ("", "-wal", "-shm"):
            _refuse_what_others_can_touch(path.with_name(path.name + suffix))
    except OSError as error:
        message = f"the file cannot be made or looked at: path=`{path}` error=`{error.strerror}`"
        raise RefusedError(message) from error


def open_writer(path: Path, *, busy_ms: int) -> sqlite3.Connection:
    """Open the one connection of this process that writes; the caller serialises its use.

    Args:
        path: A file that ``prepare`` accepted.
        busy_ms: How long to wait for another process's transaction, in milliseconds.

    Raises:
        RefusedError: The file is not a store of this version.
        UnavailableError: Other processes kept it locked.
    """
    with sqlite_failure.reading():
        connection = _connect(path, busy_ms)
        try:
            connection.execute("PRAGMA synchronous=FULL")
            _refuse_what_is_not_ours(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(path: Path, *, busy_ms: int) -> sqlite3.Connection:
    """Open a connection that can only read; for one thread at a time.

    Raises:
        RefusedError: The file cannot be opened.
        UnavailableError: Other processes kept it locked.
    """
    with sqlite_failure.reading():
        connection = _connect(path, busy_ms)
        connection.execute("PRAGMA query_only=ON")
    return connection


def _connect(path: Path, busy_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=busy_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    # The store says itself when the log is folded into the file (see ``vault.sqlite.store``).
    connection.execute("PRAGMA wal_autocheckpoint=0")
    return connection


def _make(path: Path) -> None:
    descriptor, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    try:
        with closing(sqlite3.connect(made, isolation_level=None)) as connection:
            connection.executescript(_CREATE)
        try:
            os.link(made, path)
        except FileExistsError:
            return
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            message = f"the file system has no hard links: use a local one: path=`{path}`"
            raise RefusedError(message) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                Path(made + suffix).unlink()
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    # A power cut must not take the name of a file whose content was flushed.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_what_others_can_touch(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError(f"not a regular file: give its real path: path=`{path}`")
    if os.name == "nt":
        return
    if status.st_uid != os.geteuid():
        message = f"the file belongs to another user: path=`{path}` uid=`{status.st_uid}`"
        raise RefusedError(f"{message}: run as that user, or change its owner")
    if status.st_mode & _FORBIDDEN_MODES:
        modes = f"{stat.S_IMODE(status.st_mode):04o}"
        raise RefusedError(f"others may use the file: chmod 600 it: path=`{path}` modes=`{modes}`")


def _refuse_what_is_not_ours(connection: sqlite3.Connection, path: Path) -> None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id != _APPLICATION_ID:
        raise RefusedError(f"the file is another program's: check the path: path=`{path}`")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != _SCHEMA_VERSION:
        message = f"the file has another format: use the version that wrote it: format=`{version}`"
        raise RefusedError(f"{message} path=`{path}`")
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        message = "the file was switched to another journal: set PRAGMA journal_mode=WAL again"
        raise RefusedError(f"{message}: path=`{path}` mode=`{mode}`")
