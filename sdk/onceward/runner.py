"""Runs what is ready: asks, calls, reports, and asks for the next in the same breath.

    ask ─▶ grant ─▶ call ─▶ report and ask ─▶ grant ─▶ ... ─▶ done
            │ given back          │
            └────▶ ask            ├─▶ reuse: the result is known
                                  ├─▶ wait: ask again, while there is patience
                                  └─▶ stop: ``Stopped``, in the controller's words

N operations in a row cost one question and N reports; nothing is read. What was finished before is
read once, at the end, by who asks for all results.
"""

from asyncio import AbstractEventLoop
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from onceward.attempt import Attempts
from onceward.controller import Controller
from onceward.delivery import Delivery, UndeliveredError
from onceward.dispatch import Answered, Dispatcher
from onceward.errors import LocalReason, Stopped
from onceward.grants import Held, NotCalledError, Tools
from onceward.ports import Clock
from onceward.results import result_of
from onceward.tools import Tool
from onceward.wire.decisions import Done, Execute, Granted, Query, Repeat, Reuse, Stop, Wait
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.messages import Begin, Standing, ToolOffer
from onceward.wire.problems import ProblemError
from onceward.wire.receipts import Outcome, Receipt

POLL_FIRST_MS = 100
POLL_LAST_MS = 2_000
POLL_MIN_MS = 10
"""No two questions after a wait are closer, whatever the controller advises."""
LATE_GRANTS_MAX = 3
"""Grants in a row that came too late to be used before the runner says so."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What to run, with what, and how patiently.

    Attributes:
        workflow: Whose operations.
        operation: One of them; None for all that become ready.
        tools: What this process can run, by name and version.
        offers: The same, for the controller.
        wait_ms: How long to wait in all when asked to ask again later; 0 for not at all.
        loop: Where asynchronous tools run; None for the client's own loop.
    """

    workflow: WorkflowId
    operation: OperationName | None
    tools: Tools
    offers: tuple[ToolOffer, ...]
    wait_ms: int
    loop: AbstractEventLoop | None

    @classmethod
    def of(
        cls,
        workflow: WorkflowId,
        operation: OperationName | None,
        tools: Iterable[Tool],
        *,
        wait_ms: int = 0,
        loop: AbstractEventLoop | None = None,
    ) -> "Errand":
        """Return the errand, with the tools sorted for both sides.

        Raises:
            ValueError: Two tools have the same name and version.
        """
        by_name: dict[tuple[str, str], Tool] = {}
        for tool in tools:
            if by_name.setdefault((tool.name, tool.version), tool) is not tool:
                raise ValueError(
                    f"two tools share name and version: tool=`{tool.name}` version=`{tool.version}`"
                )
        offers = tuple(tool.offer for tool in by_name.values())
        return cls(workflow, operation, by_name, offers, wait_ms, loop)


@dataclass(slots=True)
class _Progress:
    """What one errand remembers on its way."""

    question: Begin
    waited_ms: int = 0
    poll_ms: int = POLL_FIRST_MS
    late_grants: int = 0
    results: dict[str, Any] = field(default_factory=dict)


class Runner:
    """Runs errands for one client; any number of threads may bring one."""

    def __init__(
        self,
        controller: Controller,
        clock: Clock,
        *,
        dispatcher: Dispatcher,
        attempts: Attempts,
        delivery: Delivery,
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._dispatcher = dispatcher
        self._attempts = attempts
        self._delivery = delivery
        self._is_closing = False

    def run(self, errand: Errand) -> dict[str, Any]:
        """Run the errand and return results by operation name.

        Returns:
            The result of the one operation, or those of all.

        Raises:
            Stopped: Something does not run now.
            ProblemError: The controller refused, or could not be asked or told.
        """
        progress = _Progress(self._dispatcher.question(errand.offers, errand.operation))
        answered: Answered | None = self._asked(errand, progress)
        while answered is not None:
            match answered.decision:
                case Execute() | Repeat() | Query():
                    answered = self._call(errand, progress, answered)
                case Reuse(operation=operation, receipt=receipt):
                    progress.results[operation] = self._result(errand, receipt)
                    answered = None if errand.operation else self._asked_afresh(errand, progress)
                case Wait() as wait:
                    self._wait(errand, progress, wait)
                    answered = self._asked(errand, progress)
                case Stop() as stop:
                    raise Stopped.by(stop)
                case Done(operations=operations):
                    if len(progress.results) < operations:
                        self._read_missing(errand, progress)
                    answered = None
                case never:
                    assert_never(never)
        return progress.results

    def close(self) -> None:
        """Take no further grant, and tell running tools that nobody waits for them."""
        self._is_closing = True
        self._attempts.cancel_all()

    def _call(self, errand: Errand, progress: _Progress, answered: Answered) -> Answered | None:
        """Make the granted call, report it, and return what comes next; None when nothing does."""
        grant = answered.decision
        assert isinstance(grant, Execute | Repeat | Query), "the caller looked"
        held = Held(errand.workflow, grant, answered.sent_ms, errand.loop)
        try:
            started = self._attempts.start(held, errand.tools)
        except NotCalledError as error:
            return self._give_back(errand, progress, grant, error)
        except Exception:
            self._dispatcher.give_back(errand.workflow, grant)
            raise
        try:
            receipt = self._attempts.receipt(
                started,
                after_timeout=partial(
                    self._delivery.set_aside, errand.workflow, grant, why="came after its timeout"
                ),
                after_interrupt=partial(self._deliver_alone, errand.workflow, grant),
            )
        except NotCalledError as error:
            return self._give_back(errand, progress, grant, error)
        progress.late_grants, progress.poll_ms = 0, POLL_FIRST_MS
        return self._report(errand, progress, grant, receipt)

    def _give_back(
        self, errand: Errand, progress: _Progress, grant: Granted, error: NotCalledError
    ) -> Answered:
        """Give back a grant that was not used, and ask again if only its time was over."""
        self._dispatcher.give_back(errand.workflow, grant)
        progress.late_grants += 1
        is_late = error.reason is LocalReason.LATE_GRANT
        if not is_late or progress.late_grants >= LATE_GRANTS_MAX:
            raise error.stopped(grant) from None
        return self._asked_afresh(errand, progress)

    def _report(
        self, errand: Errand, progress: _Progress, grant: Granted, receipt: Receipt
    ) -> Answered | None:
        is_success = receipt.outcome is Outcome.SUCCEEDED
        # Asked for one operation that has succeeded, there is nothing more to ask.
        is_last = self._is_closing or (is_success and errand.operation is not None)
        following = None
        if not is_last:
            following = self._dispatcher.question(errand.offers, errand.operation)
            progress.question = following
        try:
            delivered = self._delivery.complete(errand.workflow, grant, receipt, following)
        except UndeliveredError as error:
            if error.is_ambiguous and following is not None:
                self._dispatcher.abandon_later(errand.workflow, following)
            raise
        completed = delivered.completed
        is_settled = is_success and completed.standing is Standing.ACCEPTED
        if is_settled:
            # What the tool returned, and not what was made of it: a large result needs no download.
            progress.results[grant.operation] = self._result(errand, delivered.receipt, receipt)
            if errand.operation is not None:
                return None
        if completed.decision is None:
            return self._asked_afresh(errand, progress)
        if delivered.is_ambiguous and following is not None:
            self._dispatcher.abandon_if_stopped(errand.workflow, following, completed.decision)
        return Answered(completed.decision, delivered.sent_ms)

    def _asked_afresh(self, errand: Errand, progress: _Progress) -> Answered:
        progress.question = self._dispatcher.question(errand.offers, errand.operation)
        return self._asked(errand, progress)

    def _asked(self, errand: Errand, progress: _Progress) -> Answered:
        if self._is_closing:
            raise Stopped(
                LocalReason.CLOSING,
                "the client is being closed and takes no further grant",
                operation=errand.operation or "",
            )
        return self._dispatcher.ask(errand.workflow, progress.question)

    def _wait(self, errand: Errand, progress: _Progress, wait: Wait) -> None:
        left_ms = errand.wait_ms - progress.waited_ms
        if left_ms <= 0:
            raise Stopped.by(wait)
        pause_ms = min(max(min(wait.retry_after_ms, progress.poll_ms), POLL_MIN_MS), left_ms)
        self._clock.sleep(pause_ms)
        progress.waited_ms += pause_ms
        progress.poll_ms = min(2 * progress.poll_ms, POLL_LAST_MS)

    def _read_missing(self, errand: Errand, progress: _Progress) -> None:
        """Add the results of operations that had succeeded before this errand began."""
        for view in self._controller.workflow(errand.workflow).operations:
            if view.name in progress.results:
                continue
            receipt = view.receipt
            if receipt is None:
                # The view leaves receipts out; asked for by name, each is given back.
                question = self._dispatcher.question(errand.offers, view.name)
                decision = self._dispatcher.ask(errand.workflow, question).decision
                assert isinstance(decision, Reuse), "every operation has succeeded"
                receipt = decision.receipt
            progress.results[view.name] = self._result(errand, receipt)

    def _result(self, errand: Errand, receipt: Receipt, own: Receipt | None = None) -> object:
        if own is not None and receipt.result_omitted is None:
            return own.result
        return result_of(receipt, lambda digest: self._controller.download(errand.workflow, digest))

    def _deliver_alone(self, workflow: WorkflowId, grant: Granted, receipt: Receipt) -> None:
        # Nobody is left to be told of a failure; what the spool can keep, it has kept.
        with suppress(ProblemError):
            self._delivery.complete(workflow, grant, receipt, None)
