"""The one way in which anything is sealed.

    header 51 | salt 32 | commitment 32 | ciphertext (a padded size) | tag 16

    salt = HMAC-SHA256(salt key, frame(random, SHA-256(padded plaintext), context))
    cipher key 32 | commitment 32 = HKDF-SHA512(salt, key, label | header | SHA-256(context))
    ciphertext | tag = AES-256-GCM(cipher key, nonce 0, padded plaintext, header | salt | context)

``onceward.sealed_header`` draws the header and says what a context is; ``onceward.padding`` pads.
The shape is that of the AWS Encryption SDK's committing suites (message format, suite 0x0478).

Why a salt of that kind. It mixes the random bytes with what is sealed, under a key: when a random
generator repeats itself, after a fork or a restored snapshot, different plaintexts still get
different salts, and the salt tells nobody a hash of the plaintext. The digest is of the padded
plaintext, since that is the message of the cipher.

Why the nonce may be fixed. Each cipher key enciphers one message: it comes from the salt, and two
messages with the same salt are the same message in the same context, or a collision of HMAC-SHA256:
enciphering it again gives the same bytes again.

Why the commitment. A ciphertext of AES-GCM can be made to open under two keys; whoever may store
wrapped keys beside it could have two readers see two truths. The commitment is a second output of
the derivation that depends on key, salt, header and context, so that one sealed object has one key.

Randomness and keys are arguments; nothing here reads a clock, a file or a random source.
"""

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from onceward.padding import LENGTH_BYTES, pad, unpad
from onceward.sealed_header import (
    HEADER_BYTES,
    NO_PREVIOUS,
    Context,
    Header,
    IntegrityError,
    Kind,
    read_header,
    write_header,
)
from onceward.wire.framing import frame

__all__ = [
    "KEY_BYTES",
    "NO_PREVIOUS",
    "OVERHEAD_BYTES",
    "RANDOM_BYTES",
    "Context",
    "Header",
    "IntegrityError",
    "Kind",
    "open_sealed",
    "read_header",
    "room_bytes",
    "seal",
    "sealed_digest",
]

KEY_BYTES = 32
RANDOM_BYTES = 32
"""What ``seal`` consumes, except in its deterministic form."""
SALT_BYTES = 32
COMMITMENT_BYTES = 32
TAG_BYTES = 16
OVERHEAD_BYTES = HEADER_BYTES + SALT_BYTES + COMMITMENT_BYTES + TAG_BYTES
"""By how much a sealed object is larger than its padded plaintext."""

_LABEL = b"onceward seal 1"
_NONCE = bytes(12)
_SALT_END = HEADER_BYTES + SALT_BYTES
_COMMITMENT_END = _SALT_END + COMMITMENT_BYTES


def seal(
    key: bytes,
    *,
    key_id: int,
    context: Context,
    plaintext: bytes,
    random: bytes,
    salt_key: bytes,
    padded_to: int | None = None,
) -> bytes:
    """Return ``plaintext`` sealed under ``key`` and bound to ``context``.

    Index rows are sealed deterministically, with no random bytes: the same row has the same bytes
    and hence, since they are part of its name, the same name. A reader of the bucket learns from it
    which sealed bytes hold equal plaintexts, and only where key and context are equal too; nothing
    else. Every other kind must bring fresh random bytes.

    Args:
        key: 32 bytes, uniformly random or derived so.
        key_id: By which a reader finds ``key``; 0 to 2**32 - 1.
        context: What the object is bound to.
        plaintext: At most ``padding.PLAINTEXT_BYTES_MAX`` bytes.
        random: 32 unpredictable bytes; empty for the deterministic form.
        salt_key: 32 bytes that never change meaning; not needed to open.
        padded_to: Bytes of the whole result; by default the padding decides.

    Returns:
        The sealed bytes, for ``open_sealed``.

    Raises:
        ValueError: An argument is not as described, or the plaintext does not fit ``padded_to``.
    """
    _check_key(key)
    _check_key(salt_key)
    is_deterministic = context.kind is Kind.ROW and not random
    if not is_deterministic and len(random) != RANDOM_BYTES:
        raise ValueError(f"sealing takes {RANDOM_BYTES} random bytes; an index row may do without")
    header = write_header(context, key_id)
    bound = context.encoded()
    padded = pad(plaintext, None if padded_to is None else padded_to - OVERHEAD_BYTES)
    mixed = frame(random, hashlib.sha256(padded).digest(), bound)
    salt = hmac.digest(salt_key, mixed, "sha256")
    cipher_key, commitment = _derive(key, salt, header, bound)
    ciphertext = AESGCM(cipher_key).encrypt(_NONCE, padded, header + salt + bound)
    return b"".join((header, salt, commitment, ciphertext))


def open_sealed(key: bytes, *, context: Context, sealed: bytes) -> bytes:
    """Return the plaintext of ``sealed``.

    Args:
        key: The 32 bytes that the header's key id stands for.
        context: What the object must be bound to. The caller knows it beforehand, but for schema
            and previous digest: those it takes from ``read_header`` and judges for itself.
        sealed: What ``seal`` returned.

    Raises:
        IntegrityError: Anything at all is not as it was sealed: one error for every reason.
        ValueError: ``key`` has another size.
    """
    _check_key(key)
    header = sealed[:HEADER_BYTES]
    salt = sealed[HEADER_BYTES:_SALT_END]
    if write_header(context, read_header(sealed, name=context.name).key_id) != header:
        raise IntegrityError(context.name)
    bound = context.encoded()
    cipher_key, commitment = _derive(key, salt, header, bound)
    if not hmac.compare_digest(commitment, sealed[_SALT_END:_COMMITMENT_END]):
        raise IntegrityError(context.name)
    try:
        padded = AESGCM(cipher_key).decrypt(_NONCE, sealed[_COMMITMENT_END:], header + salt + bound)
        return unpad(padded)
    except (InvalidTag, ValueError):
        raise IntegrityError(context.name) from None


def sealed_digest(sealed: bytes) -> bytes:
    """Return the SHA-256 of a sealed object: the ``previous`` of its successor."""
    return hashlib.sha256(sealed).digest()


def room_bytes(padded_to: int) -> int:
    """Return how many bytes of plaintext fit where the whole result has ``padded_to`` bytes."""
    return padded_to - OVERHEAD_BYTES - LENGTH_BYTES


def _check_key(key: bytes) -> None:
    # A key of another size would weaken the commitment: HMAC takes short keys filled up with zeros.
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")


def _derive(key: bytes, salt: bytes, header: bytes, bound: bytes) -> tuple[bytes, bytes]:
    info = _LABEL + header + hashlib.sha256(bound).digest()
    derived = HKDF(SHA512(), KEY_BYTES + COMMITMENT_BYTES, salt, info).derive(key)
    return derived[:KEY_BYTES], derived[KEY_BYTES:]
