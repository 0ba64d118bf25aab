"""What the tests of the SDK ask for: a client with everything around it, each part in their hands.

tool ──▶ client ──▶ controller      scripted: it says what it was told to say
           │  │
           │  └───▶ clock           stands still until it is moved
           └──────▶ spool           on the disk, for those who ask for ``spooling_client``

http_controller ──▶ server          scripted as well, down to the bytes
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import onceward as ow
from onceward.client import Client
from onceward.spool import Spool
from onceward.transport import HttpController
from tests.support.http_transport import controller_at
from tests.support.ports import ManualClock
from tests.support.scripted_client import client_of, uploader
from tests.support.scripted_controller import ScriptedController
from tests.support.scripted_http import ScriptedServer, scripted_server
from tests.support.spools import opened


@pytest.fixture
def controller() -> ScriptedController:
    return ScriptedController()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def client(controller: ScriptedController, clock: ManualClock) -> Iterator[Client]:
    """A client without a spool."""
    with client_of(controller, clock) as client:
        yield client


@pytest.fixture
def spooling_client(
    controller: ScriptedController, clock: ManualClock, spool_path: Path
) -> Iterator[Client]:
    """A client that keeps what it cannot deliver at ``spool_path``."""
    with client_of(controller, clock, spool=opened(spool_path, clock)) as client:
        yield client


@pytest.fixture
def made() -> list[ow.Call]:
    """The calls of ``upload``, in order."""
    return []


@pytest.fixture
def upload(made: list[ow.Call]) -> ow.Tool:
    return uploader(made)


@pytest.fixture
def spool_path(tmp_path: Path) -> Path:
    """Where a spool may be made, with its parents."""
    return tmp_path / "state" / "spool"


@pytest.fixture
def spool(spool_path: Path) -> Iterator[Spool]:
    """A spool in the hands of the test alone, of no client."""
    with closing(opened(spool_path)) as spool:
        yield spool


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as server:
        yield server


@pytest.fixture
def http_controller(server: ScriptedServer) -> Iterator[HttpController]:
    with closing(controller_at(server.url)) as controller:
        yield controller
