"""What a directory says of a document: it is there, another is, or the directory is not safe."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Published:
    """A complete document under its final name, as read back or as just written.

    Attributes:
        path: Absolute path of the file.
        sha256: SHA-256 of its content, 64 lowercase hexadecimal digits.
        bytes: Its size.
    """

    path: Path
    sha256: str
    bytes: int


class DestinationError(Exception):
    """The directory cannot answer; a person must look."""


class UnsafeDirectoryError(DestinationError):
    """Someone else could write here: give the directory back to this user before trusting it."""


class DifferentDocumentError(DestinationError):
    """The operation's name holds something else: nothing was written, and nothing was replaced."""
