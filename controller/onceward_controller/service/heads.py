"""Recently used heads, so that the warm path reads nothing.

A cached head is a guess about what is newest. Only a successful create may rest on it; whoever
writes nothing looks again first.
"""

import threading
from collections import OrderedDict

from onceward.wire.identifiers import WorkflowId
from onceward_controller.vault.trusted_time import TrustedTime
from onceward_controller.vault.workflow_log import Head

HEADS_MAX = 1_000


class Heads:
    """A bounded map from workflows to heads; emptied when store and host time step apart."""

    def __init__(self, time: TrustedTime) -> None:
        self._time = time
        self._steps = time.steps
        self._lock = threading.Lock()
        self._heads: OrderedDict[WorkflowId, Head] = OrderedDict()

    def get(self, workflow: WorkflowId) -> Head | None:
        """Return the head last seen, if it is kept."""
        with self._lock:
            if self._steps != self._time.steps:
                self._steps = self._time.steps
                self._heads.clear()
            head = self._heads.get(workflow)
            if head is not None:
                self._heads.move_to_end(workflow)
            return head

    def put(self, workflow: WorkflowId, head: Head) -> None:
        """Keep ``head`` and forget the one that was not asked for the longest.

        A reader who was slow does not replace what somebody has written since it looked.
        """
        with self._lock:
            known = self._heads.get(workflow)
            if known is None or known.tip.revision <= head.tip.revision:
                self._heads[workflow] = head
            self._heads.move_to_end(workflow)
            if len(self._heads) > HEADS_MAX:
                self._heads.popitem(last=False)

    def drop(self, workflow: WorkflowId) -> None:
        """Forget what is known of ``workflow``."""
        with self._lock:
            self._heads.pop(workflow, None)
