"""A sealed object to try things on, and its derivation written a second time."""

import hashlib
import hmac
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from onceward.sealing import (
    NO_PREVIOUS,
    Context,
    IntegrityError,
    Kind,
    open_sealed,
    seal,
)

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
