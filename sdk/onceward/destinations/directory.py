"""A directory as a destination: one document for each operation, published at most once.

The file is named after the operation, so that a later attempt, on this machine or after a crash,
finds what an earlier one did. A name appears with its whole document or not at all and is never
replaced (``onceward.destinations.folder`` tells how), so the effect needs no key to be safe to
repeat: the second publication of the same bytes finds the first.

This is no file service for several users, and a worker on another machine must see the same
directory. It was run on Linux.
"""

import hashlib
import os
import re
from pathlib import Path

from onceward.destinations.folder import Content, Folder, NotOursError
from onceward.destinations.published import DifferentDocumentError, Published

DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
"""One document; it is held in memory while it is written."""

_OPERATION_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,127}")
_SUFFIX = re.compile(r"(\.[A-Za-z0-9][A-Za-z0-9_-]{0,15}){0,2}")


class DirectoryPublisher:
    """Publishes documents into one directory and looks them up again.

    Args:
        path: The directory. It must exist, belong to this user and be writable by nobody else;
            that is checked at every call.
        unnamed_files: Write through files that have no name until they are complete, where the
            file system has them. False forces the fallback of other systems.
    """

    def __init__(self, path: str | os.PathLike[str], *, unnamed_files: bool = True) -> None:
        self._path = Path(path).absolute()
        self._unnamed_files = unnamed_files

    def publish(self, operation_id: str, document: bytes, suffix: str = "") -> Published:
        """Make the document appear under the operation's name, once.

        Args:
            operation_id: Whose effect this is: 1 to 128 of a-z, 0-9, ``_`` and ``-``.
            document: The content, at most ``DOCUMENT_BYTES_MAX`` bytes.
            suffix: At most two file name extensions, each with its dot: ``.md``, ``.tar.gz``.

        Returns:
            The document as it now lies there, durable. The same answer when it was there before.

        Raises:
            DifferentDocumentError: The name holds other content; that was left alone.
            UnsafeDirectoryError: The directory is not this user's alone; nothing was written.
            ValueError: An argument is out of range; nothing was written.
            OSError: The system refused. Whether the document was published is for ``find`` to say.
        """
        name = _file_name(operation_id, suffix)
        if len(document) > DOCUMENT_BYTES_MAX:
            raise ValueError(
                f"document too large: bytes=`{len(document)}` max=`{DOCUMENT_BYTES_MAX}`"
            )
        intended = Content(sha256=hashlib.sha256(document).hexdigest(), bytes=len(document))
        with Folder.opened(self._path) as folder:
            try:
                self._create(folder, name, document)
            except FileExistsError:
                if self._read(folder, name) != intended:
                    raise DifferentDocumentError(
                        f"the name holds another document: path=`{self._path / name}`"
                    ) from None
        return self._published(name, intended)

    def find(self, operation_id: str, suffix: str = "") -> Published | None:
        """Look the operation's document up, reading all of it.

        Args:
            operation_id: As for ``publish``.
            suffix: As for ``publish``.

        Returns:
            The document, durable, or None when none was published until now. Whether it is the
            intended one is for the caller to compare.

        Raises:
            DifferentDocumentError: The name holds something that no publisher makes.
            UnsafeDirectoryError: The directory is not this user's alone.
            ValueError: An argument is out of range.
            OSError: The system refused; nothing is known.
        """
        name = _file_name(operation_id, suffix)
        with Folder.opened(self._path) as folder:
            content = self._read(folder, name)
        return None if content is None else self._published(name, content)

    def _create(self, folder: Folder, name: str, document: bytes) -> None:
        if self._unnamed_files and folder.create_unnamed(name, document):
            return
        folder.create_through_temporary(name, document)

    def _read(self, folder: Folder, name: str) -> Content | None:
        try:
            content = folder.read(name)
        except NotOursError:
            raise DifferentDocumentError(
                f"the name holds no file of this user: path=`{self._path / name}`"
            ) from None
        if content is not None:
            # Whoever linked it may have died before the directory reached the disk. Without this
            # a receipt could be outlived by its effect's absence.
            folder.make_durable()
        return content

    def _published(self, name: str, content: Content) -> Published:
        return Published(path=self._path / name, sha256=content.sha256, bytes=content.bytes)


def _file_name(operation_id: str, suffix: str) -> str:
    if not _OPERATION_ID.fullmatch(operation_id):
        raise ValueError("operation id cannot name a file: 1 to 128 of a-z, 0-9, _ and -")
    if not _SUFFIX.fullmatch(suffix):
        raise ValueError("suffix is no file name extension: at most two, each with its dot")
    return operation_id + suffix
