"""Index rows: listings that read no histories.

    i/<workspace>/<class>/<sort>/<workflow>/<revision>/<sealed summary>

A row is a tiny object whose name carries what a listing shows, so that one LIST of a thousand
names is a thousand finished lines. The summary is sealed with a salt made from its content alone:
a row's name can be computed from the log, and deleting an older row needs no search. A row is a
hint; the log is the truth.

The new row is written before the older one is deleted, and only rows of revisions that are known to
be in the log are ever deleted: a late deletion can remove no newer row, and a crash in between
leaves two rows, never none. Of two rows a listing believes the higher revision and removes the
other. The row that says a lease is live is written even before the grant: no attempt dies without
a row that leads to it.

A bucket reader sees the class, the sort time and how many rows there are; nothing else. Keys and
labels too long for a name are cut there; opening the workflow shows them whole.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from onceward.sealing import Context, IntegrityError, Kind, open_sealed, room_bytes, seal
from onceward.wire import base32hex
from onceward.wire.identifiers import WorkflowId
from onceward.wire.messages import RowClass
from onceward_controller.protocol.plan import Plan
from onceward_controller.protocol.rows import Row
from onceward_controller.vault.keys.derive import RootKeys
from onceward_controller.vault.log import SCHEMA
from onceward_controller.vault.naming import VaultNaming
from onceward_controller.vault.store import Store

SEALED_BYTES = (256, 512)
"""Sealed sizes of a summary; the larger still leaves its name under the store's limit."""
SEGMENT_CHARACTERS = 200
"""Parts of a name between slashes stay below what a file system takes, for stores on one."""
TEXT_BYTES_MAX = 110
"""Of a key or label, as UTF-8, what a row shows."""

_DIGITS = 12
_TOP = 16**_DIGITS - 1
_BY_CHECK = (RowClass.ACTIVE, RowClass.WAITING)
"""Classes sorted by when to look again, soonest first; the others by change, newest first."""


class Summary(Struct, frozen=True, array_like=True):
    """What a listing shows, as it is sealed into a row's name."""

    id: WorkflowId
    key: str
    label: str
    operations: int
    row: Row


class Found(Struct, frozen=True):
    """One row as a listing met it; ``name`` is where the next page goes on."""

    name: str
    summary: Summary


class Listed(Struct, frozen=True):
    """One page of rows.

    Attributes:
        found: Those that are what was written, in order.
        last: Name of the last one met, of whatever kind; where the next page goes on.
        more: Whether rows may follow.
        damaged: How many are not what was written; one bad row hides no good one.
    """

    found: tuple[Found, ...]
    last: str
    more: bool
    damaged: int


class Index:
    """The rows of one vault."""

    def __init__(self, store: Store, vault_id: bytes, root: RootKeys, naming: VaultNaming) -> None:
        self._store = store
        self._vault_id = vault_id
        self._root = root
        self._naming = naming

    def write(self, plan: Plan, row: Row) -> None:
        """Write the row of a workflow.

        Raises:
            StoreError: It may not be there; opening the workflow heals it.
        """
        self._store.put(self.name(plan, row), b"")

    def clear(self, plan: Plan, row: Row, former: Sequence[Row], *, through: int) -> None:
        """Delete rows whose place ``row`` has taken, once it is written.

        Args:
            plan: The workflow's.
            row: The row in force.
            former: Rows that were in force before, or were written for what then did not happen.
            through: The newest revision that is known; a row of a later one is left alone.

        Raises:
            StoreError: Some may still be there; opening the workflow heals it.
        """
        kept = self.name(plan, row)
        for older in former:
            name = self.name(plan, older)
            if older.revision <= through and name != kept:
                self._store.delete(name)

    def withdraw(self, plan: Plan, row: Row, *, kept: str) -> None:
        """Delete a row that was written for a workflow which somebody else created.

        Args:
            plan: What was to be created.
            row: Its row.
            kept: Name of the row in force, which may be the same.

        Raises:
            StoreError: It may still be there.
        """
        name = self.name(plan, row)
        if name != kept:
            self._store.delete(name)

    def name(self, plan: Plan, row: Row) -> str:
        """Return the name of a row; the same for the same plan and row, always."""
        identity = plan.identity
        prefix = self._prefix(identity.workspace, row.row_class)
        at_ms = row.at_ms if row.row_class in _BY_CHECK else _TOP - row.at_ms
        opaque = self._naming.row(identity.id)
        place = f"{prefix}{at_ms:0{_DIGITS}x}/{opaque}/{row.revision:0{_DIGITS}x}"
        summary = Summary(
            id=identity.id,
            key=_cut(identity.key),
            label=_cut(identity.label),
            operations=len(plan.operations),
            row=row,
        )
        sealed = base32hex.encode(self._sealed(place, summary))
        parts = [
            sealed[start : start + SEGMENT_CHARACTERS]
            for start in range(0, len(sealed), SEGMENT_CHARACTERS)
        ]
        return "/".join([place, *parts])

    def page(self, workspace: str, row_class: RowClass, *, after: str, limit: int) -> Listed:
        """Return up to ``limit`` rows of one class. One LIST.

        Args:
            workspace: Its name.
            row_class: The class.
            after: Name of the last row seen; empty from the start.
            limit: 1 to 1,000.

        Raises:
            StoreError: The store could not be read.
        """
        page = self._store.list(self._prefix(workspace, row_class), after=after, limit=limit)
        opened = [(name, self._opened(name)) for name in page.names]
        found = tuple(Found(name, summary) for name, summary in opened if summary is not None)
        return Listed(
            found=found,
            last=page.names[-1] if page.names else "",
            more=page.more,
            damaged=len(opened) - len(found),
        )

    def drop(self, found: Found) -> None:
        """Delete a row that a newer one was met beside.

        Raises:
            StoreError: It may still be there, and will be met again.
        """
        self._store.delete(found.name)

    def _prefix(self, workspace: str, row_class: RowClass) -> str:
        return f"i/{self._naming.workspace(workspace)}/{row_class}/"

    def _sealed(self, place: str, summary: Summary) -> bytes:
        plaintext = msgspec.msgpack.encode(summary)
        return seal(
            self._root.index_rows,
            key_id=0,
            context=self._context(place),
            plaintext=plaintext,
            random=b"",
            salt_key=self._root.salt,
            padded_to=next(size for size in SEALED_BYTES if len(plaintext) <= room_bytes(size)),
        )

    def _opened(self, name: str) -> Summary | None:
        """Return what a row's name says, or None when it is not what was written."""
        parts = name.split("/")
        place, sealed = "/".join(parts[:6]), "".join(parts[6:])
        try:
            opened = open_sealed(
                self._root.index_rows,
                context=self._context(place),
                sealed=base32hex.decode(sealed),
            )
            return msgspec.msgpack.decode(opened, type=Summary)
        except (IntegrityError, ValueError, msgspec.MsgspecError):
            return None

    def _context(self, place: str) -> Context:
        return Context(
            vault_id=self._vault_id,
            name=place,
            kind=Kind.ROW,
            revision=0,
            schema=SCHEMA,
        )


def _cut(text: str) -> str:
    encoded = text.encode()
    if len(encoded) <= TEXT_BYTES_MAX:
        return text
    return encoded[: TEXT_BYTES_MAX - 3].decode(errors="ignore") + "…"
