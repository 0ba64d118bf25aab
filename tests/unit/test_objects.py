"""Payload and page objects: named by the digest of their sealed bytes."""

from collections.abc import Callable

import pytest

from onceward.sealing import IntegrityError, Kind
from onceward_controller.vault import layout
from onceward_controller.vault.gather import Gather
from onceward_controller.vault.log import Desk, SealKey
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.objects import Objects
from onceward_controller.vault.store import OutcomeUnknownError, RefusedError
from tests.support.ports import InlineSpawner, ManualClock, SeededEntropy
from tests.support.stores import FaultyStore

KEY = SealKey(key=bytes(range(32)), key_id=1)
CONTENT = b"what was too large"


class Bench:
    """The objects of one workflow in a store that can fail."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.entropy = SeededEntropy()
        self.memory = MemoryStore(self.clock)
        self.faulty = FaultyStore(self.memory)

    def of(self, owner: str) -> Objects:
        desk = Desk(
            store=self.faulty,
            clock=self.clock,
            entropy=self.entropy,
            vault_id=bytes(16),
            salt_key=bytes(32),
            gather=Gather(InlineSpawner(), width=1),
        )
        return Objects(desk, owner)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("content", [b"", b"x", bytes(100_000)], ids=len)
def test_content_comes_back_under_its_digest(bench: Bench, content: bytes) -> None:
    objects = bench.of("aa/w/aa")
    digest = objects.write(Kind.PAYLOAD, content, KEY)

    assert objects.read(Kind.PAYLOAD, digest, KEY) == content
    assert bench.memory.list("").names == (f"{digest[:2]}/p/{digest}",)


def test_nothing_under_a_digest_is_none(bench: Bench) -> None:
    assert bench.of("aa/w/aa").read(Kind.PAYLOAD, "0" * 64, KEY) is None


def test_equal_contents_never_share_a_name(bench: Bench) -> None:
    objects = bench.of("aa/w/aa")

    assert objects.write(Kind.PAYLOAD, CONTENT, KEY) != objects.write(Kind.PAYLOAD, CONTENT, KEY)


def test_an_object_opens_for_its_own_workflow_kind_and_key_alone(bench: Bench) -> None:
    objects = bench.of("aa/w/aa")
    digest = objects.write(Kind.PAYLOAD, CONTENT, KEY)

    assert bench.of("bb/w/bb").read(Kind.PAYLOAD, digest, KEY) is None
    assert objects.read(Kind.PAGE, digest, KEY) is None
    assert objects.read(Kind.PAYLOAD, digest, SealKey(key=bytes(32), key_id=1)) is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body[:-1], id="short"),
        pytest.param(lambda body: body + b"\0", id="long"),
        pytest.param(lambda body: b"", id="blanked"),
        pytest.param(lambda body: bytes([body[0] ^ 1]) + body[1:], id="flipped"),
    ],
)
def test_changed_bytes_are_damage(bench: Bench, change: Callable[[bytes], bytes]) -> None:
    objects = bench.of("aa/w/aa")
    digest = objects.write(Kind.PAYLOAD, CONTENT, KEY)
    name = layout.object_name(digest)
    found = bench.memory.get(name)
    assert found is not None
    bench.memory.put(name, change(found.body))

    with pytest.raises(IntegrityError):
        objects.read(Kind.PAYLOAD, digest, KEY)


def test_a_write_whose_reply_was_lost_is_stored_once(bench: Bench) -> None:
    for _ in range(3):
        bench.faulty.fail("create", OutcomeUnknownError("lost"), after_effect=True)

    digest = bench.of("aa/w/aa").write(Kind.PAYLOAD, CONTENT, KEY)

    assert bench.memory.list("").names == (layout.object_name(digest),)


def test_a_write_that_is_refused_names_nothing(bench: Bench) -> None:
    bench.faulty.fail("create", RefusedError("no"), after_effect=False)

    with pytest.raises(RefusedError):
        bench.of("aa/w/aa").write(Kind.PAYLOAD, CONTENT, KEY)
    assert bench.memory.list("").names == ()
