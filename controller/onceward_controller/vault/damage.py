"""Damage that no single object shows: a gap, a broken chain, a missing record."""

from onceward.sealing import IntegrityError


class DamagedLogError(IntegrityError):
    """Stored objects do not make the log that was written. A person must look."""

    def __init__(self, fact: str) -> None:
        Exception.__init__(self, fact)
