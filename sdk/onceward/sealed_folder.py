"""Files that only this user can read, each sealed, written whole or not at all.

    temporary ──write──fsync──rename──▶ name ──fsync of the directory──▶ durable

A file is bound to its name: renamed within a spool it still opens, under another name it does not.
"""

import hmac
import os
import stat
from pathlib import Path
from typing import TypeVar

import msgspec

from onceward.errors import SpoolError
from onceward.ports import Entropy
from onceward.sealing import (
    RANDOM_BYTES,
    Context,
    IntegrityError,
    Kind,
    open_sealed,
    seal,
)

T = TypeVar("T")

_SCHEMA = 1
_SPOOL = b"onceward spool"
_TEMPORARY = ".part"
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)


class TornError(Exception):
    """The file is not what was written under its name."""


class Sealer:
    """Seals and opens the files of one spool.

    Args:
        key: The spool's 32 bytes.
        entropy: For the salts.
    """

    def __init__(self, key: bytes, entropy: Entropy) -> None:
        # Two keys of one secret, so that what salts is never what seals.
        self._key = hmac.digest(key, b"onceward spool: seal", "sha256")
        self._salt_key = hmac.digest(key, b"onceward spool: salt", "sha256")
        self._entropy = entropy

    def seal(self, name: str, content: msgspec.Struct) -> bytes:
        """Return ``content`` sealed under the file name ``name``."""
        return seal(
            self._key,
            key_id=0,
            context=_context(name),
            plaintext=msgspec.json.encode(content),
            random=self._entropy.take(RANDOM_BYTES),
            salt_key=self._salt_key,
        )

    def open(self, name: str, sealed: bytes, shape: type[T]) -> T:
        """Return what was sealed.

        Raises:
            TornError: The bytes were not sealed under this name and key, or hold another shape.
        """
        try:
            plaintext = open_sealed(self._key, context=_context(name), sealed=sealed)
            return msgspec.json.decode(plaintext, type=shape)
        except (IntegrityError, msgspec.DecodeError):
            raise TornError(name) from None


class SealedFolder:
    """One directory of sealed files.

    Args:
        path: Made, for this user alone, when it is missing.
        sealer: Of the spool that it belongs to.

    Raises:
        SpoolError: The directory is another user's, or others may look into it.
        OSError: The system refused.
    """

    def __init__(self, path: Path, sealer: Sealer) -> None:
        self.path = path
        self._sealer = sealer
        make_private(path)

    def write(self, name: str, content: msgspec.Struct, *, is_durable: bool = True) -> None:
        """Put ``content`` under ``name``, in place of what was there.

        Args:
            name: One path component.
            content: Encoded as JSON, then sealed.
            is_durable: Return only once it would survive a power failure.

        Raises:
            OSError: The system refused; what was under the name is as it was.
        """
        sealed = self._sealer.seal(name, content)
        temporary = self.path / (name + _TEMPORARY)
        try:
            write_new(temporary, sealed, is_durable=is_durable)
            temporary.rename(self.path / name)
        except BaseException:
            # On a full disk half a file would take room for ever.
            temporary.unlink(missing_ok=True)
            raise
        if is_durable:
            self.make_durable()

    def read(self, name: str, shape: type[T]) -> T:
        """Return what is under ``name``.

        Raises:
            TornError: It is not what was written there.
            OSError: The system refused.
        """
        return self._sealer.open(name, (self.path / name).read_bytes(), shape)

    def names(self) -> list[str]:
        """Return the names of complete files, in order."""
        return sorted(path.name for path in self.path.iterdir() if path.suffix != _TEMPORARY)

    def mark(self, name: str) -> None:
        """Make an empty file, durable on return: its name is all that it says.

        Raises:
            OSError: The system refused.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | _NOFOLLOW
        os.close(os.open(self.path / name, flags, 0o600))
        self.make_durable()

    def remove(self, name: str) -> None:
        """Take the file away, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def move_to(self, other: "SealedFolder", name: str) -> None:
        """Give the file, as it is, to ``other``; durable on return.

        Raises:
            OSError: The system refused; the file is in one of the two.
        """
        (self.path / name).rename(other.path / name)
        other.make_durable()
        self.make_durable()

    def make_durable(self) -> None:
        """Let the names survive a power failure.

        Raises:
            OSError: The system refused.
        """
        sync_directory(self.path)


def make_private(path: Path) -> None:
    """Make ``path`` a directory of this user alone, or check that it is one.

    Raises:
        SpoolError: It is another user's, or others may look into it.
        OSError: The system refused.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_private(path, path.lstat())


def check_private(path: Path, found: os.stat_result) -> None:
    """Return if ``found`` belongs to this user and grants nobody else anything.

    Raises:
        SpoolError: It does not.
    """
    if stat.S_ISLNK(found.st_mode):
        raise SpoolError(f"a part of the spool is a symbolic link: path=`{path}`")
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise SpoolError(
            f"the spool must be this user's alone: path=`{path}` owner=`{found.st_uid}` "
            f"mode=`{mode:04o}`"
        )


def sync_directory(path: Path) -> None:
    """Let the names in the directory ``path`` survive a power failure.

    Raises:
        OSError: The system refused.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_new(path: Path, content: bytes, *, is_durable: bool) -> None:
    """Write a file of this user alone.

    Args:
        path: A temporary name: half of the file may be seen there.
        content: All of it.
        is_durable: Return only once the content would survive a power failure.

    Raises:
        OSError: The system refused; a part of it may be there.
    """
    # A leftover of a writer that died has this name; nobody else writes here.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | _NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if is_durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _context(name: str) -> Context:
    return Context(vault_id=_SPOOL, name=name, kind=Kind.SPOOL, revision=0, schema=_SCHEMA)
