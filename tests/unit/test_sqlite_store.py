"""What a SQLite store promises beyond the port: a private file, many processes, crashes."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from onceward.system import SystemClock, ThreadSpawner
from onceward_controller.vault.probe.race import side_by_side
from onceward_controller.vault.sqlite import SqliteStore
from onceward_controller.vault.sqlite import failure as sqlite_failure
from onceward_controller.vault.sqlite import store as sqlite_store
from onceward_controller.vault.store import (
    ConflictError,
    OutcomeUnknownError,
    RefusedError,
    StoreError,
    UnavailableError,
)
from tests.support.sqlite_process import CRAMPED_BYTES, body_of

REPOSITORY = Path(__file__).parents[2]

MIB = 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.db"


@contextmanager
def opened(path: Path, *, busy_ms: int = 5_000) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, SystemClock(), busy_ms=busy_ms)) as store:
        yield store


@contextmanager
def process(verb: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.sqlite_process", verb, str(path)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def say(running: subprocess.Popen[str], text: str) -> None:
    assert running.stdin is not None
    running.stdin.write(text + "\n")
    running.stdin.flush()


def hear(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().strip()


def foreign_database(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    path.chmod(0o600)


# ------------------------------------------------------------------------------------- processes


def test_of_several_processes_that_race_for_a_name_exactly_one_wins(path: Path) -> None:
    names = [f"aa/w/race/{number}" for number in range(50)]
    with ExitStack() as stack:
        racers = [stack.enter_context(process("race", path)) for _ in range(4)]
        assert [hear(racer) for racer in racers] == ["ready"] * 4

        for name in names:
            for racer in racers:
                say(racer, name)
            answers = [hear(racer) for racer in racers]
            assert sorted(answers) == ["lost", "lost", "lost", "won"]
            winner = racers[answers.index("won")]
            with opened(path) as store:
                stored = store.get(name)
            assert stored is not None
            assert stored.body == str(winner.pid).encode()


def test_a_kill_in_the_middle_of_writes_loses_no_acknowledged_create(path: Path) -> None:
    with process("write", path) as writer:
        acknowledged = [hear(writer) for _ in range(400)]
        writer.kill()
        assert writer.stdout is not None
        acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]

    with opened(path) as store:
        bodies = {name: store.get(name) for name in acknowledged}
    for name, stored in bodies.items():
        assert stored is not None
        assert stored.body == body_of(name)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_opened_before_a_fork_is_refused_to_the_child(path: Path) -> None:
    with process("fork", path) as running:
        assert [hear(running) for _ in range(3)] == [
            "RefusedError",
            "RefusedError",
            "parent wrote",
        ]


def test_a_write_that_waits_too_long_for_another_process_did_nothing(path: Path) -> None:
    with (
        opened(path, busy_ms=20) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        store.create("a/1", b"x")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError):
            store.create("a/2", b"x")
        seen_meanwhile = store.list("a/").names
        other.execute("ROLLBACK")

        assert seen_meanwhile == ("a/1",)
        assert store.get("a/2") is None
        store.create("a/2", b"x")


def test_a_conflict_in_a_batch_fails_its_own_caller_alone(path: Path) -> None:
    outcomes: dict[str, str] = {}

    def create(store: SqliteStore, name: str) -> None:
        try:
            store.create(name, b"new")
            outcomes[name] = "won"
        except StoreError as error:
            outcomes[name] = type(error).__name__

    with (
        opened(path) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        store.create("a/taken", b"old")
        # The first writer waits for the lock of another connection, and the rest gather behind it.
        other.execute("BEGIN IMMEDIATE")
        spawner = ThreadSpawner()
        names = ["a/first", "a/1", "a/taken", "a/2"]
        tasks = [spawner.spawn("writer", partial(create, store, name)) for name in names]
        while store._writes.waiting < len(names) - 1:
            os.sched_yield()
        other.execute("ROLLBACK")
        for task in tasks:
            assert task.join()

        assert outcomes == {
            "a/first": "won",
            "a/1": "won",
            "a/taken": "ConflictError",
            "a/2": "won",
        }
        stored = store.get("a/taken")
        assert stored is not None
        assert stored.body == b"old"


def test_readers_and_writers_on_many_threads_see_every_acknowledged_write(path: Path) -> None:
    def work(store: SqliteStore, thread: int) -> None:
        for number in range(50):
            name = f"a/{thread}/{number:02}"
            store.create(name, name.encode())
            stored = store.get(name)
            assert stored is not None
            assert stored.body == name.encode()
            assert store.list(f"a/{thread}/", limit=1).names == (f"a/{thread}/00",)

    with opened(path) as store:
        side_by_side(ThreadSpawner(), [partial(work, store, thread) for thread in range(24)])
        assert len(store.list("a/", limit=1000).names) == 1000
        assert len(store.list("a/", after="a/20").names) + 1000 > 1200


# --------------------------------------------------------------------------------------- failures


def test_a_disk_that_takes_no_more_leaves_an_outcome_that_writing_again_settles(path: Path) -> None:
    with process("cramp", path) as cramped:
        say(cramped, str(2 * MIB))
        assert cramped.stdout is not None
        *acknowledged, last = [line.strip() for line in cramped.stdout]
    failure, name = last.split()

    assert failure == OutcomeUnknownError.__name__
    assert len(acknowledged) > 10
    with opened(path) as store:
        assert all(store.get(each) is not None for each in acknowledged)
        content = name.encode().ljust(CRAMPED_BYTES, b".")
        with suppress(ConflictError):
            store.create(name, content)
        stored = store.get(name)
    assert stored is not None
    assert stored.body == content


def test_a_file_whose_table_is_gone_is_refused_and_leaves_no_transaction_open(path: Path) -> None:
    with opened(path) as store:
        store.create("a/1", b"x")
        foreign_database(path, "DROP TABLE objects")

        with pytest.raises(RefusedError):
            store.get("a/1")
        with pytest.raises(RefusedError):
            store.create("a/2", b"x")
        batch = [(sqlite_store._CREATE, name, b"x") for name in ("a/3", "a/4")]
        failures = store._commit(batch)
        assert [type(failure) for failure in failures] == [RefusedError, RefusedError]
        assert not store._writer.in_transaction


def test_after_a_transaction_that_cannot_be_rolled_back_no_write_is_acknowledged(
    path: Path,
) -> None:
    def forbid_rollback(action: int, argument: str | None, *_: str | None) -> int:
        is_rollback = action == sqlite3.SQLITE_TRANSACTION and argument == "ROLLBACK"
        return sqlite3.SQLITE_DENY if is_rollback else sqlite3.SQLITE_OK

    with opened(path) as store:
        store.create("a/1", b"x")
        store._writer.set_authorizer(forbid_rollback)
        store._commit([(sqlite_store._CREATE, "a/2", b"x"), ("no statement", "a/3", b"x")])

        with pytest.raises(StoreError):
            store.create("a/4", b"x")
        assert store.list("a/").names == ("a/1",)


@pytest.mark.parametrize(
    ("code", "of_write", "of_read"),
    [
        pytest.param(sqlite3.SQLITE_BUSY, UnavailableError, UnavailableError, id="busy"),
        pytest.param(
            sqlite3.SQLITE_BUSY_RECOVERY, UnavailableError, UnavailableError, id="busy-recovery"
        ),
        pytest.param(sqlite3.SQLITE_PROTOCOL, UnavailableError, UnavailableError, id="protocol"),
        pytest.param(sqlite3.SQLITE_FULL, RefusedError, RefusedError, id="full"),
        pytest.param(sqlite3.SQLITE_READONLY, RefusedError, RefusedError, id="readonly"),
        pytest.param(
            sqlite3.SQLITE_READONLY_DBMOVED, RefusedError, RefusedError, id="readonly-dbmoved"
        ),
        pytest.param(sqlite3.SQLITE_CANTOPEN, RefusedError, RefusedError, id="cantopen"),
        pytest.param(sqlite3.SQLITE_CORRUPT, RefusedError, RefusedError, id="corrupt"),
        pytest.param(sqlite3.SQLITE_NOTADB, RefusedError, RefusedError, id="notadb"),
        pytest.param(sqlite3.SQLITE_IOERR, OutcomeUnknownError, UnavailableError, id="ioerr"),
        pytest.param(
            sqlite3.SQLITE_IOERR_FSYNC, OutcomeUnknownError, UnavailableError, id="ioerr-fsync"
        ),
        pytest.param(sqlite3.SQLITE_NOMEM, OutcomeUnknownError, UnavailableError, id="nomem"),
        pytest.param(None, OutcomeUnknownError, UnavailableError, id="an-error-without-a-code"),
    ],
)
def test_an_error_of_sqlite_says_what_is_true(
    code: int | None, of_write: type[StoreError], of_read: type[StoreError]
) -> None:
    error = sqlite3.OperationalError("said so")
    if code is not None:
        error.sqlite_errorcode = code

    assert type(sqlite_failure.of_write(error)) is of_write
    assert type(sqlite_failure.of_read(error)) is of_read


def test_a_name_that_is_not_ascii_fails_before_it_can_join_others(path: Path) -> None:
    with opened(path) as store, pytest.raises(ValueError, match="ASCII"):
        store.create("a/\ud800", b"x")
