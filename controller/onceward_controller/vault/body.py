"""What one revision of a workflow's log says, once opened.

Tagged arrays in MessagePack: a field may be added at the end with a default, none may be moved.
"""

import msgspec
from msgspec import Struct

from onceward_controller.protocol.events import Event
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.rows import Row
from onceward_controller.protocol.workflow import Progress

WRITE_ID_BYTES = 16
SNAPSHOT_EVERY = 32
"""Every revision whose number this divides carries a snapshot, so that readers know where."""


class Entry(Struct, frozen=True, array_like=True):
    """One command of the revision: who asked for what, and what it changed."""

    actor: str
    command: str
    events: tuple[Event, ...]


class Body(Struct, frozen=True, array_like=True):
    """One revision.

    Attributes:
        write_id: 16 random bytes; names this write in the history.
        time_ms: Trusted time at which it was decided.
        safe: Whether that time was to be believed.
        entries: Commands decided together, in order.
        records: Full records of operations that this revision made or changed final.
        row: The index row, where this revision moved the workflow to another class.
        snapshot: The progress after this revision, every ``SNAPSHOT_EVERY``.
        snapshot_row: The index row in force, beside every snapshot.
    """

    write_id: bytes
    time_ms: int
    safe: bool
    entries: tuple[Entry, ...]
    records: tuple[Operation, ...] = ()
    row: Row | None = None
    snapshot: Progress | None = None
    snapshot_row: Row | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Body)


def encode(body: Body) -> bytes:
    """Return the bytes to seal."""
    return _encoder.encode(body)


def decode(body: bytes) -> Body:
    """Return what ``encode`` wrote.

    Raises:
        msgspec.DecodeError: It was not written by this code.
    """
    return _decoder.decode(body)


def has_snapshot(revision: int) -> bool:
    """Return whether ``revision`` carries a snapshot."""
    return revision % SNAPSHOT_EVERY == 0


def replay_from(newest: int) -> int:
    """Return the revision that reading the state at ``newest`` starts from."""
    return max(newest - newest % SNAPSHOT_EVERY, 1)
