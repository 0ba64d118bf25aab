import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec.structs import replace

from onceward.padding import unpad
from onceward.sealed_header import write_header
from onceward.sealing import (
    NO_PREVIOUS,
    Context,
    IntegrityError,
    Kind,
    read_header,
)
from tests.support.sealed_object import (
    COMMITMENT,
    CONTEXT,
    HEADER,
    KEY,
    NONCE,
    ROW,
    SALT,
    Derived,
    opened,
    refuses,
    sealed,
)
from tests.support.two_key_ciphertext import key_stream, with_equal_tags

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
