"""A secret of 32 bytes in a file that only its owner can read.

It is created with its final mode, never overwritten, and durable, as is its directory entry, once
``create_key_file`` returns. Reading trusts what was opened and not the path: the checks are made on
the open file, a symbolic link is not followed, and a pipe that someone put there does not make the
reader wait.
"""

import errno
import os
import shlex
import stat
from pathlib import Path

SECRET_BYTES = 32
MODE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class UnlockError(Exception):
    """The vault stays closed until a person does what the message says."""


def create_key_file(path: Path, secret: bytes) -> None:
    """Write ``secret`` to a new file at ``path``.

    Args:
        path: In a directory that exists; nothing may be there yet.
        secret: 32 uniformly random bytes.

    Raises:
        UnlockError: Something is there already, or the file cannot be created, or not be written
            in full; in the last case it is removed again.
        ValueError: ``secret`` has another size.
    """
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a key file holds {SECRET_BYTES} bytes")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, MODE)
    except FileExistsError:
        raise UnlockError(
            "key file exists and is never overwritten, since it may be all that opens a vault: "
            f"choose another path, or move it away: path=`{path}`"
        ) from None
    except OSError as error:
        raise _failed("key file cannot be created", path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), MODE)  # The umask may have taken even the owner's bits away.
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        _sync_directory(path.parent)
    except OSError as error:
        path.unlink()  # It is ours: O_EXCL created it. Left behind, it would bar the next try.
        raise _failed("key file cannot be written", path, error) from error


def read_key_file(path: Path) -> bytes:
    """Return the secret in the file at ``path``.

    Raises:
        UnlockError: The file is missing or cannot be read, or is not a regular file of our own
            with exactly 32 bytes that nobody else may touch. The message says what to do.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            check_key_file(path, os.fstat(descriptor), reader=os.geteuid())
            return os.read(descriptor, SECRET_BYTES)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnlockError(
                f"key file is a symbolic link: give the path of the file itself: path=`{path}`"
            ) from None
        raise _failed("key file cannot be read", path, error) from error


def check_key_file(path: Path, status: os.stat_result, *, reader: int) -> None:
    """Return if an open file may be believed to hold a secret that nobody else knows.

    Args:
        path: For the message.
        status: Of the open file.
        reader: The user id of this process.

    Raises:
        UnlockError: See ``read_key_file``.
    """
    quoted = shlex.quote(str(path))
    if not stat.S_ISREG(status.st_mode):
        raise UnlockError(f"key file is not a regular file: path=`{path}`")
    if status.st_uid != reader:
        raise UnlockError(
            f"key file belongs to another user, who can change it: chown {reader} {quoted}, "
            "or run as its owner"
        )
    if status.st_mode & _OTHERS:
        raise UnlockError(f"key file is open to other users: chmod 600 {quoted}")
    if status.st_size != SECRET_BYTES:
        raise UnlockError(
            f"key file is damaged, or was never finished: restore it from its backup: "
            f"path=`{path}` size=`{status.st_size}` expected=`{SECRET_BYTES}`"
        )


def _failed(fact: str, path: Path, error: OSError) -> UnlockError:
    return UnlockError(f"{fact}: {error.strerror}: path=`{path}`")


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
