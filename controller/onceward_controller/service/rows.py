"""Keeps index rows up with the logs, off the path of whoever is waiting for an answer.

After the commit a workflow that moved to another class gets its new row written and its older one
deleted, in that order. A row that is not written is healed when the workflow is opened, and one
that could not be deleted goes with the next that is written; nothing but a listing ever rests on
either.
"""

import threading

from onceward.ports import Spawner
from onceward.wire.identifiers import WorkflowId
from onceward_controller.protocol.rows import Row
from onceward_controller.vault.index import Index
from onceward_controller.vault.store import StoreError
from onceward_controller.vault.workflow_log import Head

OWED_MAX = 1_000
"""Workflows whose older rows are remembered after a failure; a listing meets the others."""


class RowWriter:
    """Writes rows on a thread of its own that lives while there are any."""

    def __init__(self, index: Index, spawner: Spawner) -> None:
        self._index = index
        self._spawner = spawner
        self._lock = threading.Condition()
        self._pending: dict[WorkflowId, tuple[Head, list[Row]]] = {}
        self._owed: dict[WorkflowId, list[Row]] = {}
        self._is_running = False
        self.failures = 0

    def moved(self, head: Head) -> None:
        """Note the row that ``head`` brought, if it brought one."""
        if head.former_row is not None:
            self._note(head)

    def heal(self, head: Head) -> None:
        """Note the row in force, whether it was ever written or not."""
        self._note(head)

    def flush(self) -> None:
        """Return once every row noted before this call was tried."""
        with self._lock:
            while self._is_running or self._pending:
                self._lock.wait()

    def _note(self, head: Head) -> None:
        workflow = head.workflow.plan.identity.id
        with self._lock:
            # Only the newest matters, which is not always the last to come: a reader may have
            # looked before somebody else wrote. What it passed over may have been written before.
            known, former = self._pending.pop(workflow, (head, self._owed.pop(workflow, [])))
            newest = max(known, head, key=lambda each: each.tip.revision)
            if head.former_row is not None:
                former = [*former, head.former_row]
            self._pending[workflow] = (newest, former)
            if self._is_running:
                return
            self._is_running = True
        self._spawner.spawn("index rows", self._work)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._pending:
                    self._is_running = False
                    self._lock.notify_all()
                    return
                workflow = next(iter(self._pending))
                head, former = self._pending.pop(workflow)
            try:
                self._index.write(head.workflow.plan, head.row, former)
            except StoreError:
                self._owe(workflow, former)

    def _owe(self, workflow: WorkflowId, former: list[Row]) -> None:
        """Remember rows that may still be there, for the next time that one is written."""
        with self._lock:
            self.failures += 1
            self._owed[workflow] = [*self._owed.pop(workflow, []), *former]
            if len(self._owed) > OWED_MAX:
                del self._owed[next(iter(self._owed))]
