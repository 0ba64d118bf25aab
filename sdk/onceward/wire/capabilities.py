"""What a tool declares about its destination, and the guarantee that follows from it.

    query        idempotency   guarantee
    no           no            at most once
    no           yes           exactly once while the key is valid
    yes          no            exactly once if calls land within max_in_flight
    yes          yes           exactly once while the key is valid, or if calls land in time

The guarantee is shown wherever the operation is; never more than the declaration supports.
"""

from typing import Annotated

from msgspec import Meta, Struct

from onceward.wire import limits


class Capability(Struct, frozen=True, forbid_unknown_fields=True):
    """What the destination can do for us.

    Attributes:
        query: The tool can ask the destination whether the effect is there.
        idempotency_ms: How long the destination enforces an idempotency key, in milliseconds
            from its first use; None when it knows no keys.
    """

    query: bool = False
    idempotency_ms: (
        Annotated[int, Meta(ge=limits.RETENTION_MIN_MS, le=limits.RETENTION_MAX_MS)] | None
    ) = None

    @property
    def guarantee(self) -> str:
        """The strongest sentence that the declaration supports."""
        if self.query and self.idempotency_ms is not None:
            return "exactly once while the key is valid or if calls land within max_in_flight"
        if self.query:
            return "exactly once if calls land within max_in_flight"
        if self.idempotency_ms is not None:
            return "exactly once while the key is valid"
        return "at most once"
