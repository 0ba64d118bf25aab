"""Asking for a grant, and giving one back.

A question keeps its ``request_id`` until it is answered with a grant: asked again after a lost
reply it gets the very grant that was lost. One that is given up on, or answered otherwise after a
reply was lost, may have left a grant behind; that is given back by its request id, which is never
used again.

Giving back is best effort. What fails is tried again with the next question; what never succeeds
costs the rest of a lease.
"""

from dataclasses import dataclass

from onceward.controller import Controller
from onceward.delivery import WINDOW_MS
from onceward.patience import Patience
from onceward.ports import Clock, Entropy
from onceward.wire.decisions import Decision, Granted, Stop
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.messages import Begin, OperationStatus, Release, ToolOffer
from onceward.wire.problems import ProblemError, UnavailableError, UnknownWriteError

_REQUEST_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Answered:
    """A decision and when it was asked for.

    Attributes:
        sent_ms: Boot time from before the question was sent: a grant's times are counted from it.
    """

    decision: Decision
    sent_ms: int


@dataclass(frozen=True, slots=True)
class _Return:
    """A grant, or what may be one, to be given back; without an operation, whichever it is of."""

    workflow: WorkflowId
    operation: OperationName | None
    body: Release


class Dispatcher:
    """Asks one controller on behalf of one client."""

    def __init__(
        self, controller: Controller, clock: Clock, entropy: Entropy, *, window_ms: int = WINDOW_MS
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._entropy = entropy
        self._window_ms = window_ms
        # Appended to and taken from by several threads, each step atomic.
        self._returns: list[_Return] = []

    def question(
        self, tools: tuple[ToolOffer, ...], operation: OperationName | None = None
    ) -> Begin:
        """Return a question that was never asked before.

        Args:
            tools: What this process can run.
            operation: Which operation; None for the next that is ready.
        """
        return Begin(self._entropy.take(_REQUEST_ID_BYTES).hex(), operation, tools)

    def ask(self, workflow: WorkflowId, question: Begin) -> Answered:
        """Ask until there is an answer.

        Raises:
            UnavailableError: The controller could not be asked.
            UnknownWriteError: As above, and a grant may have been given and lost.
            ProblemError: It refused the question.
        """
        self.return_left()
        patience = Patience(self._clock, self._entropy, self._window_ms)
        is_ambiguous = False
        while True:
            sent_ms = self._clock.boottime_ms()
            try:
                decision = self._controller.begin(workflow, question)
            except (UnavailableError, UnknownWriteError) as error:
                is_ambiguous |= isinstance(error, UnknownWriteError)
                if patience.pause():
                    continue
                if is_ambiguous:
                    self.abandon_later(workflow, question)
                raise
            except ProblemError:
                if is_ambiguous:
                    self.abandon_later(workflow, question)
                raise
            if is_ambiguous:
                self.abandon_if_stopped(workflow, question, decision)
            return Answered(decision, sent_ms)

    def abandon_later(self, workflow: WorkflowId, question: Begin) -> None:
        """Give back, with the next question, what this one may have been granted unheard."""
        named = None if question.operation is None else OperationName(question.operation)
        body = Release(request_id=question.request_id)
        self._returns.append(_Return(workflow, named, body))

    def abandon_if_stopped(
        self, workflow: WorkflowId, question: Begin, decision: Decision | None
    ) -> None:
        """Give back what a lost reply may have granted, where the reply that came grants nothing.

        After a wait the question is asked again, and then finds its grant itself.
        """
        if isinstance(decision, Stop):
            # What a request id holds is judged first, so the stop names it.
            body = Release(request_id=question.request_id)
            self._return(_Return(workflow, decision.operation, body))

    def give_back(self, workflow: WorkflowId, grant: Granted) -> None:
        """Say that the call that ``grant`` permitted was not made."""
        body = Release(grant.attempt, grant.lease_token)
        self._return(_Return(workflow, grant.operation, body))

    def return_left(self) -> None:
        """Try again to give back what could not be given back before."""
        for _ in range(len(self._returns)):
            try:
                item = self._returns.pop(0)
            except IndexError:
                # Another thread was faster.
                return
            self._return(item)

    def _return(self, item: _Return) -> None:
        try:
            for operation in self._operations(item):
                try:
                    self._controller.release(item.workflow, operation, item.body)
                except (UnavailableError, UnknownWriteError):
                    raise
                except ProblemError:
                    # It holds nothing there, or no longer: that is all that was wanted.
                    continue
        except (UnavailableError, UnknownWriteError):
            self._returns.append(item)
        except ProblemError:
            return

    def _operations(self, item: _Return) -> list[OperationName]:
        if item.operation is not None:
            return [item.operation]
        return [
            view.name
            for view in self._controller.workflow(item.workflow).operations
            if view.status is OperationStatus.IN_FLIGHT
        ]
