"""Where things lie in the store.

    keyring/<revision>                     the vault's keyring; the only name that is not derived
    <hh>/w/<opaque>/<revision>             a workflow's log
    <hh>/k/<opaque>/<revision>             the log of one data key
    <hh>/c/<opaque>/<revision>             a credential's log
    <hh>/p/<digest>                        a payload or a page, by the digest of its sealed bytes
    i/<workspace>/<class>/...              index rows (see ``index``)

``opaque`` is an HMAC of what the log is about: 32 characters of lowercase base32hex. ``hh``, its
first two, come first, so that a store which splits its load by name spreads ours. Revisions count
down from a fixed width of hex digits: a listing of one name gives the newest.
"""

import re
from enum import StrEnum

from onceward_controller.vault.damage import DamagedLogError

REVISION_DIGITS = 12
_REVISION_TOP: int = 16**REVISION_DIGITS - 1
_REVISION = re.compile(f"[0-9a-f]{{{REVISION_DIGITS}}}")

KEYRING = "keyring"


class Drawer(StrEnum):
    """What kind of log a name leads to."""

    WORKFLOW = "w"
    DATA_KEY = "k"
    CREDENTIAL = "c"
    PAYLOAD = "p"


def log_name(drawer: Drawer, opaque: str) -> str:
    """Return the name under which the revisions of one log lie."""
    return f"{opaque[:2]}/{drawer}/{opaque}"


def object_name(digest: str) -> str:
    """Return the name of a payload or page whose sealed bytes have ``digest`` (hex)."""
    return f"{digest[:2]}/{Drawer.PAYLOAD}/{digest}"


def revision_name(log: str, revision: int) -> str:
    """Return the name of one revision, from 1."""
    if not 1 <= revision <= _REVISION_TOP:
        raise ValueError(f"revision out of range: revision=`{revision}`")
    return f"{log}/{_REVISION_TOP - revision:0{REVISION_DIGITS}x}"


def revision_of(log: str, name: str) -> int:
    """Return the revision that ``revision_name`` gave ``name`` in ``log``.

    Raises:
        IntegrityError: It named no revision so: somebody else has put the object there.
    """
    digits = name.removeprefix(f"{log}/")
    if _REVISION.fullmatch(digits) is None:
        raise DamagedLogError("an object that is no revision lies in a log")
    return _REVISION_TOP - int(digits, 16)
