"""A spool's key, and the proof that it is the one that sealed the spool.

    <spool>/key     32 random bytes, unless ONCEWARD_SPOOL_KEY gives them
    <spool>/check   sealed with the key when the spool was made; opens under no other

Without the proof, one start with another key would find every receipt that waits unreadable and
take it for torn. Both files appear whole, and the first of several processes gives them to all.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from msgspec import Raw, Struct

from onceward.errors import SpoolError
from onceward.ports import Entropy
from onceward.sealed_folder import Sealer, TornError, check_private, sync_directory, write_new
from onceward.sealing import KEY_BYTES
from onceward.wire.secrets import Secret

_KEY = "key"
_CHECK = "check"
_SEALED = ("lanes/*/receipts/*", "lanes/*/grants/*", "dead/*")
"""What a spool holds under its key; what is in ``torn/`` opens under none."""
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


class _Check(Struct, frozen=True):
    """Says nothing: that it opens is what counts."""


def load_key(root: Path, entropy: Entropy, given: str | None) -> Secret[bytes]:
    """Return the spool's key, made if there is none.

    Args:
        root: The spool, a directory of this user alone.
        entropy: For a new key.
        given: The key as 64 hexadecimal digits; None to keep it in the directory.

    Raises:
        SpoolError: The key has another form or is missing, or its file is not this user's alone.
        OSError: The system refused.
    """
    if given is not None:
        try:
            key = bytes.fromhex(given)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise SpoolError(f"the spool's key has another form: want {2 * KEY_BYTES} hex digits")
        return Secret(key)
    path = root / _KEY
    # Asked first: whoever makes a spool gives it its key before the check.
    is_sealed = (root / _CHECK).exists()
    if not path.exists():
        if is_sealed:
            _refuse(root)
        _place(path, entropy.take(KEY_BYTES), entropy)
    return Secret(_read_key(path))


def check_key(root: Path, sealer: Sealer, entropy: Entropy) -> None:
    """Return if ``sealer`` has the key of the spool; a spool without a check is given one.

    Args:
        root: The spool, a directory of this user alone.
        sealer: Made from the key that ``load_key`` returned.
        entropy: For a name.

    Raises:
        SpoolError: The spool was sealed with another key; nothing was moved.
        OSError: The system refused.
    """
    path = root / _CHECK
    if not path.exists():
        if not _opens_what_is_there(root, sealer):
            _refuse(root)
        _place(path, sealer.seal(_CHECK, _Check()), entropy)
    try:
        sealer.open(_CHECK, path.read_bytes(), _Check)
    except TornError:
        _refuse(root)


def _refuse(root: Path) -> NoReturn:
    raise SpoolError(
        "the spool was sealed with another key, and nothing in it was touched: set "
        "ONCEWARD_SPOOL_KEY to the key that it was made with, or unset it if that is the spool's "
        f"own file `{_KEY}`; for a new key name another directory: path=`{root}`"
    ) from None


def _opens_what_is_there(root: Path, sealer: Sealer) -> bool:
    """Return whether one file opens, or there is none; others may be torn."""
    is_empty = True
    for pattern in _SEALED:
        for path in root.glob(pattern):
            # Marks have a suffix, and so do files that were not written to their end.
            if path.suffix:
                continue
            # Another process may deliver a receipt, or bury it, meanwhile.
            with suppress(FileNotFoundError):
                content = path.read_bytes()
                is_empty = False
                with suppress(TornError):
                    sealer.open(path.name, content, Raw)
                    return True
    return is_empty


def _place(path: Path, content: bytes, entropy: Entropy) -> None:
    """Let the file appear whole and durable, unless another process has placed it."""
    temporary = path.with_name(f"{path.name}.{entropy.take(8).hex()}.part")
    try:
        write_new(temporary, content, is_durable=True)
        # Linked into place, so that of two processes one gives the file and both read it whole.
        with suppress(FileExistsError):
            path.hardlink_to(temporary)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def _read_key(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _NOFOLLOW)
    try:
        found = os.fstat(descriptor)
        check_private(path, found)
        key = os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(found.st_mode) or len(key) != KEY_BYTES:
        raise SpoolError(f"the spool's key is damaged: path=`{path}`")
    return key
