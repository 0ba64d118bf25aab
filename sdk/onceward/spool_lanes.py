"""A spool's directory, its key, and which process holds which part of it.

    <spool>/key             32 random bytes, unless ONCEWARD_SPOOL_KEY gives them
    <spool>/lanes/00..31/   one for each process at work: ``lock``, ``receipts/``, ``grants/``
    <spool>/dead/           receipts that were refused for good, or came after "unknown" was sent
    <spool>/torn/           files that are not what was written

A process holds the first lane that it can lock, so that several workers can be started with one
setting. A lock lasts as long as any process has its file open: children that may still be making
a call inherit it, and nobody takes their lane from under them. Whoever opens the spool also takes
over what is left in lanes that nobody holds, so that a receipt waits for no particular process.
"""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from onceward.errors import SpoolError
from onceward.ports import Entropy
from onceward.sealed_folder import SealedFolder, Sealer, check_private, make_private
from onceward.sealing import KEY_BYTES
from onceward.wire.secrets import Secret

LANES_MAX = 32
"""Processes that one spool serves at a time."""

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


class Lane:
    """One process's part of a spool, locked.

    Attributes:
        receipts: Receipts to be delivered.
        grants: Grants, and marks of those that were called.
        lock_descriptor: For children that may be making a call: as long as they have it open, the
            lane stays locked.
    """

    def __init__(self, path: Path, sealer: Sealer, lock_descriptor: int) -> None:
        self.receipts = SealedFolder(path / "receipts", sealer)
        self.grants = SealedFolder(path / "grants", sealer)
        self.lock_descriptor = lock_descriptor

    def take_over(self, other: "Lane") -> None:
        """Move what ``other`` holds into this lane.

        Raises:
            OSError: The system refused; each file is in one of the two.
        """
        for name in other.receipts.names():
            other.receipts.move_to(self.receipts, name)
        # A grant's mark before the grant: what lies here without its mark counts as never called.
        for name in sorted(other.grants.names(), key=lambda name: "." not in name):
            other.grants.move_to(self.grants, name)

    def close(self) -> None:
        """Let go of the lane; the lock ends when no child has it either."""
        os.close(self.lock_descriptor)


def hold_lane(root: Path, sealer: Sealer, lock: Callable[[int], bool]) -> Lane:
    """Lock the first free lane, and take over what other free lanes hold.

    Args:
        root: The spool, a directory of this user alone.
        sealer: Of the spool.
        lock: From ``file_lock``.

    Raises:
        SpoolError: All lanes are held.
        OSError: The system refused.
    """
    lanes = root / "lanes"
    make_private(lanes)
    held: Lane | None = None
    for number in range(LANES_MAX):
        path = lanes / f"{number:02d}"
        if held is not None and not path.is_dir():
            break
        make_private(path)
        descriptor = os.open(
            path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | _NOFOLLOW, 0o600
        )
        if not lock(descriptor):
            os.close(descriptor)
            continue
        lane = Lane(path, sealer, descriptor)
        if held is None:
            held = lane
            continue
        try:
            held.take_over(lane)
        finally:
            lane.close()
    if held is None:
        raise SpoolError(f"all {LANES_MAX} lanes of the spool are held: path=`{root}`")
    return held


def load_key(root: Path, entropy: Entropy, given: str | None) -> Secret[bytes]:
    """Return the spool's key, made if there is none.

    Args:
        root: The spool, a directory of this user alone.
        entropy: For a new key.
        given: The key as 64 hexadecimal digits; None to keep it in the directory.

    Raises:
        SpoolError: The key has another form, or its file is not this user's alone.
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
    path = root / "key"
    if not path.exists():
        _make_key(path, entropy)
    return Secret(_read_key(path))


def _make_key(path: Path, entropy: Entropy) -> None:
    # Linked into place, so that of two processes one gives the key and both read it whole.
    temporary = path.with_name(f"key.{entropy.take(8).hex()}.part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, entropy.take(KEY_BYTES))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


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


def file_lock() -> Callable[[int], bool]:
    """Return what locks an open file, or says that another process has it locked.

    Raises:
        SpoolError: This platform has no such locks.
    """
    try:
        import fcntl  # noqa: PLC0415 - Windows has none, and can do without a spool
    except ImportError:
        raise SpoolError("this platform has no file locks: leave the spool out") from None

    def lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
                return False
            raise
        return True

    return lock
