"""What the contracts of clients ask for: a client of each controller, and a tool with its place.

Every test that asks for one of these runs twice, with the controller in this process and behind
HTTP.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

import onceward as ow
from onceward.client import Client
from tests.support.destination import Destination
from tests.support.open_controllers import Open, behind_http, embedded


@pytest.fixture(params=[embedded, behind_http], ids=["embedded", "http"])
def open_controller(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens controllers of one and the same vault."""
    opening: Callable[[Path], AbstractContextManager[Open]] = request.param
    with opening(tmp_path / "vault") as open_controller:
        yield open_controller


@pytest.fixture
def connect(open_controller: Open) -> Iterator[Callable[[], Client]]:
    """Makes clients that are closed after the test."""
    with ExitStack() as clients:
        yield lambda: clients.enter_context(Client.over(open_controller()))


@pytest.fixture
def client(connect: Callable[[], Client]) -> Client:
    return connect()


@pytest.fixture
def destination() -> Destination:
    return Destination()


@pytest.fixture
def upload(destination: Destination) -> ow.Tool:
    return ow.Tool("upload", execute=destination.put, destination="s3://reports")
