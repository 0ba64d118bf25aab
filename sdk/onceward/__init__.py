"""Onceward: what an agent is about to do is written down before it does it.

    import onceward as ow

    @ow.tool("upload", destination="s3://reports", idempotency=timedelta(hours=24))
    def upload(call: ow.Call) -> ow.Receipt: ...

    with ow.Client(url, token) as client:
        work = client.create("report-17", [upload.operation("upload", {"document": "..."})])
        results = client.run(work.id, [upload])

A name is loaded when it is first used, so that declaring a tool loads no HTTP library and no
cryptography. ``__all__`` is the whole of what an agent needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onceward.asynchronous import AsyncClient
    from onceward.call import Call
    from onceward.client import Client
    from onceward.errors import (
        ConflictError,
        DamagedError,
        DeniedError,
        InvalidError,
        LocalReason,
        NotExecuted,
        NotFoundError,
        ProblemError,
        SpoolError,
        Stopped,
        UnavailableError,
        UnknownWriteError,
    )
    from onceward.tools import Retry, Tool, tool
    from onceward.wire.decisions import Mode, StopReason, WaitReason
    from onceward.wire.receipts import Outcome, Receipt, ResultOmitted

__all__ = [
    "AsyncClient",
    "Call",
    "Client",
    "ConflictError",
    "DamagedError",
    "DeniedError",
    "InvalidError",
    "LocalReason",
    "Mode",
    "NotExecuted",
    "NotFoundError",
    "Outcome",
    "ProblemError",
    "Receipt",
    "ResultOmitted",
    "Retry",
    "SpoolError",
    "StopReason",
    "Stopped",
    "Tool",
    "UnavailableError",
    "UnknownWriteError",
    "WaitReason",
    "tool",
]

_HOMES = {
    "onceward.asynchronous": ("AsyncClient",),
    "onceward.call": ("Call",),
    "onceward.client": ("Client",),
    "onceward.tools": ("Retry", "Tool", "tool"),
    "onceward.wire.decisions": ("Mode", "StopReason", "WaitReason"),
    "onceward.wire.receipts": ("Outcome", "Receipt", "ResultOmitted"),
}
# A public name with no home above is one of those that an agent catches or raises.
_HOME_OF = dict.fromkeys(__all__, "onceward.errors") | {
    name: home for home, names in _HOMES.items() for name in names
}


def __getattr__(name: str) -> object:
    """Load a public name on its first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    loaded = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = loaded
    return loaded


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
