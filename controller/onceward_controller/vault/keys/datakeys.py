"""One random data key for each workflow, in a revision log of its own.

    data key log, revision 1 = the key, sealed under the primary key-encryption key

Random, not derived: a derived key could be made again after it was destroyed. Its log is separate
from the workflow's, so that wrapping it anew and destroying it are revisions that race by the
same rule as everything else.
"""

from collections.abc import Mapping

from onceward.sealing import Kind, read_header
from onceward_controller.vault.damage import DamagedLogError
from onceward_controller.vault.log import EMPTY, Desk, RevisionLog, SealKey
from onceward_controller.vault.store import ConflictError

KEY_BYTES = 32
_KEY_ID = 1


class DataKeys:
    """Makes and reads data keys.

    Args:
        desk: The vault's.
        wrapping: Every key-encryption key that is not destroyed, by number.
        primary: The number of the one that new data keys are sealed under.
    """

    def __init__(self, desk: Desk, wrapping: Mapping[int, bytes], primary: int) -> None:
        self._desk = desk
        self._wrapping = wrapping
        self._primary = primary

    def log(self, name: str) -> RevisionLog:
        """Return the log of the data key that lies under ``name``."""
        return RevisionLog(self._desk, name, Kind.DATA_KEY)

    def open(self, name: str, revision: int, stored: bytes) -> SealKey:
        """Return the data key that one revision of its log holds.

        Raises:
            IntegrityError: It is not what was written, or its wrapping key is gone.
        """
        key_id = read_header(stored, name=name).key_id
        wrapping = self._wrapping.get(key_id)
        if wrapping is None:
            raise DamagedLogError("the data key is sealed under a key that the keyring lacks")
        body = self.log(name).open(revision, stored, SealKey(key=wrapping, key_id=key_id))
        return SealKey(key=body, key_id=_KEY_ID)

    def read(self, name: str) -> SealKey | None:
        """Return the data key under ``name``, or None when nobody has made one.

        Raises:
            IntegrityError: It is not what was written.
            StoreError: The store could not be read.
        """
        log = self.log(name)
        newest = log.newest()
        if newest == 0:
            return None
        [stored] = log.fetch([newest])
        return self.open(name, newest, stored)

    def make(self, name: str) -> tuple[SealKey, bool]:
        """Return the data key under ``name``, made now unless somebody was first.

        Returns:
            The key, and whether it was made now: then nothing was ever sealed under it.

        Raises:
            IntegrityError: What is there is not what was written.
            StoreError: The store could not be written or read.
        """
        key = self._desk.entropy.take(KEY_BYTES)
        wrapping = SealKey(key=self._wrapping[self._primary], key_id=self._primary)
        try:
            self.log(name).append(EMPTY, key, wrapping)
        except ConflictError:
            found = self.read(name)
            if found is None:
                raise
            return found, False
        return SealKey(key=key, key_id=_KEY_ID), True
