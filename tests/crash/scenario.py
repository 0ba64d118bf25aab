"""What the processes of one crash have in common: where everything is, and what is to be run.

Two operations: ``act``, whose process is killed, and ``after``, which must not start before ``act``
is settled and must run once it is. Both have the capability under test.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import msgspec

import onceward as ow
from onceward.system import SystemClock
from onceward_controller import bootstrap
from onceward_controller.service.service import Service
from onceward_controller.vault.s3 import connect
from onceward_controller.vault.s3.client import S3Settings
from onceward_controller.vault.sqlite import SqliteStore
from onceward_controller.vault.store import Store
from tests.crash.destination import Destination

Point = Literal["before effect", "after effect", "after receipt", "during renewal", "never"]
POINTS: tuple[Point, ...] = ("before effect", "after effect", "after receipt", "during renewal")
CAPABILITIES = ("none", "query", "idempotency", "both")

LEASE = timedelta(seconds=2)
"""Short, so that a takeover need not wait long; long enough for a busy machine to call in."""
IN_FLIGHT = timedelta(milliseconds=100)
TIMEOUT = timedelta(seconds=5)
"""Past the first renewal, at which some are killed; an absence counts only after it as well."""


class Scenario(msgspec.Struct, frozen=True):
    """One case, as the test tells it to its processes.

    Attributes:
        folder: Holds the destination and the key file, and the vault unless it lies in ``s3``.
        capability: One of ``CAPABILITIES``.
        s3: The bucket that holds the vault; None for a SQLite file.
    """

    folder: str
    capability: str
    s3: S3Settings | None = None

    @property
    def key_file(self) -> Path:
        return Path(self.folder) / "vault.key"

    def store(self) -> Store:
        if self.s3 is None:
            return SqliteStore(Path(self.folder) / "vault.db", SystemClock())
        return connect(self.s3)

    def service(self) -> Service:
        width = 1 if self.s3 is None else bootstrap.READS_AT_ONCE_S3
        return bootstrap.open_service(self.store(), self.key_file, reads_at_once=width)

    def destination(self) -> Destination:
        return Destination(Path(self.folder) / "destination")

    def tool(self, before: "Hook", after: "Hook") -> ow.Tool:
        """Return the tool under test.

        Args:
            before: Called right before the effect, with the operation's name.
            after: Called right after it.
        """
        destination = self.destination()
        knows_keys = self.capability in ("idempotency", "both")

        def find(call: ow.Call) -> ow.Receipt:
            if destination.has(call.operation_id):
                return call.succeeded(effect_id=call.operation_id)
            return call.not_executed("it is not there")

        @ow.tool(
            "act",
            query=find if self.capability in ("query", "both") else None,
            idempotency=timedelta(hours=1) if knows_keys else None,
            lease=LEASE,
            max_in_flight=IN_FLIGHT,
            timeout=TIMEOUT,
        )
        def act(call: ow.Call) -> ow.Receipt:
            before(call.arguments["name"])
            key = call.idempotency_key if knows_keys else None
            destination.act(call.operation_id, key=key)
            after(call.arguments["name"])
            return call.succeeded(effect_id=call.operation_id, result={"done": True})

        return act


@dataclass(frozen=True)
class Hook:
    """Something to do when an operation comes to a point; nothing, unless a victim says so."""

    operation: str = ""
    do: Callable[[], None] = lambda: None

    def __call__(self, operation: str) -> None:
        if operation == self.operation:
            self.do()


def hold_still() -> None:
    """Say on standard output that the point is reached, then wait to be killed."""
    print("reached", flush=True)
    SystemClock().sleep(600_000)
