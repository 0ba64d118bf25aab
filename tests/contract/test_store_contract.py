"""What every store promises, asked of each: see ``onceward_controller.vault.store``."""

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from onceward.system import SystemClock, ThreadSpawner
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.probe.race import side_by_side
from onceward_controller.vault.s3 import S3Store, connect
from onceward_controller.vault.s3.client import S3Settings, new_client
from onceward_controller.vault.sqlite import SqliteStore
from onceward_controller.vault.store import ConflictError, RefusedError, Store
from tests.support.moto_server import running_moto_server
from tests.support.stores import CountingStore, FaultyStore

CHARACTERS = "0123456789abcdefghijklmnopqrstuv"
RACERS = 8
ROUNDS = 20
LANES = 4
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def moto_settings() -> Iterator[S3Settings]:
    with running_moto_server() as settings:
        yield settings


@pytest.fixture(
    params=["memory", "counting", "faulty", "sqlite", "s3-moto", "s3-seaweedfs"],
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = _open(request.param, request, tmp_path)
    yield opened
    opened.close()


def _open(kind: str, request: pytest.FixtureRequest, folder: Path) -> Store:
    clock = SystemClock()
    match kind:
        case "memory":
            return MemoryStore(clock)
        case "counting":
            return CountingStore(MemoryStore(clock))
        case "faulty":
            return FaultyStore(MemoryStore(clock))
        case "sqlite":
            return SqliteStore(folder / "vault.db", clock)
        case "s3-moto":
            settings: S3Settings = request.getfixturevalue("moto_settings")
            prefix: str = request.getfixturevalue("s3_prefix")
            return S3Store(new_client(settings), settings.bucket, prefix)
        case "s3-seaweedfs":
            server = request.getfixturevalue("s3_server")
            return connect(server.settings(request.getfixturevalue("s3_prefix")))
        case _:
            raise AssertionError(kind)


def create_all(store: Store, names: list[str]) -> None:
    def create(first: int) -> None:
        for name in names[first::RACERS]:
            store.create(name, name.encode())

    side_by_side(ThreadSpawner(), [partial(create, first) for first in range(RACERS)])


def body(store: Store, name: str) -> bytes | None:
    stored = store.get(name)
    return None if stored is None else stored.body


# ------------------------------------------------------------------------------- create and get


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00", id="one-zero-byte"),
        pytest.param(bytes(range(256)) * 5, id="every-byte"),
        pytest.param(b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>", id="xml"),
        pytest.param(bytes(range(256)) * (MIB // 256), id="one-mebibyte"),
    ],
)
def test_what_was_created_is_read_back_byte_for_byte(store: Store, content: bytes) -> None:
    store.create("aa/w/one/1", content)

    assert body(store, "aa/w/one/1") == content


def test_a_name_that_nothing_has_reads_as_none(store: Store) -> None:
    store.create("aa/w/one/1", b"x")

    assert store.get("aa/w/one/2") is None
    assert store.get("bb/w/one/1") is None


def test_a_second_create_conflicts_and_the_first_content_stays(store: Store) -> None:
    store.create("aa/w/one/1", b"first")

    with pytest.raises(ConflictError):
        store.create("aa/w/one/1", b"second")

    assert body(store, "aa/w/one/1") == b"first"


def test_a_create_with_the_same_bytes_conflicts_as_well(store: Store) -> None:
    store.create("aa/w/one/1", b"same")

    with pytest.raises(ConflictError):
        store.create("aa/w/one/1", b"same")


def test_an_empty_object_takes_its_name(store: Store) -> None:
    store.create("aa/w/one/1", b"")

    with pytest.raises(ConflictError):
        store.create("aa/w/one/1", b"second")

    assert body(store, "aa/w/one/1") == b""


def test_a_name_of_a_thousand_bytes_is_a_name(store: Store) -> None:
    name = "i/" + "/".join(["0123456789abcdefghijklmnopqrstuv"] * 31)
    name = name[:991] + "/" + "v" * 8
    store.create(name, b"long")

    assert len(name) == 1000
    assert body(store, name) == b"long"
    assert store.list("i/").names == (name,)


def test_of_many_racing_creates_exactly_one_wins(store: Store) -> None:
    names = [f"aa/w/race/{number:04}" for number in range(ROUNDS)]
    results: dict[str, tuple[Counter[str], list[bytes]]] = {}

    # Several races side by side, each of all racers: on SeaweedFS a loser waits whole seconds.
    def hold(first: int) -> None:
        for name in names[first::LANES]:
            results[name] = _race(store, name)

    side_by_side(ThreadSpawner(), [partial(hold, first) for first in range(LANES)])

    for name in names:
        outcomes, winners = results[name]
        assert outcomes == {"won": 1, "ConflictError": RACERS - 1}
        assert body(store, name) == winners[0]


def _race(store: Store, name: str) -> tuple[Counter[str], list[bytes]]:
    gate = threading.Barrier(RACERS)
    outcomes: Counter[str] = Counter()
    winners: list[bytes] = []
    lock = threading.Lock()

    def run(racer: int) -> None:
        content = f"racer {racer}".encode()
        gate.wait()
        try:
            store.create(name, content)
            outcome = "won"
        except Exception as error:  # noqa: BLE001 - whatever it is, the table above names it
            outcome = type(error).__name__
        with lock:
            outcomes[outcome] += 1
            if outcome == "won":
                winners.append(content)

    side_by_side(ThreadSpawner(), [partial(run, racer) for racer in range(RACERS)])
    return outcomes, winners


# ---------------------------------------------------------------------------- put, blank, delete


def test_a_put_replaces_what_was_there(store: Store) -> None:
    store.put("i/row/1", b"old")
    store.put("i/row/1", b"new")

    assert body(store, "i/row/1") == b"new"


def test_a_put_takes_the_name(store: Store) -> None:
    store.put("i/row/1", b"row")

    with pytest.raises(ConflictError):
        store.create("i/row/1", b"created")

    assert body(store, "i/row/1") == b"row"


def test_a_blanked_object_is_empty_listed_and_its_name_taken(store: Store) -> None:
    store.create("aa/w/one/1", b"secret")
    store.blank("aa/w/one/1")

    assert body(store, "aa/w/one/1") == b""
    assert store.list("aa/").names == ("aa/w/one/1",)
    with pytest.raises(ConflictError):
        store.create("aa/w/one/1", b"again")


def test_blanking_twice_changes_nothing(store: Store) -> None:
    store.create("aa/w/one/1", b"secret")
    store.blank("aa/w/one/1")
    store.blank("aa/w/one/1")

    assert body(store, "aa/w/one/1") == b""


def test_blanking_a_free_name_takes_it(store: Store) -> None:
    store.blank("aa/w/one/1")

    with pytest.raises(ConflictError):
        store.create("aa/w/one/1", b"late")


def test_a_deleted_object_is_neither_read_nor_listed(store: Store) -> None:
    create_all(store, ["i/row/1", "i/row/2"])
    store.delete("i/row/1")

    assert store.get("i/row/1") is None
    assert store.list("i/").names == ("i/row/2",)


def test_deleting_what_is_gone_or_never_was_succeeds(store: Store) -> None:
    store.create("i/row/1", b"row")
    store.delete("i/row/1")

    store.delete("i/row/1")
    store.delete("i/row/never")


def test_a_deleted_name_is_free(store: Store) -> None:
    store.create("i/row/1", b"old")
    store.delete("i/row/1")
    store.create("i/row/1", b"new")

    assert body(store, "i/row/1") == b"new"


# -------------------------------------------------------------------------------------- listing


def test_an_empty_listing_is_an_empty_page(store: Store) -> None:
    page = store.list("aa/")

    assert page.names == ()
    assert not page.more


def test_names_come_in_byte_order_whatever_the_order_of_their_creation(store: Store) -> None:
    names = [f"n/{character}/0" for character in CHARACTERS]
    names += ["n/00/0", "n/0/v", "n/v0/0", "n/a/00", "n/a/0v"]
    create_all(store, names[::-1])

    assert store.list("n/").names == tuple(sorted(names))


def test_a_prefix_is_text_and_not_a_folder(store: Store) -> None:
    create_all(store, ["aa/w/1", "ab/w/1", "ab/w/2", "abc/w/1", "ac/w/1"])

    assert store.list("ab").names == ("ab/w/1", "ab/w/2", "abc/w/1")
    assert store.list("ab/").names == ("ab/w/1", "ab/w/2")
    assert store.list("ab/w/2").names == ("ab/w/2",)


def test_an_empty_prefix_lists_everything(store: Store) -> None:
    create_all(store, ["0/w/1", "aa/w/1", "v/w/1"])

    assert store.list("").names == ("0/w/1", "aa/w/1", "v/w/1")
    assert store.list("", after="0/w/1").names == ("aa/w/1", "v/w/1")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param("", ("n/2", "n/4"), id="the-start"),
        pytest.param("a/9", ("n/2", "n/4"), id="a-name-before-the-prefix"),
        pytest.param("n/2", ("n/4",), id="a-name-that-is-there"),
        pytest.param("n/3", ("n/4",), id="a-name-that-is-not-there"),
        pytest.param("n/4", (), id="the-last-name"),
        pytest.param("o/1", (), id="a-name-behind-the-prefix"),
    ],
)
def test_a_page_starts_strictly_behind_after(
    store: Store, after: str, expected: tuple[str, ...]
) -> None:
    create_all(store, ["a/9", "n/2", "n/4", "o/1"])

    assert store.list("n/", after=after).names == expected


def test_a_limit_of_one_gives_the_first_name_and_says_that_more_follow(store: Store) -> None:
    create_all(store, ["n/1", "n/2"])

    first = store.list("n/", limit=1)
    second = store.list("n/", after="n/1", limit=1)

    assert (first.names, first.more) == (("n/1",), True)
    assert (second.names, second.more) == (("n/2",), False)


def test_pages_together_are_the_whole_listing(store: Store) -> None:
    names = sorted(f"n/{character}/{digit}" for character in CHARACTERS for digit in "01")
    create_all(store, names)

    assert _walk(store, "n/", limit=7) == names


def test_a_page_holds_a_thousand_names_and_the_next_the_rest(store: Store) -> None:
    names = [f"n/{number:04}" for number in range(1003)]
    create_all(store, names)

    assert len(store.list("n/").names) == 1000
    assert _walk(store, "n/", limit=1000) == names


def _walk(store: Store, prefix: str, *, limit: int) -> list[str]:
    names: list[str] = []
    while True:
        page = store.list(prefix, after=names[-1] if names else "", limit=limit)
        assert len(page.names) <= limit
        names.extend(page.names)
        if not page.more:
            return names


# ----------------------------------------------------------------------------------- time and end


def test_every_answer_carries_the_time_at_which_it_was_given(store: Store) -> None:
    clock = SystemClock()
    before_ms = clock.wall_ms() // 1000 * 1000
    created_ms = store.create("aa/w/one/1", b"x")
    put_ms = store.put("i/row/1", b"x")
    stored = store.get("aa/w/one/1")
    listed_ms = store.list("").time_ms
    after_ms = clock.wall_ms()

    assert stored is not None
    for time_ms in (created_ms, put_ms, stored.time_ms, listed_ms):
        assert before_ms <= time_ms <= after_ms


def test_a_closed_store_refuses_and_may_be_closed_again(store: Store) -> None:
    store.create("aa/w/one/1", b"x")
    store.close()
    store.close()

    for call in (
        partial(store.create, "aa/w/one/2", b"x"),
        partial(store.get, "aa/w/one/1"),
        partial(store.list, ""),
        partial(store.put, "i/row/1", b"x"),
        partial(store.blank, "aa/w/one/1"),
        partial(store.delete, "aa/w/one/1"),
    ):
        with pytest.raises(RefusedError):
            call()
