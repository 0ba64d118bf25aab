"""The keyring: made once, opened by who can, and never believed when it was changed."""

from collections.abc import Callable

import msgspec
import pytest

from onceward.sealing import IntegrityError
from onceward_controller.vault import layout
from onceward_controller.vault.keys import keyring
from onceward_controller.vault.keys.key_file import UnlockError
from onceward_controller.vault.keys.keyring import NoVaultError, VaultExistsError
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import OutcomeUnknownError, UnavailableError
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.services import UNLOCKER, KeyInHand
from tests.support.stores import FaultyStore

NAME = layout.revision_name(layout.KEYRING, 1)


class Bench:
    """An empty store that can fail."""

    def __init__(self, seed: str = "onceward") -> None:
        self.clock = ManualClock()
        self.entropy = SeededEntropy(seed)
        self.memory = MemoryStore(self.clock)
        self.faulty = FaultyStore(self.memory)

    def create(self) -> keyring.Keyring:
        return keyring.create(self.faulty, UNLOCKER, self.clock, self.entropy)

    def open(self, unlocker: KeyInHand = UNLOCKER) -> keyring.Keyring:
        return keyring.open_keyring(self.faulty, unlocker)

    @property
    def body(self) -> bytes:
        found = self.memory.get(NAME)
        assert found is not None
        return found.body


@pytest.fixture
def bench() -> Bench:
    return Bench()


def secrets(opened: keyring.Keyring) -> tuple[object, ...]:
    return (opened.vault_id, opened.root.ids, opened.wrapping, opened.primary)


def test_what_is_made_is_what_is_opened(bench: Bench) -> None:
    assert secrets(bench.create()) == secrets(bench.open())


def test_a_store_without_a_keyring_is_no_vault(bench: Bench) -> None:
    assert keyring.is_untouched(bench.memory)
    with pytest.raises(NoVaultError):
        bench.open()


def test_a_vault_that_lost_its_keyring_is_not_taken_for_an_empty_store(bench: Bench) -> None:
    bench.memory.create("00/w/opaque/fffffffffffe", b"a workflow of a vault whose keyring is gone")

    assert not keyring.is_untouched(bench.memory)


def test_a_vault_is_never_made_over_another(bench: Bench) -> None:
    made = bench.create()

    with pytest.raises(VaultExistsError):
        bench.create()
    assert not keyring.is_untouched(bench.memory)
    assert secrets(bench.open()) == secrets(made)


@pytest.mark.parametrize("after_effect", [False, True])
def test_a_vault_whose_reply_was_lost_is_made_once_and_is_ours(
    bench: Bench, after_effect: bool
) -> None:
    bench.faulty.fail("create", OutcomeUnknownError("lost"), after_effect=after_effect)

    assert secrets(bench.create()) == secrets(bench.open())


def test_another_secret_does_not_open_it(bench: Bench) -> None:
    bench.create()

    with pytest.raises(UnlockError):
        bench.open(KeyInHand(secret=bytes(32)))


def test_another_kind_of_unlocker_is_told_so(bench: Bench) -> None:
    class Other(KeyInHand, frozen=True):
        @property
        def kind(self) -> str:
            return "other"

    bench.create()

    with pytest.raises(UnlockError, match="other"):
        bench.open(Other())


def test_two_vaults_share_nothing(bench: Bench) -> None:
    other = Bench("another")
    one, two = bench.create(), other.create()

    assert one.vault_id != two.vault_id
    assert one.root.ids != two.root.ids
    assert not set(one.wrapping.values()) & set(two.wrapping.values())


def test_no_secret_lies_in_the_clear(bench: Bench) -> None:
    made = bench.create()

    for secret in (made.root._root, made.root.ids, UNLOCKER.secret, *made.wrapping.values()):
        assert secret not in bench.body


def halves(body: bytes) -> tuple[bytes, bytes]:
    revision = msgspec.msgpack.decode(body, type=keyring._Revision)
    return revision.clear, revision.sealed


def joined(clear: bytes, sealed: bytes) -> bytes:
    return msgspec.msgpack.encode(keyring._Revision(clear=clear, sealed=sealed))


def with_clear(**changes: object) -> Callable[[bytes], bytes]:
    def change(body: bytes) -> bytes:
        clear, sealed = halves(body)
        decoded = msgspec.msgpack.decode(clear, type=keyring._Clear)
        return joined(msgspec.msgpack.encode(msgspec.structs.replace(decoded, **changes)), sealed)

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: b"", id="blanked"),
        pytest.param(lambda body: body[:-1], id="cut"),
        pytest.param(lambda body: body[: len(body) // 2], id="halved"),
        pytest.param(lambda body: body + b"\0", id="longer"),
        pytest.param(lambda body: b"\x93" + body[1:], id="another-shape"),
        pytest.param(lambda body: b"not ours at all", id="not-ours"),
        pytest.param(lambda body: msgspec.msgpack.encode([b"", b""]), id="empty-halves"),
        pytest.param(with_clear(schema=2), id="another-schema"),
        pytest.param(with_clear(schema=0), id="an-older-schema"),
        pytest.param(with_clear(vault_id=bytes(16)), id="another-vault"),
        pytest.param(with_clear(vault_id=b""), id="no-vault-id"),
        pytest.param(with_clear(roots=()), id="no-unlocker"),
    ],
)
def test_a_changed_keyring_opens_nothing(bench: Bench, change: Callable[[bytes], bytes]) -> None:
    bench.create()
    bench.memory.put(NAME, change(bench.body))

    with pytest.raises((IntegrityError, UnlockError)):
        bench.open()


def test_an_unlocker_cannot_be_added_beside_the_others(bench: Bench) -> None:
    bench.create()
    clear, sealed = halves(bench.body)
    decoded = msgspec.msgpack.decode(clear, type=keyring._Clear)
    more = msgspec.structs.replace(decoded, roots=decoded.roots * 2)
    bench.memory.put(NAME, joined(msgspec.msgpack.encode(more), sealed))

    with pytest.raises(IntegrityError):
        bench.open()


def test_no_bit_of_a_keyring_can_be_changed(bench: Bench) -> None:
    made = bench.create()
    body = bench.body
    for at in range(0, len(body), 7):
        bench.memory.put(NAME, body[:at] + bytes([body[at] ^ 0x10]) + body[at + 1 :])
        with pytest.raises((IntegrityError, UnlockError)):
            bench.open()
    bench.memory.put(NAME, body)
    assert secrets(bench.open()) == secrets(made)


def test_halves_of_two_keyrings_do_not_go_together(bench: Bench) -> None:
    other = Bench("another")
    bench.create()
    other.create()
    (clear, sealed), (other_clear, other_sealed) = halves(bench.body), halves(other.body)

    for mixed in (joined(clear, other_sealed), joined(other_clear, sealed)):
        bench.memory.put(NAME, mixed)
        with pytest.raises(IntegrityError):
            bench.open()


def test_a_keyring_played_again_as_the_next_revision_opens_nothing(bench: Bench) -> None:
    bench.create()
    bench.memory.create(layout.revision_name(layout.KEYRING, 2), bench.body)

    with pytest.raises(IntegrityError):
        bench.open()


@pytest.mark.parametrize("verb", ["list", "get"])
def test_an_outage_is_never_no_vault(bench: Bench, verb: str) -> None:
    bench.create()
    bench.faulty.fail(verb, UnavailableError("down"), after_effect=False)  # type: ignore[arg-type]  # a row of the table

    with pytest.raises(UnavailableError):
        bench.open()
