import hashlib
import hmac
from dataclasses import dataclass

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onceward.padding import PLAINTEXT_BYTES_MAX, pad, padded_bytes, unpad
from onceward.sealed_header import write_header
from onceward.sealing import (
    NO_PREVIOUS,
    OVERHEAD_BYTES,
    Context,
    Header,
    IntegrityError,
    Kind,
    open_sealed,
    read_header,
    room_bytes,
    seal,
    sealed_digest,
)
from onceward.wire.framing import frame
from tests.support.two_key_ciphertext import key_stream, with_equal_tags

KEY = b"A" * 32
SALT_KEY = b"S" * 32
RANDOM = b"R" * 32
NONCE = bytes(12)
CONTEXT = Context(b"vault-1", "aa/w/one/0001", Kind.WORKFLOW, 7, 3, bytes(range(32)))
ROW = replace(CONTEXT, kind=Kind.ROW, revision=0, previous=NO_PREVIOUS)
PLAINTEXT = b"what was decided"

HEADER = slice(0, 51)
SALT = slice(51, 83)
COMMITMENT = slice(83, 115)
BODY = slice(115, None)


def sealed(
    plaintext: bytes = PLAINTEXT,
    *,
    key: bytes = KEY,
    key_id: int = 2,
    context: Context = CONTEXT,
    random: bytes = RANDOM,
    salt_key: bytes = SALT_KEY,
    padded_to: int | None = None,
) -> bytes:
    return seal(
        key,
        key_id=key_id,
        context=context,
        plaintext=plaintext,
        random=random,
        salt_key=salt_key,
        padded_to=padded_to,
    )


def opened(data: bytes, *, key: bytes = KEY, context: Context = CONTEXT) -> bytes:
    return open_sealed(key, context=context, sealed=data)


def refuses(data: bytes, *, key: bytes = KEY, context: Context = CONTEXT) -> bool:
    """Return whether the data is refused, always in the same words."""
    with pytest.raises(IntegrityError) as refused:
        opened(data, key=key, context=context)
    return str(refused.value) == f"sealed object fails its integrity check: name=`{context.name}`"


@dataclass
class Derived:
    """What the format's description says is derived; written a second time, from that alone."""

    cipher_key: bytes
    commitment: bytes
    aad: bytes

    @classmethod
    def of(cls, key: bytes, salt: bytes) -> "Derived":
        header = bytes.fromhex("6f770101 01 0003 00000002 0000000000000007") + bytes(range(32))
        with_key_id_0 = bytes.fromhex("6f770101 01 0003 00000000 0000000000000007") + bytes(
            range(32)
        )
        context = b"\0\0\0\x07vault-1" + b"\0\0\0\x0daa/w/one/0001" + b"\0\0\0\x33" + with_key_id_0
        info = b"onceward seal 1" + header + hashlib.sha256(context).digest()
        extracted = hmac.digest(salt, key, "sha512")
        expanded = hmac.digest(extracted, info + b"\x01", "sha512")
        return cls(expanded[:32], expanded[32:], header + salt + context)


# ------------------------------------------------------------------------------------- the format


def test_sealed_bytes_are_laid_out_as_described() -> None:
    data = sealed()
    padded = len(PLAINTEXT).to_bytes(4, "big") + PLAINTEXT + bytes(1024 - 4 - len(PLAINTEXT))
    context = CONTEXT.encoded()
    digest = hashlib.sha256(padded).digest()
    salt = hmac.digest(SALT_KEY, frame(RANDOM, digest, context), "sha256")
    derived = Derived.of(KEY, salt)

    assert data[HEADER] == derived.aad[:51]
    assert data[SALT] == salt
    assert data[COMMITMENT] == derived.commitment
    assert data[BODY] == AESGCM(derived.cipher_key).encrypt(NONCE, padded, derived.aad)


def test_sealed_bytes_are_the_recorded_ones() -> None:
    # Recorded: vaults hold such bytes, and must go on opening.
    assert (
        hashlib.sha256(sealed()).hexdigest()
        == "767263b45ffa4b1d8c66ca5308f3fde7c1a06fa22ca235f450510e5af26ea1de"
    )


def test_the_clear_header_is_read_without_a_key() -> None:
    expected = Header(Kind.WORKFLOW, schema=3, key_id=2, revision=7, previous=bytes(range(32)))

    assert read_header(sealed()) == expected
    assert read_header(sealed()[HEADER]) == expected


def test_the_chain_is_checked_without_a_key() -> None:
    first = sealed(context=replace(CONTEXT, revision=1, previous=NO_PREVIOUS))
    second = sealed(context=replace(CONTEXT, revision=2, previous=sealed_digest(first)))

    assert read_header(second).previous == hashlib.sha256(first).digest()


def test_the_numbers_of_the_kinds_never_change() -> None:
    assert {kind.name: kind.value for kind in Kind} == {
        "WORKFLOW": 1,
        "DATA_KEY": 2,
        "KEYRING": 3,
        "PAYLOAD": 4,
        "PAGE": 5,
        "ROW": 6,
        "CREDENTIAL": 7,
        "SPOOL": 8,
    }


@given(
    st.binary(max_size=40_000),
    st.builds(
        Context,
        vault_id=st.binary(max_size=20),
        name=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
        kind=st.sampled_from(Kind),
        revision=st.integers(0, 2**64 - 1),
        schema=st.integers(0, 2**16 - 1),
        previous=st.binary(min_size=32, max_size=32),
    ),
    st.integers(0, 2**32 - 1),
    st.binary(min_size=32, max_size=32),
)
def test_opening_gives_back_what_was_sealed(
    plaintext: bytes, context: Context, key_id: int, random: bytes
) -> None:
    data = sealed(plaintext, context=context, key_id=key_id, random=random)
    header = read_header(data)

    assert opened(data, context=context) == plaintext
    assert header.key_id == key_id
    assert (header.kind, header.schema, header.revision, header.previous) == (
        context.kind,
        context.schema,
        context.revision,
        context.previous,
    )


# -------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(HEADER, id="header"),
        pytest.param(SALT, id="salt"),
        pytest.param(COMMITMENT, id="commitment"),
        pytest.param(slice(115, 115 + 256), id="ciphertext"),
        pytest.param(slice(-16, None), id="tag"),
    ],
)
def test_every_flipped_bit_is_refused(part: slice) -> None:
    data = sealed(context=ROW, random=b"", padded_to=512)
    for at in range(*part.indices(len(data))):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[at] ^= 1 << bit
            assert refuses(bytes(flipped), context=ROW)


def test_every_truncation_is_refused() -> None:
    data = sealed()

    assert all(refuses(data[:size]) for size in range(len(data)))
    assert all(refuses(data[start:]) for start in range(1, len(data)))


@pytest.mark.parametrize("more", [b"\0", b"\xff", bytes(16), bytes(1024), sealed()])
def test_every_extension_is_refused(more: bytes) -> None:
    assert refuses(sealed() + more)
    assert refuses(more + sealed())


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(CONTEXT, vault_id=b"vault-2"), id="vault"),
        pytest.param(replace(CONTEXT, name="aa/w/two/0001"), id="name"),
        pytest.param(replace(CONTEXT, kind=Kind.CREDENTIAL), id="kind"),
        pytest.param(replace(CONTEXT, revision=8), id="revision"),
        pytest.param(replace(CONTEXT, schema=2), id="schema"),
        pytest.param(replace(CONTEXT, previous=NO_PREVIOUS), id="previous"),
        pytest.param(
            replace(CONTEXT, vault_id=b"vault-1a", name="a/w/one/0001"), id="moved-boundary"
        ),
    ],
)
def test_every_exchanged_context_field_is_refused(other: Context) -> None:
    assert refuses(sealed(), context=other)
    assert refuses(sealed(context=other))


def test_a_header_rewritten_to_fit_another_context_is_refused() -> None:
    other = replace(CONTEXT, kind=Kind.PAGE, revision=9, schema=1, previous=NO_PREVIOUS)

    assert refuses(write_header(other, 2) + sealed()[51:], context=other)


def test_another_key_id_in_the_header_is_refused() -> None:
    assert refuses(write_header(CONTEXT, 3) + sealed()[51:])


def test_another_key_is_refused() -> None:
    assert refuses(sealed(), key=b"B" * 32)


def test_the_commitment_of_another_key_is_refused() -> None:
    data = sealed()
    other = Derived.of(b"B" * 32, data[SALT]).commitment
    swapped = data[:83] + other + data[115:]

    assert refuses(swapped)
    assert refuses(swapped, key=b"B" * 32)


def test_a_ciphertext_that_is_authentic_under_two_keys_opens_under_one() -> None:
    # The second key was searched for (four million tries) so that what it deciphers is also padded
    # as it should be: nothing but the commitment stands between the attacker and two truths.
    second = (4_236_564).to_bytes(32, "big")
    size = 4096
    salt = bytes(range(100, 132))
    one, two = Derived.of(KEY, salt), Derived.of(second, salt)
    stream_one = key_stream(one.cipher_key, NONCE, size)
    stream_two = key_stream(two.cipher_key, NONCE, size)
    prefix = xor((size - 4).to_bytes(4, "big"), stream_one)
    length = int.from_bytes(xor(prefix, stream_two), "big")
    end = 4 + length
    body = prefix + bytes(end - 4) + stream_two[end:]
    forged = with_equal_tags((one.cipher_key, two.cipher_key), NONCE, one.aad, body, free_block=1)
    truth_one = unpad(AESGCM(one.cipher_key).decrypt(NONCE, forged, one.aad))
    truth_two = unpad(AESGCM(two.cipher_key).decrypt(NONCE, forged, two.aad))
    for_one = one.aad[:83] + one.commitment + forged
    for_two = two.aad[:83] + two.commitment + forged

    assert truth_one != truth_two
    assert opened(for_one) == truth_one
    assert refuses(for_one, key=second)
    assert opened(for_two, key=second) == truth_two
    assert refuses(for_two)


def xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=False))


@pytest.mark.parametrize(
    "padded",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\0\0", id="half-a-length"),
        pytest.param(b"\0\0\0\x02a", id="length-beyond-the-end"),
        pytest.param(b"\0\0\0\x01a\x01", id="padding-not-zero"),
        pytest.param(b"\0\0\0\x00\0\0\x80\0", id="one-bit-in-the-padding"),
    ],
)
def test_authentic_bytes_with_wrong_padding_are_refused_alike(padded: bytes) -> None:
    salt = bytes(32)
    derived = Derived.of(KEY, salt)
    body = AESGCM(derived.cipher_key).encrypt(NONCE, padded, derived.aad)

    assert refuses(derived.aad[:83] + derived.commitment + body)


def test_a_failure_shows_neither_its_cause_nor_anything_but_the_name() -> None:
    with pytest.raises(IntegrityError) as refused:
        opened(sealed()[:-1])

    assert refused.value.args == ("sealed object fails its integrity check: name=`aa/w/one/0001`",)
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("data", "name"),
    [
        pytest.param(b"", "", id="nothing"),
        pytest.param(sealed()[:50], "aa", id="short"),
        pytest.param(b"xx" + sealed()[2:], "aa", id="magic"),
        pytest.param(sealed()[:2] + b"\x02" + sealed()[3:], "aa", id="newer-format"),
        pytest.param(sealed()[:3] + b"\x02" + sealed()[4:], "aa", id="another-suite"),
        pytest.param(sealed()[:4] + b"\x00" + sealed()[5:], "aa", id="no-kind"),
        pytest.param(sealed()[:4] + b"\x09" + sealed()[5:], "aa", id="unknown-kind"),
    ],
)
def test_what_does_not_begin_as_a_sealed_object_has_no_header(data: bytes, name: str) -> None:
    with pytest.raises(IntegrityError, match=f"name=`{name}`"):
        read_header(data, name=name)


# ------------------------------------------------------------------------------------------- salts


def test_a_random_generator_that_repeats_itself_repeats_no_salt() -> None:
    variants = [
        sealed(b"one"),
        sealed(b"two"),
        sealed(b"one", context=replace(CONTEXT, name="aa/w/two/0001")),
        sealed(b"one", context=replace(CONTEXT, revision=8)),
        sealed(b"one", padded_to=4096),
        sealed(b"one\0"),
    ]

    assert len({data[SALT] for data in variants}) == len(variants)


def test_the_salt_of_equal_plaintexts_depends_on_the_random_bytes_and_on_the_salt_key() -> None:
    variants = [sealed(), sealed(random=b"r" * 32), sealed(salt_key=b"s" * 32)]

    assert len({data[SALT] for data in variants}) == len(variants)
    assert [opened(data) for data in variants] == [PLAINTEXT] * 3


def test_equal_rows_have_equal_bytes_and_different_ones_share_nothing() -> None:
    row = sealed(b"row", context=ROW, random=b"", padded_to=256)
    other = sealed(b"roW", context=ROW, random=b"", padded_to=256)

    assert sealed(b"row", context=ROW, random=b"", padded_to=256) == row
    assert opened(row, context=ROW) == b"row"
    assert other[SALT] != row[SALT]
    assert other[COMMITMENT] != row[COMMITMENT]
    assert other[BODY] != row[BODY]
    assert sealed(b"row", context=replace(ROW, name="b"), random=b"", padded_to=256) != row


def test_a_row_may_be_sealed_with_random_bytes_too() -> None:
    assert opened(sealed(context=ROW), context=ROW) == PLAINTEXT


# ------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("plaintext_bytes", "expected"),
    [
        (0, 1024),
        (1020, 1024),
        (1021, 2048),
        (2044, 2048),
        (8188, 8192),
        (8189, 9216),
        (16_380, 16_384),
        (16_381, 18_432),
        (32_764, 32_768),
        (32_765, 36_864),
        (65_536, 73_728),
        (1_048_572, 1_048_576),
        (1_048_573, 1_179_648),
    ],
)
def test_sizes_grow_in_steps(plaintext_bytes: int, expected: int) -> None:
    assert padded_bytes(plaintext_bytes) == expected
    assert len(sealed(bytes(plaintext_bytes))) == expected + OVERHEAD_BYTES


@given(st.integers(0, PLAINTEXT_BYTES_MAX))
def test_padding_adds_at_most_a_step_or_an_eighth(plaintext_bytes: int) -> None:
    framed = plaintext_bytes + 4
    padded = padded_bytes(plaintext_bytes)

    assert 0 <= padded - framed < max(1024, framed / 8)
    assert padded_bytes(plaintext_bytes + 1) >= padded


@pytest.mark.parametrize(("padded_to", "room"), [(256, 121), (512, 377)])
def test_a_row_has_exactly_the_size_that_its_writer_chose(padded_to: int, room: int) -> None:
    assert room_bytes(padded_to) == room
    for size in (0, 1, room):
        data = sealed(bytes(size), context=ROW, random=b"", padded_to=padded_to)
        assert len(data) == padded_to
        assert opened(data, context=ROW) == bytes(size)
    with pytest.raises(ValueError, match=f"does not fit: bytes_max=`{room}`"):
        sealed(bytes(room + 1), context=ROW, random=b"", padded_to=padded_to)


def test_a_plaintext_beyond_every_object_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        pad(bytes(PLAINTEXT_BYTES_MAX + 1))


# ----------------------------------------------------------------------------- a caller's mistakes


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        pytest.param(lambda: sealed(key=b"A" * 31), "32 bytes", id="short-key"),
        pytest.param(lambda: sealed(salt_key=b"S" * 33), "32 bytes", id="long-salt-key"),
        pytest.param(lambda: opened(sealed(), key=b""), "32 bytes", id="no-key"),
        pytest.param(lambda: sealed(random=b""), "32 random", id="revision-without-random"),
        pytest.param(lambda: sealed(random=b"R" * 31), "32 random", id="too-little-random"),
        pytest.param(lambda: sealed(context=ROW, random=b"R"), "32 random", id="row-with-little"),
        pytest.param(lambda: sealed(key_id=-1), "key id", id="negative-key-id"),
        pytest.param(lambda: sealed(key_id=2**32), "key id", id="large-key-id"),
        pytest.param(lambda: replace(CONTEXT, revision=-1), "range", id="negative-revision"),
        pytest.param(lambda: replace(CONTEXT, revision=2**64), "range", id="large-revision"),
        pytest.param(lambda: replace(CONTEXT, schema=2**16), "range", id="large-schema"),
        pytest.param(lambda: replace(CONTEXT, previous=b""), "SHA-256", id="no-previous"),
    ],
)
def test_an_argument_out_of_its_range_is_refused(mistake: object, message: str) -> None:
    assert callable(mistake)
    with pytest.raises(ValueError, match=message):
        mistake()
