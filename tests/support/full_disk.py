"""A disk that takes no more: every file that grows beyond a few bytes is refused, half written."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_BYTES = 100
"""Less than any sealed file has."""


@contextmanager
def disk_that_can_fill_up() -> Iterator[Callable[[], None]]:
    """Give what fills the disk, for this process; at the end there is room again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (_BYTES, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
