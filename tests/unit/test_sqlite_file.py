"""The file of a SQLite store: made whole, private, and refused when it is not ours."""

import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from onceward.system import SystemClock
from onceward_controller.vault.sqlite import SqliteStore
from onceward_controller.vault.store import (
    ConflictError,
    RefusedError,
)

MIB = 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.db"


@contextmanager
def opened(path: Path, *, busy_ms: int = 5_000) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, SystemClock(), busy_ms=busy_ms)) as store:
        yield store


def foreign_database(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    path.chmod(0o600)


def test_nobody_else_can_read_the_file_or_what_lies_beside_it(path: Path) -> None:
    before = os.umask(0)
    try:
        with opened(path) as store:
            store.create("a/1", b"x")
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert modes == {"vault.db": 0o600, "vault.db-wal": 0o600, "vault.db-shm": 0o600}


def test_a_closed_store_leaves_one_file(path: Path) -> None:
    with opened(path) as store:
        store.create("a/1", b"x")
        store.get("a/1")

    assert [each.name for each in path.parent.iterdir()] == ["vault.db"]


def test_what_was_written_is_there_when_the_file_is_opened_again(path: Path) -> None:
    with opened(path) as store:
        store.create("a/1", b"x")

    with opened(path) as store:
        with pytest.raises(ConflictError):
            store.create("a/1", b"y")
        assert store.get("a/1") is not None


def _link(path: Path) -> None:
    target = path.with_name("elsewhere.db")
    with opened(target):
        pass
    path.symlink_to(target)


def _widen(path: Path, *, modes: int) -> None:
    with opened(path):
        pass
    path.chmod(modes)


def _plant_log(path: Path) -> None:
    with opened(path):
        pass
    path.with_name("vault.db-wal").symlink_to(path.with_name("target"))


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        pytest.param(_link, "not a regular file", id="a-symbolic-link"),
        pytest.param(Path.mkdir, "not a regular file", id="a-folder"),
        pytest.param(partial(_widen, modes=0o640), "chmod 600", id="readable-by-the-group"),
        pytest.param(partial(_widen, modes=0o602), "chmod 600", id="writable-by-all"),
        pytest.param(_plant_log, "not a regular file", id="a-planted-log"),
        pytest.param(
            partial(foreign_database, script="CREATE TABLE t(a)"),
            "another program's",
            id="another-programs-database",
        ),
        pytest.param(
            partial(
                foreign_database,
                script=f"PRAGMA application_id={0x4F4E4357}; PRAGMA user_version=2;",
            ),
            "another format",
            id="a-later-format",
        ),
        pytest.param(
            lambda path: (path.write_bytes(b"not a database" * 100), path.chmod(0o600)),
            "not a database",
            id="a-text",
        ),
    ],
)
def test_what_is_not_a_private_store_of_ours_is_refused(
    path: Path, prepare: Callable[[Path], object], said: str
) -> None:
    prepare(path)

    with pytest.raises(RefusedError, match=said):
        SqliteStore(path, SystemClock())


def test_a_file_that_was_switched_to_another_journal_is_refused(path: Path) -> None:
    with opened(path):
        pass
    foreign_database(path, "PRAGMA journal_mode=DELETE")

    with pytest.raises(RefusedError, match="journal_mode=WAL"):
        SqliteStore(path, SystemClock())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_file_is_refused(path: Path) -> None:
    with opened(path):
        pass
    os.chown(path, 65534, 65534)

    with pytest.raises(RefusedError, match="another user"):
        SqliteStore(path, SystemClock())


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be made"):
        SqliteStore(tmp_path / "missing" / "vault.db", SystemClock())


def test_whoever_loses_the_race_to_make_the_file_uses_the_winners(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def lose(made: str, name: Path) -> None:
        with monkeypatch.context() as honest:
            honest.setattr(os, "link", link)
            with opened(name) as winner:
                winner.create("a/1", b"winner")
        link(made, name)

    monkeypatch.setattr(os, "link", lose)
    with opened(path) as store:
        stored = store.get("a/1")

    assert stored is not None
    assert stored.body == b"winner"
    assert [each.name for each in path.parent.iterdir()] == ["vault.db"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param(errno.EPERM, "no hard links", id="a-file-system-without-links"),
        pytest.param(errno.EIO, "cannot be made", id="a-failing-disk"),
    ],
)
def test_a_file_that_cannot_be_made_leaves_nothing_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str
) -> None:
    def fail(made: str, name: Path) -> None:
        raise OSError(code, os.strerror(code), made, name)

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(RefusedError, match=said):
        SqliteStore(path, SystemClock())

    assert list(path.parent.iterdir()) == []


def test_the_log_is_folded_into_the_file_every_few_mebibytes(path: Path) -> None:
    with opened(path) as store:
        for number in range(24):
            store.create(f"a/{number:02}", bytes(MIB // 2))
        log_bytes = path.with_name("vault.db-wal").stat().st_size

    assert log_bytes < 6 * MIB


def test_a_reader_that_stands_in_the_way_of_folding_fails_no_create(path: Path) -> None:
    with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        store.create("a/first", b"x")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM objects").fetchone()
        for number in range(10):
            store.create(f"a/{number:02}", bytes(MIB // 2))

        assert len(store.list("a/").names) == 11
