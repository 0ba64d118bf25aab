"""Every key and name that follows from the vault's root secret.

    root 32 --HKDF-SHA512 expand, one label each--> 32-byte keys --HMAC-SHA256--> names and ids

The root is never used itself. It is uniformly random, so the expand step alone suffices (RFC 5869,
section 3.3). A label is never changed and never used twice. Names, ids and lease tokens must never
change while the vault lives: another name would be new work, done a second time. Tests hold every
derivation against recorded bytes.
"""

import hmac
from functools import cached_property

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from onceward.wire import base32hex
from onceward.wire.framing import frame

ROOT_BYTES = 32
KEY_BYTES = 32
NAME_BYTES = 20
"""160 bits: nobody finds two fields with one name by trying."""
NAME_CHARACTERS = 32


class RootKeys:
    """The keys of one vault, each derived when it is first asked for.

    Args:
        root: The 32 bytes that the keyring wraps.

    Raises:
        ValueError: ``root`` has another size.
    """

    def __init__(self, root: bytes) -> None:
        if len(root) != ROOT_BYTES:
            raise ValueError(f"a root secret has {ROOT_BYTES} bytes")
        self._root = root

    @cached_property
    def keyring(self) -> bytes:
        """The key that seals key-encryption keys in the keyring."""
        return self._key("keyring")

    @cached_property
    def object_names(self) -> bytes:
        """Names of objects in the store."""
        return self._key("object names")

    @cached_property
    def ids(self) -> bytes:
        """Ids of workflows and operations, and idempotency keys."""
        return self._key("ids")

    @cached_property
    def lease_tokens(self) -> bytes:
        """Tokens that the holders of grants present."""
        return self._key("lease tokens")

    @cached_property
    def token_pepper(self) -> bytes:
        """Verifiers of credentials."""
        return self._key("token pepper")

    @cached_property
    def sessions(self) -> bytes:
        """Verifiers of dashboard sessions."""
        return self._key("sessions")

    @cached_property
    def csrf(self) -> bytes:
        """Tokens that bind a form to its session."""
        return self._key("csrf")

    @cached_property
    def checkpoint_mac(self) -> bytes:
        """Checkpoints that clients carry."""
        return self._key("checkpoint mac")

    @cached_property
    def salt(self) -> bytes:
        """The salt key of ``onceward.sealing.seal``, whatever is sealed."""
        return self._key("salt")

    @cached_property
    def index_rows(self) -> bytes:
        """The key that seals index rows."""
        return self._key("index rows")

    @cached_property
    def tombstones(self) -> bytes:
        """The key that seals tombstones, which outlive their workflow's data key."""
        return self._key("tombstones")

    @cached_property
    def export_seed(self) -> bytes:
        """The seed of the Ed25519 key that signs exports."""
        return self._key("export seed")

    def _key(self, label: str) -> bytes:
        info = b"onceward root 1 " + label.encode("ascii")
        return HKDFExpand(SHA512(), KEY_BYTES, info).derive(self._root)


def tag(label_key: bytes, *fields: str) -> bytes:
    """Return the ``NAME_BYTES`` bytes that stand for ``fields`` under one of the root's keys.

    Args:
        label_key: A key of ``RootKeys``; its purpose says what kind of tag it is.
        fields: Text of any length. Their boundaries count: ("ab", "c") is not ("a", "bc").
    """
    framed = frame(*(field.encode("utf-8") for field in fields))
    return hmac.digest(label_key, framed, "sha256")[:NAME_BYTES]


def name(label_key: bytes, *fields: str) -> str:
    """Return what ``fields`` are called under one of the root's keys.

    Args:
        label_key: As for ``tag``.
        fields: As for ``tag``.

    Returns:
        32 characters of lowercase base32hex, 160 bits, which tell nothing of the fields to whoever
        lacks the key.
    """
    return base32hex.encode(tag(label_key, *fields))
