"""What this worker says to its controller: told on the way, and ended in good order.

    begin       a new question is refused here once the worker drains
    complete    goes out without its question then

A question that was sent and never answered is asked to its end all the same: it may have been
granted, and a grant that nobody takes up keeps everybody waiting for its lease.
"""

from typing import Protocol

from onceward.errors import LocalReason, Stopped
from onceward.ports import Clock
from onceward.transport import HttpController
from onceward.wire import messages
from onceward.wire.decisions import Decision, Execute, Granted, Query, Repeat, Wait
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.receipts import Receipt
from onceward.wire.secrets import Secret
from onceward_worker.drain import Drain


class Listener(Protocol):
    """Is told what happens, as it happens."""

    def granted(self, grant: Granted) -> None:
        """Hear that a call is about to be made."""
        ...

    def accepted(self, grant: Granted, receipt: Receipt, standing: messages.Standing) -> None:
        """Hear that the controller has the receipt of a call."""
        ...

    def waiting(self, wait: Wait) -> None:
        """Hear that the controller says: not now."""
        ...


class Conversation(HttpController):
    """One worker's controller.

    Args:
        url: See ``HttpController``.
        token: See ``HttpController``.
        workspace: See ``HttpController``.
        clock: See ``HttpController``.
        drain: Says when to ask for nothing more.
        listener: Is told of grants, receipts and waits.
    """

    def __init__(
        self,
        url: str,
        token: Secret[str],
        *,
        workspace: WorkspaceName,
        clock: Clock,
        drain: Drain,
        listener: Listener,
    ) -> None:
        super().__init__(url, token, workspace=workspace, clock=clock)
        self._drain = drain
        self._listener = listener
        self._unanswered: str | None = None
        self._held: dict[tuple[OperationName, int], Granted] = {}

    def begin(self, workflow: WorkflowId, body: messages.Begin) -> Decision:
        """See ``Controller``.

        Raises:
            Stopped: The worker drains, and this question was never sent.
        """
        if self._drain.is_on and body.request_id != self._unanswered:
            raise Stopped(
                LocalReason.CLOSING,
                "the worker was told to stop and asks for nothing more",
                operation=body.operation or "",
            )
        self._unanswered = body.request_id
        decision = super().begin(workflow, body)
        self._unanswered = None
        self._tell(decision)
        return decision

    def complete(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Complete
    ) -> messages.Completed:
        """See ``Controller``."""
        following = body.then_begin
        if following is not None:
            if self._drain.is_on and following.request_id != self._unanswered:
                body = messages.Complete(body.attempt, body.lease_token, body.receipt)
            else:
                self._unanswered = following.request_id
        completed = super().complete(workflow, operation, body)
        self._unanswered = None
        # A receipt from the spool is of a grant that another process held.
        grant = self._held.pop((operation, body.attempt), None)
        if grant is not None:
            self._listener.accepted(grant, body.receipt, completed.standing)
        if completed.decision is not None:
            self._tell(completed.decision)
        return completed

    def _tell(self, decision: Decision) -> None:
        if isinstance(decision, Execute | Repeat | Query):
            self._held[decision.operation, decision.attempt] = decision
            self._listener.granted(decision)
        elif isinstance(decision, Wait):
            self._listener.waiting(decision)
