"""Keeps index rows up with the logs, off the path of whoever is waiting for an answer.

After the commit a workflow that moved to another class gets its new row written and its older one
deleted, in that order. A row that is not written is healed when the workflow is opened, and one
that could not be deleted goes with the next that is written; nothing but a listing ever rests on
either, so nothing that goes wrong here is anybody's failure.
"""

import threading

from onceward.ports import Spawner
from onceward.wire.identifiers import WorkflowId
from onceward_controller.protocol.plan import Plan
from onceward_controller.protocol.rows import Row
from onceward_controller.vault.index import Index
from onceward_controller.vault.store import StoreError
from onceward_controller.vault.workflow_log import Head

OWED_MAX = 1_000
"""Workflows whose older rows are remembered after a failure; a listing meets the others."""


class RowWriter:
    """Writes rows on a thread of its own that lives while there are any.

    Attributes:
        failures: How often a row, or a thread to write it, was refused.
    """

    def __init__(self, index: Index, spawner: Spawner) -> None:
        self._index = index
        self._spawner = spawner
        self._lock = threading.Condition()
        self._pending: dict[WorkflowId, tuple[Head, list[Row]]] = {}
        self._owed: dict[WorkflowId, list[Row]] = {}
        self._noted = 0
        self._tried = 0
        self._is_running = False
        self.failures = 0

    def announce(self, plan: Plan, row: Row) -> bool:
        """Write the row of what is about to happen, before it does, on the caller's thread.

        Returns:
            Whether it is durable. A store that refuses it stops nobody: the row is written later.
        """
        try:
            self._index.write(plan, row)
        except StoreError:
            with self._lock:
                self.failures += 1
            return False
        return True

    def moved(self, head: Head) -> None:
        """Note the row that ``head`` brought, if it brought one."""
        if head.former_row is not None:
            self._note(head, [head.former_row])

    def heal(self, head: Head, *stale: Row) -> None:
        """Note the row in force, whether it was ever written or not.

        Args:
            head: The newest state.
            stale: Rows of the workflow that were met in the store and are not in force.
        """
        former = [] if head.former_row is None else [head.former_row]
        self._note(head, [*former, *stale])

    def flush(self) -> None:
        """Return once every row noted before this call was tried.

        Rows that nobody writes, because no thread could be started, are written here.
        """
        with self._lock:
            last = self._noted
            while self._is_running and self._tried < last:
                self._lock.wait()
            if self._tried >= last:
                return
            self._is_running = True
        self._work(through=last)

    def _note(self, head: Head, former: list[Row]) -> None:
        workflow = head.workflow.plan.identity.id
        with self._lock:
            # Only the newest matters, which is not always the last to come: a reader may have
            # looked before somebody else wrote. What it passed over may have been written before.
            # Whoever waits keeps its place, or a workflow that moves on and on would never be told.
            if workflow in self._pending:
                known, passed_over = self._pending[workflow]
            else:
                known, passed_over = head, self._owed.pop(workflow, [])
                self._noted += 1
            newest = max(known, head, key=lambda each: each.tip.revision)
            self._pending[workflow] = (newest, [*passed_over, *former])
            if self._is_running:
                return
            self._is_running = True
        try:
            self._spawner.spawn("index rows", self._work)
        except RuntimeError:  # Out of threads, or the process is ending.
            with self._lock:
                self.failures += 1
                self._is_running = False
                self._lock.notify_all()

    def _work(self, through: int | None = None) -> None:
        """Write what is pending, one after the other; for whoever has set ``_is_running``.

        Args:
            through: Stop once so many were tried since the beginning; None goes on to the end.
        """
        while True:
            with self._lock:
                if not self._pending or self._tried == through:
                    self._is_running = False
                    self._lock.notify_all()
                    return
                workflow = next(iter(self._pending))
                head, former = self._pending.pop(workflow)
            is_done = False
            try:
                self._write(workflow, head, former)
                is_done = True
            finally:
                with self._lock:
                    self._tried += 1
                    # Left by a bug: whoever notes the next row starts anew.
                    self._is_running = is_done
                    self._lock.notify_all()

    def _write(self, workflow: WorkflowId, head: Head, former: list[Row]) -> None:
        plan = head.workflow.plan
        try:
            if not head.is_row_written:
                self._index.write(plan, head.row)
            self._index.clear(plan, head.row, former, through=head.tip.revision)
        except StoreError:
            self._owe(workflow, former)

    def _owe(self, workflow: WorkflowId, former: list[Row]) -> None:
        """Remember rows that may still be there, for the next time that one is written."""
        with self._lock:
            self.failures += 1
            self._owed[workflow] = [*self._owed.pop(workflow, []), *former]
            if len(self._owed) > OWED_MAX:
                del self._owed[next(iter(self._owed))]
