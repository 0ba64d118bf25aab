"""A client of a scripted controller, with a clock that a test moves, and a tool to run."""

from collections.abc import Iterator
from contextlib import contextmanager

import onceward as ow
from onceward.client import Client
from onceward.controller import Controller
from onceward.engine import Ports
from onceward.spool import Spool
from onceward.system import ThreadSpawner
from tests.support.ports import ManualClock, SeededEntropy

ORIGIN = "http://127.0.0.1:1"
SOON_MS = 20
"""A timeout: the tool that waits for it is told, so that no test waits for longer than this."""


@contextmanager
def client_of(
    controller: Controller, clock: ManualClock, *, spool: Spool | None = None, seed: str = "client"
) -> Iterator[Client]:
    """Give a client whose threads are real and whose time is the test's."""
    ports = Ports(clock, SeededEntropy(seed), ThreadSpawner())
    with Client.over(controller, spool=spool, origin=ORIGIN, ports=ports) as client:
        yield client


def uploader(made: list[ow.Call]) -> ow.Tool:
    """A tool that notes its calls and succeeds with its arguments."""

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        made.append(call)
        return call.succeeded(effect_id="obj-17", result=dict(call.arguments))

    return upload
