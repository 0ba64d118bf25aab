"""Small files that only their owner may read: tokens and profiles.

Written whole under a temporary name and put in place at once, so that a reader never sees half a
token. Read through the checks on the open file: one that others could read may be known to them,
and one that others could write may not be ours.
"""

import os
import shlex
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

MODE = 0o600
BYTES_MAX = 64 * 1024
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Where they are missing nothing of ours is kept, but looking for a file must not fail."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class PrivateFileError(Exception):
    """The file is not fit for use; the message says what to do."""


def write(path: Path, text: str, *, replace: bool) -> None:
    """Put ``text`` in a 0600 file at ``path``, making its folder (0700) where there is none.

    Args:
        path: Where.
        text: The content.
        replace: Whether a file that is there may be replaced.

    Raises:
        PrivateFileError: It is there and may not be replaced, or cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), MODE)
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                Path(made).replace(path)
            else:
                os.link(made, path)
        finally:
            with suppress(FileNotFoundError):
                Path(made).unlink()
    except FileExistsError:
        raise PrivateFileError(f"file exists and is not overwritten: path=`{path}`") from None
    except OSError as error:
        raise PrivateFileError(
            f"file cannot be written: {error.strerror}: path=`{path}`"
        ) from error


def read(path: Path) -> str | None:
    """Return the text of a private file, or None where there is none.

    Raises:
        PrivateFileError: It cannot be read, others may touch it, or it is no such file.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        descriptor = os.open(path, os.O_RDONLY | _AS_IT_IS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PrivateFileError(f"file cannot be read: {error.strerror}: path=`{path}`") from error
    with os.fdopen(descriptor, "rb") as file:
        _check(path, os.fstat(file.fileno()))
        body = file.read(BYTES_MAX)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise PrivateFileError(f"file is not text: path=`{path}`") from None


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PrivateFileError(f"not a regular file: path=`{path}`")
    if status.st_uid != os.geteuid():
        raise PrivateFileError(f"file belongs to another user: path=`{path}`")
    if status.st_mode & _OTHERS:
        quoted = shlex.quote(str(path))
        raise PrivateFileError(
            f"file is open to other users, who may know what is in it: chmod 600 {quoted}, "
            "or make a new token"
        )
