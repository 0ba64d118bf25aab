"""Opening controllers of one and the same vault, in this process or behind HTTP."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from onceward.controller import Controller
from onceward.embedded import open_embedded
from onceward.system import SystemClock
from onceward.transport import HttpController
from onceward.wire.identifiers import WorkspaceName
from onceward.wire.secrets import Secret
from tests.support.http_controller import running_controller

Open = Callable[[], Controller]
"""Opens one more controller, which its caller closes."""


@contextmanager
def embedded(vault: Path) -> Iterator[Open]:
    """Open controllers that host the vault's service themselves."""
    yield lambda: open_embedded(vault)


@contextmanager
def behind_http(vault: Path) -> Iterator[Open]:
    """Run a server on the vault and open controllers that speak to it."""
    with running_controller(vault) as (url, token):
        yield lambda: HttpController(
            url, Secret(token), workspace=WorkspaceName("default"), clock=SystemClock()
        )
