"""A destination that keeps the truth: a folder in which every effect that landed is one file.

    effects/<operation id>.<number>       one for each effect that happened
    keys/<idempotency key>                what a destination that knows keys remembers

Files are made with O_EXCL and stay: what a process did before it was killed is counted.
"""

import os
from pathlib import Path


class Destination:
    """What a tool acts on, and what a test counts afterwards."""

    def __init__(self, folder: Path) -> None:
        self._effects = folder / "effects"
        self._keys = folder / "keys"
        for each in (self._effects, self._keys):
            each.mkdir(parents=True, exist_ok=True)

    def act(self, operation_id: str, *, key: str | None) -> None:
        """Have the effect; with a key only if it was not had under that key before."""
        if key is not None and not _made(self._keys / key):
            return
        number = 1
        while not _made(self._effects / f"{operation_id}.{number}"):
            number += 1

    def has(self, operation_id: str) -> bool:
        return self.count(operation_id) > 0

    def count(self, operation_id: str) -> int:
        return len(list(self._effects.glob(f"{operation_id}.*")))


def _made(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True
