"""A spool's directory, and which process holds which part of it.

    <spool>/key, check      see ``onceward.spool_key``
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
from collections.abc import Callable
from pathlib import Path

from onceward.errors import SpoolError
from onceward.sealed_folder import SealedFolder, Sealer, make_private

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
