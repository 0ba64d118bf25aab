import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onceward.padding import PLAINTEXT_BYTES_MAX, pad, padded_bytes
from onceward.sealing import (
    NO_PREVIOUS,
    OVERHEAD_BYTES,
    Context,
    Header,
    Kind,
    read_header,
    room_bytes,
    sealed_digest,
)
from onceward.wire.framing import frame
from tests.support.sealed_object import (
    BODY,
    COMMITMENT,
    CONTEXT,
    HEADER,
    KEY,
    NONCE,
    PLAINTEXT,
    RANDOM,
    ROW,
    SALT,
    SALT_KEY,
    Derived,
    opened,
    sealed,
)

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
