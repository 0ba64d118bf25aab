"""A workflow's log: reading its state, and the revision that changes it.

    cold   LIST the log and LIST the data key's log, side by side;
           then GET the data key, revision 1 (the plan) and the revisions since the last
           snapshot, side by side: two round trips, at most 34 reads
    warm   one create, no read
    check  LIST the log: is what we know still the newest? then GET what is newer, if anything is

Whoever decides does so on a ``Head``, which nothing here keeps: it is handed in and out.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from onceward.sealing import Kind
from onceward_controller.protocol import events, paging
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.paging import Content
from onceward_controller.protocol.plan import Plan
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.rows import Row, has_moved, must_lead, row
from onceward_controller.protocol.workflow import Workflow, close, create, paged, settled_by
from onceward_controller.vault import body as bodies
from onceward_controller.vault.body import Body, Entry
from onceward_controller.vault.damage import DamagedLogError
from onceward_controller.vault.keys.datakeys import DataKeys
from onceward_controller.vault.log import EMPTY, Desk, RevisionLog, SealKey, Tip
from onceward_controller.vault.objects import Objects
from onceward_controller.vault.replay import advance, replay

Announce = Callable[[Plan, Row], bool]
"""Writes an index row; returns whether it is durable."""


class Head(Struct, frozen=True):
    """The newest known state of a workflow, and what it takes to write the next revision.

    Attributes:
        row: The index row in force.
        former_row: The one whose place it took, as far as the revisions just written or read tell:
            it may still be there.
        is_row_written: Whether ``row`` was written before the revision that brought it.
    """

    workflow: Workflow
    tip: Tip
    key: SealKey
    row: Row
    former_row: Row | None = None
    is_row_written: bool = False


class Recorded(Struct, frozen=True):
    """A final operation's full record, and the revision that carries it."""

    operation: Operation
    revision: int
    body: Body


class WorkflowLog:
    """One workflow's log, by the names of its two logs."""

    def __init__(self, desk: Desk, keys: DataKeys, *, name: str, key_name: str) -> None:
        self._desk = desk
        self._keys = keys
        self._log = RevisionLog(desk, name, Kind.WORKFLOW)
        self._key_name = key_name
        self.objects = Objects(desk, name)

    def load(self) -> Head | None:
        """Read the state from the store; None when there is no such workflow.

        Raises:
            IntegrityError: What is stored is not what was written.
            StoreError: The store could not be read.
        """
        key_log = self._keys.log(self._key_name)
        newest, newest_key = self._desk.gather([self._log.newest, key_log.newest])
        if newest == 0:
            return None
        if newest_key == 0:
            raise DamagedLogError("a workflow has no data key")
        since = range(bodies.replay_from(newest), newest + 1)
        wanted = [*([] if since[0] == 1 else [1]), *since]
        wrapped, *stored = self._desk.gather(
            [
                *key_log.reads([newest_key]),
                *self._log.reads(wanted),
            ]
        )
        key = self._keys.open(self._key_name, newest_key, wrapped)
        tip = self._log.verify(stored[-len(since) :])
        opened = [(n, self._open(n, each, key)) for n, each in zip(wanted, stored, strict=True)]
        workflow, in_force = replay(opened)
        rows = [body.row or body.snapshot_row for _, body in opened[-len(since) :]]
        return Head(
            workflow=workflow, tip=tip, key=key, row=in_force, former_row=_former(rows, in_force)
        )

    def refresh(self, head: Head) -> Head:
        """Return the newest state, ``head`` itself when nothing is newer. One LIST at least.

        Raises:
            IntegrityError: The log is shorter than it was, or does not continue ``head``.
            StoreError: The store could not be read.
        """
        newest = self._log.newest()
        if newest == head.tip.revision:
            return head
        if newest < head.tip.revision:
            raise DamagedLogError(f"the log went back behind revision {head.tip.revision}")
        if newest - head.tip.revision > bodies.SNAPSHOT_EVERY:
            # Too far to walk, and not to see that it is the same log which went on.
            self._log.verify(self._log.fetch([head.tip.revision + 1]), since=head.tip)
            fresh = self.load()
            if fresh is None:
                raise DamagedLogError("the log is gone")
            return fresh
        revisions = range(head.tip.revision + 1, newest + 1)
        stored = self._log.fetch(revisions)
        tip = self._log.verify(stored, since=head.tip)
        workflow, in_force = head.workflow, head.row
        rows: list[Row | None] = [head.row]
        for revision, each in zip(revisions, stored, strict=True):
            body = self._open(revision, each, head.key)
            workflow, in_force = advance(workflow, in_force, revision, body)
            rows.append(body.row)
        former = _former(rows, in_force)
        return Head(workflow=workflow, tip=tip, key=head.key, row=in_force, former_row=former)

    def create(self, key: SealKey, actor: str, event: events.Created, stamp: Stamp) -> Head:
        """Write revision 1.

        Raises:
            ConflictError: Somebody was first: load and compare.
            StoreError: As ``RevisionLog.append``.
        """
        workflow = create(event)
        line = row(workflow, now_ms=stamp.ms)
        body = Body(
            write_id=self._desk.entropy.take(bodies.WRITE_ID_BYTES),
            time_ms=stamp.ms,
            safe=stamp.safe,
            entries=(Entry(actor=actor, command="create", events=(event,)),),
            row=line,
        )
        tip, _ = self._log.append(EMPTY, bodies.encode(body), key)
        return Head(workflow=workflow, tip=tip, key=key, row=line)

    def append(
        self,
        head: Head,
        workflow: Workflow,
        entries: tuple[Entry, ...],
        stamp: Stamp,
        *,
        announce: Announce,
    ) -> Head:
        """Write the revision that leads from ``head`` to ``workflow``.

        Args:
            head: What it builds on.
            workflow: The state with every event of ``entries`` folded in, not yet closed.
            entries: The commands that were decided, in order.
            stamp: The revision's number and time.
            announce: Writes the row of a workflow in which an attempt is about to hold a lease.

        Raises:
            ConflictError: Another revision stands there: read and decide again.
            StoreError: As ``RevisionLog.append``.
        """
        changes = tuple(event for entry in entries for event in entry.events)
        closed = close(workflow, changes, stamp)
        line = row(closed, now_ms=stamp.ms)
        moved = has_moved(head.row, line)
        in_force = line if moved else head.row
        snapshot = None
        if bodies.has_snapshot(stamp.revision):
            closed = self._paged(closed, head.key)
            snapshot = closed.progress
        body = Body(
            write_id=self._desk.entropy.take(bodies.WRITE_ID_BYTES),
            time_ms=stamp.ms,
            safe=stamp.safe,
            entries=entries,
            records=settled_by(workflow, stamp.revision),
            row=line if moved else None,
            snapshot=snapshot,
            snapshot_row=in_force if snapshot is not None else None,
        )
        is_announced = must_lead(head.row, line) and announce(closed.plan, line)
        tip, _ = self._log.append(head.tip, bodies.encode(body), head.key)
        return Head(
            workflow=closed,
            tip=tip,
            key=head.key,
            row=in_force,
            former_row=head.row if moved else None,
            is_row_written=is_announced,
        )

    def bodies(self, head: Head, revisions: Sequence[int]) -> list[Body]:
        """Return what ``revisions`` say, read side by side.

        Raises:
            IntegrityError: One is not what was written.
            StoreError: The store could not be read.
        """
        stored = self._log.fetch(revisions)
        return [self._open(n, each, head.key) for n, each in zip(revisions, stored, strict=True)]

    def records(self, head: Head, wanted: Sequence[int]) -> list[Recorded]:
        """Return the full records of final operations, by index, read side by side.

        Raises:
            IntegrityError: One is not where it should be.
            StoreError: The store could not be read.
        """
        revisions = self._settled_at(head, wanted)
        unique = sorted(set(revisions))
        read = dict(zip(unique, self.bodies(head, unique), strict=True))
        found = []
        for at, revision in zip(wanted, revisions, strict=True):
            body = read[revision]
            operation = next((each for each in body.records if each.at == at), None)
            if operation is None:
                raise DamagedLogError(f"revision {revision} lacks a record that it should hold")
            found.append(Recorded(operation=operation, revision=revision, body=body))
        return found

    def _settled_at(self, head: Head, wanted: Sequence[int]) -> list[int]:
        """Return the revisions that settled final operations; each page is read once."""
        progress = head.workflow.progress
        read: dict[str, Content] = {}
        revisions = []
        for at in wanted:
            finished = progress.finished.get(at)
            if finished is None:
                digest = next(page.digest for page in progress.pages if page.holds(at))
                if digest not in read:
                    read[digest] = self._page(head, digest)
                finished = read[digest][at]
            revisions.append(finished.revision)
        return revisions

    def _page(self, head: Head, digest: str) -> Content:
        content = self.objects.read(Kind.PAGE, digest, head.key)
        if content is None:
            raise DamagedLogError(f"a page is missing: digest=`{digest}`")
        return paging.decode(content)

    def _paged(self, workflow: Workflow, key: SealKey) -> Workflow:
        """Move finished operations to a page object, written before the revision that names it."""
        content = paging.overflow(workflow.progress.finished, workflow.progress.pages)
        if not content:
            return workflow
        digest = self.objects.write(Kind.PAGE, paging.encode(content), key)
        return paged(workflow, content, digest)

    def _open(self, revision: int, stored: bytes, key: SealKey) -> Body:
        try:
            return bodies.decode(self._log.open(revision, stored, key))
        except msgspec.MsgspecError as error:
            raise DamagedLogError(f"revision {revision} cannot be read: {error}") from None


def _former(rows: Sequence[Row | None], in_force: Row) -> Row | None:
    """Return the last of ``rows``, oldest first, before the one in force."""
    return next((each for each in reversed(rows) if each not in (None, in_force)), None)
