"""What a sealed object says in clear, and what it is bound to without saying so.

    offset  bytes  field
         0      2  magic          "ow"
         2      1  format         1
         3      1  suite          1: HKDF-SHA512 and AES-256-GCM, see onceward.sealing
         4      1  kind           what is inside, see Kind
         5      2  schema         of the plaintext
         7      4  key id         which of the reader's keys opens it
        11      8  revision       number in its log; 0 where there is no log
        19     32  previous       SHA-256 of the whole sealed revision before it; zeros if none
        51         (the salt begins)

Numbers are big-endian. There is one format and one suite: a reader negotiates nothing, and a second
suite would be a second module, never a branch. The header needs no key to be read, so that anyone
who holds the objects of a log can check that their digests chain.

A ``Context`` is all that the sealed bytes are bound to: the header's fields and the vault and name
under which they are kept. The reader knows vault, name, kind and revision before it reads; the
schema and the previous digest it takes from the header, once it has compared them with the least
schema and with the chain.
"""

from enum import IntEnum, unique
from struct import Struct as Layout

from msgspec import Struct

from onceward.wire.framing import frame

DIGEST_BYTES = 32
NO_PREVIOUS = bytes(DIGEST_BYTES)
"""The previous digest of what has no predecessor."""

_MAGIC = b"ow\x01\x01"  # With format and suite, which are part of what a reader must recognise.
_LAYOUT = Layout(f">{len(_MAGIC)}sBHIQ{DIGEST_BYTES}s")

HEADER_BYTES = _LAYOUT.size


class IntegrityError(Exception):
    """The bytes are not what was sealed under this name, or the key is another. A person must look.

    It is one error for whatever check failed, so that nobody learns which by trying; the message
    names the object and nothing else.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"sealed object fails its integrity check: name=`{name}`")


@unique
class Kind(IntEnum):
    """What is inside a sealed object; one kind never opens as another."""

    WORKFLOW = 1
    DATA_KEY = 2
    KEYRING = 3
    PAYLOAD = 4
    PAGE = 5
    ROW = 6
    CREDENTIAL = 7
    SPOOL = 8


_KINDS = frozenset(Kind)


class Header(Struct, frozen=True):
    """The clear fields; true only once the object was opened, or its digest stands in the chain.

    Attributes:
        key_id: From 0 to 2**32 - 1.
        revision: From 0 to 2**64 - 1.
        schema: From 0 to 2**16 - 1.
        previous: ``DIGEST_BYTES`` bytes.
    """

    kind: Kind
    schema: int
    key_id: int
    revision: int
    previous: bytes


class Context(Struct, frozen=True):
    """What a sealed object is bound to.

    Attributes:
        vault_id: Bytes that no other vault has.
        name: Under which the object is kept. For an index row, whose name ends in the sealed bytes,
            the name before them.
        kind: What is inside.
        revision: Number in its log, to 2**64 - 1; 0 where there is no log.
        schema: Of the plaintext, to 2**16 - 1.
        previous: SHA-256 of the sealed revision before it, or ``NO_PREVIOUS``.
    """

    vault_id: bytes
    name: str
    kind: Kind
    revision: int
    schema: int
    previous: bytes = NO_PREVIOUS

    def __post_init__(self) -> None:
        """Refuse what has no place in a header.

        Raises:
            ValueError: A field is out of its range.
        """
        if not (0 <= self.revision < 1 << 64 and 0 <= self.schema < 1 << 16):
            raise ValueError(f"revision or schema is out of range: name=`{self.name}`")
        if len(self.previous) != DIGEST_BYTES:
            raise ValueError(f"previous is no SHA-256 digest: name=`{self.name}`")

    def encoded(self) -> bytes:
        """Return bytes that determine every field."""
        return frame(
            self.vault_id,
            self.name.encode("utf-8"),
            _LAYOUT.pack(_MAGIC, self.kind, self.schema, 0, self.revision, self.previous),
        )


def write_header(context: Context, key_id: int) -> bytes:
    """Return the ``HEADER_BYTES`` bytes that begin what is sealed in ``context``.

    Args:
        context: What the object is bound to.
        key_id: From 0 to 2**32 - 1.

    Raises:
        ValueError: ``key_id`` is out of range.
    """
    if not 0 <= key_id < 1 << 32:
        raise ValueError(f"key id is out of range: key_id=`{key_id}`")
    return _LAYOUT.pack(
        _MAGIC, context.kind, context.schema, key_id, context.revision, context.previous
    )


def read_header(sealed: bytes, *, name: str = "") -> Header:
    """Return the clear fields of a sealed object; no key is needed, and none vouches for them yet.

    Args:
        sealed: The object, or as much of its beginning as there is.
        name: Under which it was kept, for the message of a failure.

    Raises:
        IntegrityError: The bytes do not begin as any sealed object does.
    """
    if len(sealed) < HEADER_BYTES:
        raise IntegrityError(name)
    magic, kind, schema, key_id, revision, previous = _LAYOUT.unpack_from(sealed)
    if magic != _MAGIC or kind not in _KINDS:
        raise IntegrityError(name)
    return Header(Kind(kind), schema, key_id, revision, previous)
