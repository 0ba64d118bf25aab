"""What ``up`` leaves behind so that the other commands find the controller.

    $XDG_CONFIG_HOME/onceward/profiles/<name>.json   0600: address, data folder, token file
    $XDG_DATA_HOME/onceward/                         the vault, its key, the token, the lock

A profile may outlive its controller, and another process could then listen at the address and be
told the token. So ``up`` holds a lock in the data folder while it serves, and a profile is believed
only while that lock is held.

fcntl is imported where the lock is used: a system that has none runs no controller here, and still
reaches one elsewhere.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from onceward.ports import Clock
from onceward.wire.identifiers import is_name
from onceward_controller.cli import private_file

LOCK_NAME = "up.lock"
TOKEN_NAME = "admin.token"
_LOCK_TRIES = 3
_LOCK_PAUSE_MS = 50


class Profile(Struct, frozen=True):
    """Where a controller is.

    Attributes:
        url: Its address.
        data: The folder that it serves.
        token_expires_ms: When the token in that folder stops being good, in Unix milliseconds.
    """

    url: str
    data: str
    token_expires_ms: int

    @property
    def token_file(self) -> Path:
        """Where the token lies."""
        return Path(self.data) / TOKEN_NAME


class InUseError(Exception):
    """Another ``up`` serves this folder."""


def default_data() -> Path:
    """Return the folder that ``up`` and ``init`` use when they are told none."""
    return _home("XDG_DATA_HOME", ".local/share") / "onceward"


def path_of(name: str) -> Path:
    """Return where the profile ``name`` lies.

    Raises:
        ValueError: It cannot be the name of a profile.
    """
    if not is_name(name):
        raise ValueError(f"not a name of a profile: `{name}`")
    return _home("XDG_CONFIG_HOME", ".config") / "onceward" / "profiles" / f"{name}.json"


def load(name: str) -> Profile | None:
    """Return the profile, or None where there is none.

    Raises:
        PrivateFileError: It is not fit for use.
        ValueError: It cannot be the name of a profile.
    """
    path = path_of(name)
    text = private_file.read(path)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Profile)
    except msgspec.DecodeError:
        raise private_file.PrivateFileError(
            f"the profile cannot be read: remove it and start `onceward up` again: path=`{path}`"
        ) from None


def save(name: str, profile: Profile) -> None:
    """Write the profile.

    Raises:
        PrivateFileError: It cannot be written.
        ValueError: It cannot be the name of a profile.
    """
    text = msgspec.json.format(msgspec.json.encode(profile), indent=2).decode()
    private_file.write(path_of(name), f"{text}\n", replace=True)


@contextmanager
def serving(data: Path, clock: Clock) -> Iterator[None]:
    """Hold the lock that says that a controller serves ``data``.

    Raises:
        InUseError: Another process holds it.
        OSError: The lock file cannot be made.
    """
    descriptor = os.open(data / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not any(_is_taken(descriptor, clock) for _ in range(_LOCK_TRIES)):
            raise InUseError(f"another `onceward up` serves this folder: `{data}`")
        yield
    finally:
        os.close(descriptor)


def is_served(data: Path) -> bool:
    """Return whether a process holds the lock on ``data``."""
    import fcntl

    try:
        descriptor = os.open(data / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _is_taken(descriptor: int, clock: Clock) -> bool:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # ``is_served`` holds the lock for a moment when it asks; another ``up`` holds it for good.
        clock.sleep(_LOCK_PAUSE_MS)
        return False
    return True


def _home(variable: str, fallback: str) -> Path:
    # The XDG specification says to ignore a relative path.
    given = os.environ.get(variable, "")
    return Path(given) if Path(given).is_absolute() else Path.home() / fallback
