"""The text of a credential.

    owa_0123456789abcdef_<52 characters><7 characters>
    ||| |                |               `- CRC-32 of all that precedes it
    ||| |                `- secret: 256 random bits
    ||| `- accessor: 80 random bits that name the credential, not secret
    ||`- role
    |`- prefix by which scanners find tokens in files and logs

Both parts are lowercase base32hex, so that a token is one word to a double click after each ``_``.
The checksum is no protection. It lets a typing error be told from a revoked credential without
asking the store, and lets a scanner drop what only looks like a token: CRC-32 finds every change of
up to 32 neighbouring bits, hence every change of a single character.

Nothing here is stored or compared. A controller looks the accessor up and compares a keyed verifier
of the secret; the role letter only hints, the stored scope decides.
"""

import re
import zlib
from dataclasses import dataclass
from enum import StrEnum

from onceward.wire import base32hex
from onceward.wire.secrets import Secret

ACCESSOR_BYTES = 10
SECRET_BYTES = 32
RANDOM_BYTES = ACCESSOR_BYTES + SECRET_BYTES
"""What ``mint`` consumes."""

TOKEN_PATTERN = r"ow[aoiwpcv]_[0-9a-v]{16}_[0-9a-v]{59}"
"""What a log filter or a secret scanner looks for; ``parse`` decides."""

_TOKEN = re.compile(r"(ow([aoiwpcv])_([0-9a-v]{16})_([0-9a-v]{52}))([0-9a-v]{7})")


class Role(StrEnum):
    """What kind of credential it is; the closed list."""

    ADMIN = "admin"
    OPERATOR = "operator"
    INVESTIGATOR = "investigator"
    WORKER = "worker"
    POOL = "pool"
    COORDINATOR = "coordinator"
    OBSERVER = "observer"

    @property
    def letter(self) -> str:
        """The letter that stands for the role in a token."""
        return _LETTERS[self]


_LETTERS = {
    Role.ADMIN: "a",
    Role.OPERATOR: "o",
    Role.INVESTIGATOR: "i",
    Role.WORKER: "w",
    Role.POOL: "p",
    Role.COORDINATOR: "c",
    Role.OBSERVER: "v",
}
_ROLES = {letter: role for role, letter in _LETTERS.items()}


class TokenError(ValueError):
    """The text is no token that was ever given out. Correct it; do not ask a controller."""


@dataclass(frozen=True, slots=True)
class Token:
    """One credential in full.

    Attributes:
        role: What the credential is for, as its text claims.
        accessor: 16 characters that name the credential in lists, logs and revocations.
        secret: The 32 bytes that prove possession.
        text: What the holder is given, the secret included.
    """

    role: Role
    accessor: str
    secret: Secret[bytes]
    text: Secret[str]


def mint(role: Role, random: bytes) -> Token:
    """Return a new token.

    Args:
        role: What the credential is for.
        random: ``RANDOM_BYTES`` unpredictable bytes, used for nothing else.

    Returns:
        The token; ``parse`` gives an equal one back for its text.

    Raises:
        ValueError: ``random`` has another size.
    """
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"a token takes exactly {RANDOM_BYTES} random bytes")
    accessor = base32hex.encode(random[:ACCESSOR_BYTES])
    secret = random[ACCESSOR_BYTES:]
    body = f"ow{role.letter}_{accessor}_{base32hex.encode(secret)}"
    return Token(role, accessor, Secret(secret), Secret(body + _checksum(body)))


def parse(text: str) -> Token:
    """Return the token that ``text`` spells.

    Args:
        text: Exactly the token; surrounding white space is for the caller to remove.

    Raises:
        TokenError: It does not have the form, or its checksum or unused bits are wrong. The message
            holds nothing of the text.
    """
    match = _TOKEN.fullmatch(text)
    if match is None:
        raise TokenError("not an onceward token: expected ow<role>_<accessor>_<secret>")
    body, letter, accessor, secret, checksum = match.groups()
    if _checksum(body) != checksum:
        raise TokenError("token was mistyped or cut: its checksum does not match")
    try:
        decoded = base32hex.decode(secret)
    except ValueError:
        # The last character of the secret carries one bit; were its other four free, sixteen texts
        # would be the same credential.
        raise TokenError("not an onceward token: unused bits are set") from None
    return Token(_ROLES[letter], accessor, Secret(decoded), Secret(text))


def _checksum(body: str) -> str:
    return base32hex.encode(zlib.crc32(body.encode("ascii")).to_bytes(4, "big"))
