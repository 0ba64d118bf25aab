"""One directory that only this user can write, held open.

Every name is resolved against the open directory, never against its path again: who renames the
directory, or puts a symbolic link in its place, changes nothing for a call that is under way.

A new file appears complete or not at all, and never replaces another:

    unnamed file ──write──fsync──link──▶ name ──fsync of the directory──▶ durable
        └─ the kernel frees it when its writer dies

Where the file system has no unnamed files, a hidden temporary takes their place. A writer that
dies before it removes its temporary leaves it behind. Nobody ever removes another writer's
temporary (it may be alive), so each takes the first free one of a bounded number of names.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onceward.destinations.published import UnsafeDirectoryError

TEMPORARIES_MAX = 128
"""Temporaries of one name that may lie about: more than an operation is ever given attempts."""

_READ_BYTES = 256 * 1024
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

# Zero where the platform lacks the flag: the call then does without its protection.
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_UNNAMED = getattr(os, "O_TMPFILE", 0)
_NEW_FILE_MODE = 0o600
_DESCRIPTORS = Path("/proc/self/fd")

# What open(2) answers where a kernel or file system has no unnamed files.
_NO_UNNAMED_FILES = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})


class NotOursError(Exception):
    """The name leads to something other than a file of this user."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, without holding it."""

    sha256: str
    bytes: int


class Folder:
    """An open, checked directory. ``Folder.opened`` makes one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator["Folder"]:
        """Open ``path`` for one call.

        Args:
            path: The directory itself; its last component may not be a symbolic link.

        Yields:
            The open directory.

        Raises:
            UnsafeDirectoryError: It is a symbolic link, no directory, owned by another user,
                writable by another, or this platform cannot hold a directory open.
            OSError: It is missing, or the system refused.
        """
        if os.open not in os.supports_dir_fd:
            raise UnsafeDirectoryError(f"this platform cannot hold a directory open: path=`{path}`")
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _DIRECTORY | _NOFOLLOW)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise UnsafeDirectoryError(f"not a directory itself: path=`{path}`") from error
            raise
        try:
            _check_is_ours(os.fstat(descriptor), path)
            yield cls(descriptor)
        finally:
            os.close(descriptor)

    def create_unnamed(self, name: str, content: bytes) -> bool:
        """Write an unnamed file, then give it its name.

        Args:
            name: The final name, one path component.
            content: All that the file will hold.

        Returns:
            False where there are no unnamed files; nothing was written then.

        Raises:
            FileExistsError: The name is taken; nothing was written.
            OSError: The system refused. The name may be taken by this very file only if the
                directory could not be made durable after the link.
        """
        if not _UNNAMED or not _DESCRIPTORS.is_dir():
            return False
        try:
            draft = os.open(
                ".", os.O_WRONLY | os.O_CLOEXEC | _UNNAMED, _NEW_FILE_MODE, dir_fd=self._descriptor
            )
        except OSError as error:
            if error.errno in _NO_UNNAMED_FILES:
                return False
            raise
        try:
            _write_durably(draft, content)
            os.link(
                _DESCRIPTORS / str(draft), name, dst_dir_fd=self._descriptor, follow_symlinks=True
            )
        finally:
            os.close(draft)
        self.make_durable()
        return True

    def create_through_temporary(self, name: str, content: bytes) -> None:
        """Write a hidden temporary, give it its name as well, then take the first name away.

        Args:
            name: The final name, one path component.
            content: All that the file will hold.

        Raises:
            FileExistsError: The name is taken; nothing was published.
            OSError: As ``create_unnamed``, or all temporaries of this name are taken.
        """
        temporary, draft = self._open_temporary(name)
        try:
            try:
                _write_durably(draft, content)
            finally:
                os.close(draft)
            os.link(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        finally:
            os.unlink(temporary, dir_fd=self._descriptor)
        self.make_durable()

    def read(self, name: str) -> Content | None:
        """Hash what ``name`` holds.

        Args:
            name: The final name, one path component.

        Returns:
            None when there is no such name.

        Raises:
            NotOursError: It is a symbolic link, no plain file, or another user's.
            OSError: The system refused.
        """
        flags = os.O_RDONLY | os.O_CLOEXEC | _NOFOLLOW | _NONBLOCK
        try:
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENXIO}:
                raise NotOursError from error
            raise
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or not _is_own(found):
                raise NotOursError
            return _hash(descriptor)
        finally:
            os.close(descriptor)

    def make_durable(self) -> None:
        """Let the names survive a power failure.

        Raises:
            OSError: The system refused; the names may be gone after a power failure.
        """
        os.fsync(self._descriptor)

    def _open_temporary(self, name: str) -> tuple[str, int]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | _NOFOLLOW
        for number in range(TEMPORARIES_MAX):
            temporary = f".{name}.{number}.part"
            try:
                draft = os.open(temporary, flags, _NEW_FILE_MODE, dir_fd=self._descriptor)
            except FileExistsError:
                continue
            return temporary, draft
        raise OSError(errno.EMFILE, "too many unfinished temporaries", f".{name}.*.part")


def _check_is_ours(found: os.stat_result, path: Path) -> None:
    if not _is_own(found):
        raise UnsafeDirectoryError(
            f"the directory is another user's: path=`{path}` owner=`{found.st_uid}`"
        )
    if found.st_mode & _WRITABLE_BY_OTHERS:
        mode = stat.S_IMODE(found.st_mode)
        raise UnsafeDirectoryError(
            f"others can write to the directory: path=`{path}` mode=`{mode:04o}`"
        )


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid()


def _write_durably(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def _hash(descriptor: int) -> Content:
    digest, size = hashlib.sha256(), 0
    while block := os.read(descriptor, _READ_BYTES):
        digest.update(block)
        size += len(block)
    return Content(sha256=digest.hexdigest(), bytes=size)
