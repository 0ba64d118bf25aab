"""The revision log: numbers without a gap, digests that chain, and nothing written twice."""

import pytest

from onceward.sealing import IntegrityError, Kind
from onceward_controller.vault import layout
from onceward_controller.vault.gather import Gather
from onceward_controller.vault.log import EMPTY, Desk, RevisionLog, SealKey, Tip
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import ConflictError
from tests.support.ports import InlineSpawner, ManualClock, SeededEntropy
from tests.support.stores import CountingStore

NAME = "aa/w/aalog"
KEY = SealKey(key=bytes(range(32)), key_id=1)


class Bench:
    """A log in a memory store, and the pieces that make another on the same store."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = CountingStore(MemoryStore(self.clock))
        self.log = self.opened()

    def opened(
        self, *, name: str = NAME, kind: Kind = Kind.WORKFLOW, vault: bytes = bytes(16)
    ) -> RevisionLog:
        desk = Desk(
            store=self.store,
            clock=self.clock,
            entropy=SeededEntropy(name),
            vault_id=vault,
            salt_key=bytes(32),
            gather=Gather(InlineSpawner(), width=1),
        )
        return RevisionLog(desk, name, kind)

    def grow(self, count: int, *, tip: Tip = EMPTY) -> Tip:
        for number in range(tip.revision + 1, tip.revision + count + 1):
            tip, _ = self.log.append(tip, f"body {number}".encode(), KEY)
        return tip

    def stored(self, revision: int) -> bytes:
        [body] = self.log.fetch([revision])
        return body


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_log_that_was_never_written_has_no_newest(bench: Bench) -> None:
    assert bench.log.newest() == 0


@pytest.mark.parametrize("count", [1, 2, 16, 17, 300])
def test_the_newest_is_found_by_one_listing(bench: Bench, count: int) -> None:
    bench.grow(count)
    bench.store.reset()

    assert bench.log.newest() == count
    assert dict(bench.store.calls) == {"list": 1}


def test_bodies_are_read_as_they_were_written(bench: Bench) -> None:
    bench.grow(5)

    for number in range(1, 6):
        assert bench.log.open(number, bench.stored(number), KEY) == f"body {number}".encode()


def test_an_append_is_one_create_and_tells_the_stores_time(bench: Bench) -> None:
    bench.store.reset()

    tip, time_ms = bench.log.append(EMPTY, b"first", KEY)

    assert tip.revision == 1
    assert time_ms == bench.clock.wall_ms()
    assert dict(bench.store.calls) == {"create": 1}


def test_who_comes_second_conflicts_and_the_first_stays(bench: Bench) -> None:
    tip = bench.grow(2)
    bench.log.append(tip, b"mine", KEY)

    with pytest.raises(ConflictError):
        bench.log.append(tip, b"yours", KEY)
    assert bench.log.open(3, bench.stored(3), KEY) == b"mine"


def test_a_chain_verifies_from_anywhere_to_its_tip(bench: Bench) -> None:
    tip = bench.grow(6)
    bodies = bench.log.fetch(range(1, 7))

    assert bench.log.verify(bodies) == tip
    for start in range(1, 6):
        since = bench.log.verify(bodies[:start])
        assert bench.log.verify(bodies[start:], since=since) == tip


@pytest.mark.parametrize(
    "order",
    [
        pytest.param([1, 3], id="gap"),
        pytest.param([1, 3, 2], id="out-of-order"),
        pytest.param([1, 1], id="twice"),
        pytest.param([2, 1], id="backwards"),
    ],
)
def test_revisions_that_do_not_follow_each_other_break_the_chain(
    bench: Bench, order: list[int]
) -> None:
    bench.grow(4)
    with pytest.raises(IntegrityError):
        bench.log.verify([bench.stored(number) for number in order])


def test_a_revision_of_another_history_breaks_the_chain(bench: Bench) -> None:
    # The same number, sealed by us, of a branch that never was: what a loser of a race had ready.
    tip = bench.grow(2)
    other = Bench()
    other.log = other.opened()
    first, _ = other.log.append(EMPTY, b"another beginning", KEY)
    second, _ = other.log.append(first, b"another second", KEY)
    other.log.append(second, b"another third", KEY)

    with pytest.raises(IntegrityError):
        bench.log.verify([other.stored(3)], since=tip)


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_missing_or_blanked_revision_is_damage(bench: Bench, missing: int) -> None:
    bench.grow(3)
    name = layout.revision_name(NAME, missing)
    bench.store.blank(name)
    with pytest.raises(IntegrityError):
        bench.log.fetch([1, 2, 3])
    bench.store.delete(name)
    with pytest.raises(IntegrityError):
        bench.log.fetch([1, 2, 3])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"name": "aa/w/aaother"}, id="name"),
        pytest.param({"kind": Kind.CREDENTIAL}, id="kind"),
        pytest.param({"vault": b"another vault..."}, id="vault"),
    ],
)
def test_a_revision_opens_in_its_own_place_alone(bench: Bench, other: dict[str, object]) -> None:
    bench.grow(1)
    elsewhere = bench.opened(**other)  # type: ignore[arg-type]  # a row of the table

    with pytest.raises(IntegrityError):
        elsewhere.open(1, bench.stored(1), KEY)


def test_a_revision_opens_under_its_own_number_and_key_alone(bench: Bench) -> None:
    bench.grow(2)

    with pytest.raises(IntegrityError):
        bench.log.open(2, bench.stored(1), KEY)
    with pytest.raises(IntegrityError):
        bench.log.open(1, bench.stored(1), SealKey(key=bytes(32), key_id=1))


def test_equal_bodies_are_sealed_to_different_bytes(bench: Bench) -> None:
    tip, _ = bench.log.append(EMPTY, b"same", KEY)
    bench.log.append(tip, b"same", KEY)

    assert bench.stored(1)[51:] != bench.stored(2)[51:]


# ------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize("revision", [1, 2, 15, 16, 255, 40_000, 16**12 - 1])
def test_a_name_tells_its_revision(revision: int) -> None:
    name = layout.revision_name(NAME, revision)

    assert layout.revision_of(NAME, name) == revision
    assert len(name) == len(NAME) + 13


def test_newer_revisions_are_listed_first() -> None:
    names = [layout.revision_name(NAME, revision) for revision in range(1, 3_000)]

    assert sorted(names) == names[::-1]


@pytest.mark.parametrize("revision", [0, -1, 16**12])
def test_what_is_no_revision_has_no_name(revision: int) -> None:
    with pytest.raises(ValueError, match="revision"):
        layout.revision_name(NAME, revision)


@pytest.mark.parametrize(
    "last",
    [
        "",
        "x",
        "fffffffffff",
        "fffffffffffff",
        "FFFFFFFFFFFE",
        "0xffffffffff",
        "-00000000001",
        "0000_0000_00",
        "fffffffffffe/x",
        "fffffffffffe\n",
        "٣" * 12,
    ],
)
def test_a_name_that_is_none_of_ours_is_damage(last: str) -> None:
    with pytest.raises(IntegrityError):
        layout.revision_of(NAME, f"{NAME}/{last}")
