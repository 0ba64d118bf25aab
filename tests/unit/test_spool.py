"""What a process must not lose, on a disk that others may look at and a machine that may die."""

import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from onceward.errors import SpoolError
from onceward.spool import Spool, SpooledReceipt
from onceward.wire.identifiers import LeaseToken, OperationName
from onceward.wire.receipts import Outcome, Receipt
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.scripted_client import ORIGIN
from tests.support.scripted_controller import WORKFLOW, operation_id

CANARY = "canary-7c2e"
OTHER = "http://127.0.0.1:2"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state" / "spool"


def opened(root: Path, *, seed: str = "spool", key: str | None = None) -> Spool:
    return Spool.open(root, clock=ManualClock(), entropy=SeededEntropy(seed), key=key)


def receipt(effect_id: str = CANARY, *, origin: str = ORIGIN) -> SpooledReceipt:
    return SpooledReceipt(
        origin,
        WORKFLOW,
        OperationName("upload"),
        1,
        LeaseToken("token"),
        Receipt(Outcome.SUCCEEDED, operation_id("upload"), effect_id, {"document": CANARY}),
    )


@pytest.fixture
def spool(root: Path) -> Iterator[Spool]:
    with closing(opened(root)) as spool:
        yield spool


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def test_a_kept_receipt_is_there_after_the_process(root: Path) -> None:
    with closing(opened(root)) as before:
        before.keep(receipt())

    with closing(opened(root, seed="later")) as after:
        assert [kept for _, kept in after.undelivered(ORIGIN)] == [receipt()]


def test_receipts_are_given_oldest_first(root: Path) -> None:
    clock = ManualClock()
    with closing(Spool.open(root, clock=clock, entropy=SeededEntropy())) as spool:
        for effect_id in ("c", "a", "b"):
            clock.pass_ms(1)
            spool.keep(receipt(effect_id))

        given = [kept.receipt.effect_id for _, kept in spool.undelivered(ORIGIN)]

    assert given == ["c", "a", "b"]


def test_a_receipt_of_another_controller_is_left_for_its_own(spool: Spool) -> None:
    spool.keep(receipt(origin=OTHER))

    assert spool.undelivered(ORIGIN) == []
    assert len(spool.undelivered(OTHER)) == 1


def test_a_delivered_receipt_is_gone(root: Path, spool: Spool) -> None:
    name = spool.keep(receipt())
    spool.delivered(name)

    assert spool.undelivered(ORIGIN) == []
    assert [path.name for path in files(root) if name in path.name] == []


def test_a_buried_receipt_is_a_dead_letter_and_stands_in_no_way(spool: Spool) -> None:
    spool.bury(spool.keep(receipt()))

    assert spool.undelivered(ORIGIN) == []
    assert spool.dead_letters() == [receipt()]


def test_nothing_that_was_kept_can_be_read_or_guessed_from_outside(
    root: Path, spool: Spool
) -> None:
    name = spool.keep(receipt())
    spool.set_aside(receipt())

    for path in files(root):
        assert CANARY.encode() not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for path in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert "upload" not in name


@pytest.mark.parametrize("damage", [b"", b"torn", None], ids=["empty", "torn", "flipped"])
def test_a_torn_file_is_set_aside_and_the_rest_is_delivered(
    root: Path, spool: Spool, damage: bytes | None
) -> None:
    torn = spool.keep(receipt("torn"))
    spool.keep(receipt("whole"))
    (path,) = [path for path in files(root) if path.name == torn]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content) if damage is None else damage)

    kept = [kept.receipt.effect_id for _, kept in spool.undelivered(ORIGIN)]

    assert kept == ["whole"]
    assert (root / "torn" / torn).exists()


def test_a_half_written_file_of_a_process_that_died_is_no_receipt(root: Path) -> None:
    with closing(opened(root)) as before:
        name = before.keep(receipt())
    (path,) = [path for path in files(root) if path.name == name]
    path.rename(path.with_name(f"{name}.part"))

    with closing(opened(root, seed="later")) as after:
        assert after.undelivered(ORIGIN) == []


def test_a_file_under_another_name_does_not_open(root: Path, spool: Spool) -> None:
    name = spool.keep(receipt())
    (path,) = [path for path in files(root) if path.name == name]
    path.rename(path.with_name("000000000000000-0000000000000000"))

    assert spool.undelivered(ORIGIN) == []


def test_the_key_is_made_once_and_kept_beside_the_files(root: Path) -> None:
    opened(root).close()
    key = (root / "key").read_bytes()
    opened(root, seed="later").close()

    assert len(key) == 32
    assert (root / "key").read_bytes() == key


def test_a_given_key_is_used_and_not_stored(root: Path) -> None:
    key = "ab" * 32
    with closing(opened(root, key=key)) as before:
        before.keep(receipt())

    assert not (root / "key").exists()
    with closing(opened(root, seed="later", key=key)) as after:
        assert len(after.undelivered(ORIGIN)) == 1


@pytest.mark.parametrize("key", ["", "ab", "zz" * 32])
def test_what_is_no_key_is_refused(root: Path, key: str) -> None:
    with pytest.raises(SpoolError, match="key has another form"):
        opened(root, key=key)


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_directory_that_others_can_enter_is_refused(root: Path, mode: int) -> None:
    root.mkdir(parents=True)
    root.chmod(mode)

    with pytest.raises(SpoolError, match="this user's alone"):
        opened(root)


def test_a_key_that_others_can_read_is_refused(root: Path) -> None:
    opened(root).close()
    (root / "key").chmod(0o640)

    with pytest.raises(SpoolError, match="this user's alone"):
        opened(root)


def test_a_symbolic_link_is_no_spool(root: Path, tmp_path: Path) -> None:
    root.parent.mkdir(parents=True)
    root.symlink_to(tmp_path)

    with pytest.raises(SpoolError, match="symbolic link"):
        opened(root)
