"""A spool opened with another key loses nothing: what waits is delivered with the right one.

ONCEWARD_SPOOL_KEY that is set for one start and missing at the next, or set to another service's,
is a slip of configuration. A file that another key sealed is not torn.
"""

from contextlib import closing, suppress
from pathlib import Path

from onceward.errors import SpoolError
from tests.support.scripted_client import ORIGIN
from tests.support.spools import opened, spooled


def test_a_start_with_another_key_does_not_cost_the_receipts_that_wait(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    with closing(opened(path)) as spool:
        spool.keep(spooled())

    # Refusing to open would be as good as leaving the receipt alone.
    with suppress(SpoolError), closing(opened(path, key="ab" * 32)) as other:
        other.undelivered(ORIGIN)

    with closing(opened(path)) as again:
        assert [receipt for _, receipt in again.undelivered(ORIGIN)] == [spooled()]
