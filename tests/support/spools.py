"""Spools of one process and the next, and a receipt to keep in them."""

from collections.abc import Callable
from pathlib import Path

from onceward.ports import Clock
from onceward.spool import Spool, SpooledReceipt, machine_identity
from onceward.wire.identifiers import LeaseToken, OperationName
from onceward.wire.receipts import Outcome, Receipt
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.scripted_client import ORIGIN
from tests.support.scripted_controller import WORKFLOW, operation_id

CANARY = "canary-7c2e"
"""Stands in every receipt, so that a test can look for it where it must not be."""


def opened(
    path: Path,
    clock: Clock | None = None,
    *,
    seed: str = "spool",
    key: str | None = None,
    identity: Callable[[], str | None] = machine_identity,
) -> Spool:
    """Hold a lane of the spool at ``path``, as the process would whose bytes ``seed`` names."""
    return Spool.open(
        path, clock=clock or ManualClock(), entropy=SeededEntropy(seed), key=key, identity=identity
    )


def spooled(effect_id: str = CANARY, *, origin: str = ORIGIN) -> SpooledReceipt:
    """Return a success on its way to the controller at ``origin``."""
    return SpooledReceipt(
        origin,
        WORKFLOW,
        OperationName("upload"),
        1,
        LeaseToken("token"),
        Receipt(Outcome.SUCCEEDED, operation_id("upload"), effect_id, {"document": CANARY}),
    )
