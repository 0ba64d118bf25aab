"""What a process must not lose, on a disk that others may look at and a machine that may die."""

import stat
from contextlib import closing
from pathlib import Path

import pytest

from onceward.errors import SpoolError
from onceward.spool import Spool
from tests.support.ports import ManualClock
from tests.support.scripted_client import ORIGIN
from tests.support.spools import CANARY, opened, spooled

OTHER = "http://127.0.0.1:2"


def files(spool_path: Path) -> list[Path]:
    return [path for path in spool_path.rglob("*") if path.is_file()]


def test_a_kept_receipt_is_there_after_the_process(spool_path: Path) -> None:
    with closing(opened(spool_path)) as before:
        before.keep(spooled())

    with closing(opened(spool_path, seed="later")) as after:
        assert [kept for _, kept in after.undelivered(ORIGIN)] == [spooled()]


def test_receipts_are_given_oldest_first(spool_path: Path) -> None:
    clock = ManualClock()
    with closing(opened(spool_path, clock)) as spool:
        for effect_id in ("c", "a", "b"):
            clock.pass_ms(1)
            spool.keep(spooled(effect_id))

        given = [kept.receipt.effect_id for _, kept in spool.undelivered(ORIGIN)]

    assert given == ["c", "a", "b"]


def test_a_receipt_of_another_controller_is_left_for_its_own(spool: Spool) -> None:
    spool.keep(spooled(origin=OTHER))

    assert spool.undelivered(ORIGIN) == []
    assert len(spool.undelivered(OTHER)) == 1


def test_a_delivered_receipt_is_gone(spool_path: Path, spool: Spool) -> None:
    name = spool.keep(spooled())
    spool.delivered(name)

    assert spool.undelivered(ORIGIN) == []
    assert [path.name for path in files(spool_path) if name in path.name] == []


def test_a_buried_receipt_is_a_dead_letter_and_stands_in_no_way(spool: Spool) -> None:
    spool.bury(spool.keep(spooled()))

    assert spool.undelivered(ORIGIN) == []
    assert spool.dead_letters() == [spooled()]


def test_nothing_that_was_kept_can_be_read_or_guessed_from_outside(
    spool_path: Path, spool: Spool
) -> None:
    name = spool.keep(spooled())
    spool.set_aside(spooled())

    for path in files(spool_path):
        assert CANARY.encode() not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for path in [spool_path, *(path for path in spool_path.rglob("*") if path.is_dir())]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert "upload" not in name


@pytest.mark.parametrize("damage", [b"", b"torn", None], ids=["empty", "torn", "flipped"])
def test_a_torn_file_is_set_aside_and_the_rest_is_delivered(
    spool_path: Path, spool: Spool, damage: bytes | None
) -> None:
    torn = spool.keep(spooled("torn"))
    spool.keep(spooled("whole"))
    (path,) = [path for path in files(spool_path) if path.name == torn]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content) if damage is None else damage)

    kept = [kept.receipt.effect_id for _, kept in spool.undelivered(ORIGIN)]

    assert kept == ["whole"]
    assert (spool_path / "torn" / torn).exists()


def test_a_half_written_file_of_a_process_that_died_is_no_receipt(spool_path: Path) -> None:
    with closing(opened(spool_path)) as before:
        name = before.keep(spooled())
    (path,) = [path for path in files(spool_path) if path.name == name]
    path.rename(path.with_name(f"{name}.part"))

    with closing(opened(spool_path, seed="later")) as after:
        assert after.undelivered(ORIGIN) == []


def test_a_file_under_another_name_does_not_open(spool_path: Path, spool: Spool) -> None:
    name = spool.keep(spooled())
    (path,) = [path for path in files(spool_path) if path.name == name]
    path.rename(path.with_name("000000000000000-0000000000000000"))

    assert spool.undelivered(ORIGIN) == []


def test_the_key_is_made_once_and_kept_beside_the_files(spool_path: Path) -> None:
    opened(spool_path).close()
    key = (spool_path / "key").read_bytes()
    opened(spool_path, seed="later").close()

    assert len(key) == 32
    assert (spool_path / "key").read_bytes() == key


def test_a_given_key_is_used_and_not_stored(spool_path: Path) -> None:
    key = "ab" * 32
    with closing(opened(spool_path, key=key)) as before:
        before.keep(spooled())

    assert not (spool_path / "key").exists()
    with closing(opened(spool_path, seed="later", key=key)) as after:
        assert len(after.undelivered(ORIGIN)) == 1


@pytest.mark.parametrize(
    ("made_with", "opened_with"),
    [
        pytest.param(None, "ab" * 32, id="own-then-given"),
        pytest.param("cd" * 32, None, id="given-then-own"),
        pytest.param("cd" * 32, "ab" * 32, id="given-then-another"),
    ],
)
@pytest.mark.parametrize("has_check", [True, False], ids=["checked", "made-before-checks"])
def test_another_key_is_refused_and_nothing_is_touched(
    spool_path: Path, made_with: str | None, opened_with: str | None, *, has_check: bool
) -> None:
    with closing(opened(spool_path, key=made_with)) as before:
        before.keep(spooled())
    if not has_check:
        (spool_path / "check").unlink()
    receipts = list(spool_path.glob("lanes/*/receipts/*"))

    with pytest.raises(SpoolError, match="ONCEWARD_SPOOL_KEY"):
        opened(spool_path, seed="other", key=opened_with)

    assert list(spool_path.glob("lanes/*/receipts/*")) == receipts
    with closing(opened(spool_path, seed="later", key=made_with)) as after:
        assert len(after.undelivered(ORIGIN)) == 1


def test_a_spool_made_before_checks_is_given_one_though_a_file_in_it_is_torn(
    spool_path: Path,
) -> None:
    with closing(opened(spool_path)) as before:
        torn = before.keep(spooled("torn"))
        before.keep(spooled("whole"))
    next(spool_path.rglob(torn)).write_bytes(b"torn")
    (spool_path / "check").unlink()

    with closing(opened(spool_path, seed="later")) as after:
        assert len(after.undelivered(ORIGIN)) == 1
    assert (spool_path / "check").exists()


def test_an_empty_spool_keeps_to_the_key_that_it_was_made_with(spool_path: Path) -> None:
    opened(spool_path, key="ab" * 32).close()

    with pytest.raises(SpoolError, match="another key"):
        opened(spool_path, seed="later")

    assert not (spool_path / "key").exists()


@pytest.mark.parametrize("key", ["", "ab", "zz" * 32])
def test_what_is_no_key_is_refused(spool_path: Path, key: str) -> None:
    with pytest.raises(SpoolError, match="key has another form"):
        opened(spool_path, key=key)


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_directory_that_others_can_enter_is_refused(spool_path: Path, mode: int) -> None:
    spool_path.mkdir(parents=True)
    spool_path.chmod(mode)

    with pytest.raises(SpoolError, match="this user's alone"):
        opened(spool_path)


def test_a_key_that_others_can_read_is_refused(spool_path: Path) -> None:
    opened(spool_path).close()
    (spool_path / "key").chmod(0o640)

    with pytest.raises(SpoolError, match="this user's alone"):
        opened(spool_path)


def test_a_symbolic_link_is_no_spool(spool_path: Path, tmp_path: Path) -> None:
    spool_path.parent.mkdir(parents=True)
    spool_path.symlink_to(tmp_path)

    with pytest.raises(SpoolError, match="symbolic link"):
        opened(spool_path)
