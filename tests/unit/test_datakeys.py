"""Data keys: random, one for each workflow, made once whoever asks."""

import pytest

from onceward.sealing import IntegrityError
from onceward_controller.vault import layout
from onceward_controller.vault.gather import Gather
from onceward_controller.vault.keys.datakeys import KEY_BYTES, DataKeys
from onceward_controller.vault.log import Desk
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import OutcomeUnknownError, UnavailableError
from tests.support.ports import InlineSpawner, ManualClock, SeededEntropy
from tests.support.stores import CountingStore, FaultyStore

NAME = "aa/k/aakey"
WRAPPING = {1: bytes(range(32)), 2: bytes(range(1, 33))}


class Bench:
    """A store that can fail, counts, and is shared by several who make keys."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.entropy = SeededEntropy()
        self.memory = MemoryStore(self.clock)
        self.faulty = FaultyStore(self.memory)
        self.counted = CountingStore(self.faulty)
        self.keys = self.holder()

    def holder(self, *, primary: int = 1, wrapping: dict[int, bytes] | None = None) -> DataKeys:
        desk = Desk(
            store=self.counted,
            clock=self.clock,
            entropy=self.entropy,
            vault_id=bytes(16),
            salt_key=bytes(32),
            gather=Gather(InlineSpawner(), width=1),
        )
        return DataKeys(desk, WRAPPING if wrapping is None else wrapping, primary)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_key_that_nobody_made_is_none(bench: Bench) -> None:
    assert bench.keys.read(NAME) is None


def test_a_key_is_made_with_one_create_and_read_back(bench: Bench) -> None:
    key, is_new = bench.keys.make(NAME)

    assert is_new
    assert dict(bench.counted.calls) == {"create": 1}
    assert len(key.key) == KEY_BYTES
    assert bench.holder().read(NAME) == key


def test_who_makes_it_second_gets_the_first(bench: Bench) -> None:
    key, _ = bench.keys.make(NAME)

    assert bench.holder().make(NAME) == (key, False)


def test_keys_of_different_names_differ(bench: Bench) -> None:
    assert bench.keys.make(NAME)[0] != bench.keys.make("bb/k/bbkey")[0]


@pytest.mark.parametrize("after_effect", [False, True])
def test_a_key_whose_reply_was_lost_is_made_once_and_is_ours(
    bench: Bench, after_effect: bool
) -> None:
    bench.faulty.fail("create", OutcomeUnknownError("lost"), after_effect=after_effect)

    key, is_new = bench.keys.make(NAME)

    assert is_new
    assert bench.holder().read(NAME) == key


def test_a_key_that_another_made_behind_a_lost_reply_is_anothers(bench: Bench) -> None:
    key, _ = bench.holder().make(NAME)
    bench.faulty.fail("create", OutcomeUnknownError("lost"), after_effect=False)

    assert bench.keys.make(NAME) == (key, False)


def test_a_key_opens_under_whichever_listed_key_sealed_it(bench: Bench) -> None:
    old, _ = bench.holder(primary=1).make(NAME)
    new, _ = bench.holder(primary=2).make("bb/k/bbkey")

    for primary in WRAPPING:
        assert bench.holder(primary=primary).read(NAME) == old
        assert bench.holder(primary=primary).read("bb/k/bbkey") == new


def test_a_key_whose_wrapping_key_is_gone_is_damage_and_nothing_else(bench: Bench) -> None:
    bench.holder(primary=2).make(NAME)

    with pytest.raises(IntegrityError):
        bench.holder(wrapping={1: WRAPPING[1]}).read(NAME)


def test_a_key_under_another_name_is_damage(bench: Bench) -> None:
    bench.keys.make(NAME)
    bench.keys.make("bb/k/bbkey")
    stored = bench.memory.get(layout.revision_name(NAME, 1))
    assert stored is not None
    bench.memory.put(layout.revision_name("bb/k/bbkey", 1), stored.body)

    with pytest.raises(IntegrityError):
        bench.keys.read("bb/k/bbkey")


@pytest.mark.parametrize("verb", ["list", "get"])
def test_an_outage_is_told_as_an_outage(bench: Bench, verb: str) -> None:
    bench.keys.make(NAME)
    bench.faulty.fail(verb, UnavailableError("down"), after_effect=False)  # type: ignore[arg-type]  # a row of the table

    with pytest.raises(UnavailableError):
        bench.keys.read(NAME)


def test_a_key_is_nowhere_in_the_store(bench: Bench) -> None:
    key, _ = bench.keys.make(NAME)

    stored = bench.memory.get(layout.revision_name(NAME, 1))
    assert stored is not None
    assert key.key not in stored.body
