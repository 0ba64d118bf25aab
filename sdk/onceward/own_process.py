"""What belongs to one process is not used in another that was forked from it.

A fork copies connections, but not threads: two processes would read each other's replies, each act
on the other's grants, and wait for threads that only one of them has. Nothing of that can be mended
from inside, so that the copy is refused before anything is sent, and closing it does nothing.
"""

import os

from onceward.wire.problems import InvalidError, ProblemCode


class OwnProcess:
    """The process in which this object was made."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    def is_here(self) -> bool:
        """Return whether this is that process, and not one that was forked from it."""
        return os.getpid() == self._pid

    def check(self) -> None:
        """Return if this is that process.

        Raises:
            InvalidError: It is not, and nothing was done.
        """
        if not self.is_here():
            raise InvalidError(
                ProblemCode.OPENED_BEFORE_FORK,
                "the client was opened before a fork: open a client in this process",
            )
