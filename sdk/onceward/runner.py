"""The course of an errand: asks, calls, reports, and asks for the next in the same breath.

    ask ─▶ grant ─▶ call ─▶ report and ask ─▶ grant ─▶ ... ─▶ done
            │ given back          │
            └────▶ ask            ├─▶ reuse: the result is known
                                  ├─▶ wait: ask again, while there is patience
                                  └─▶ stop: ``Stopped``, in the controller's words

N operations in a row cost one question and N reports; nothing is read. What was finished before is
read once, at the end, by who asks for all results.

All of it runs on whichever thread carries the errand out; ``errands`` says which.
"""

import contextvars
from typing import Any, assert_never

from onceward.answers import Raised
from onceward.attempt import Attempts, NotInChargeError
from onceward.controller import Controller
from onceward.delivery import Delivery, UndeliveredError
from onceward.dispatch import Answered, Dispatcher
from onceward.errand import POLL_FIRST_MS, Errand, Progress
from onceward.errors import LocalReason, Stopped
from onceward.grants import Held, NotCalledError
from onceward.ports import Clock
from onceward.results import result_of
from onceward.running import Running
from onceward.watch import Watch
from onceward.wire.decisions import Done, Execute, Granted, Query, Repeat, Reuse, Stop, Wait
from onceward.wire.messages import Begin, Standing
from onceward.wire.receipts import Outcome, Receipt

POLL_LAST_MS = 2_000
POLL_MIN_MS = 10
"""No two questions after a wait are closer, whatever the controller advises."""
LATE_GRANTS_MAX = 3
"""Grants in a row that came too late to be used before the runner says so."""


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

    def start(self, errand: Errand, watch: Watch) -> Progress:
        """Return the progress of an errand of which nothing is done yet; for ``run``."""
        question = self._dispatcher.question(errand.offers, errand.operation)
        return Progress(errand, watch, question, contextvars.copy_context())

    def run(self, progress: Progress) -> dict[str, Any]:
        """Deliver what waits, then run the errand and return results by operation name.

        Returns:
            The result of the one operation, or those of all.

        Raises:
            NotInChargeError: Another thread has gone on with the errand.
            Stopped: Something does not run now.
            ProblemError: The controller refused, or could not be asked or told.
        """
        self._check_may_ask(progress)
        self._delivery.flush()
        return self._run_on(progress, self._asked(progress))

    def resume(self, progress: Progress, running: Running) -> dict[str, Any]:
        """Give up ``running``, whose time is over, and go on without it; see ``run``.

        Raises:
            NotInChargeError: It was answered meanwhile, or its thread is free to go on itself.
        """
        if not running.give_up():
            raise NotInChargeError
        return self._run_on(progress, self._report(progress, running))

    def _run_on(self, progress: Progress, answered: Answered | None) -> dict[str, Any]:
        while answered is not None:
            match answered.decision:
                case Execute() | Repeat() | Query() as grant:
                    answered = self._call(progress, grant, answered.sent_ms)
                case Reuse(operation=operation, receipt=receipt):
                    progress.results[operation] = self._result(progress, receipt)
                    is_last = progress.errand.operation is not None
                    answered = None if is_last else self._asked_afresh(progress)
                case Wait() as wait:
                    self._wait(progress, wait)
                    answered = self._asked(progress)
                case Stop() as stop:
                    raise Stopped.by(stop) from progress.raised
                case Done(operations=operations):
                    if len(progress.results) < operations:
                        self._read_missing(progress)
                    answered = None
                case never:
                    assert_never(never)
        return progress.results

    def _call(self, progress: Progress, grant: Granted, sent_ms: int) -> Answered | None:
        """Make the granted call, report it, and return what comes next; None when nothing does."""
        errand = progress.errand
        held = Held(errand.workflow, grant, sent_ms, errand.loop)
        try:
            running = self._attempts.make(held, errand.tools, progress.watch)
        except NotInChargeError:
            raise
        except NotCalledError as error:
            return self._give_back(progress, grant, error)
        except Exception:
            self._dispatcher.give_back(errand.workflow, grant)
            raise
        return self._report(progress, running)

    def _give_back(self, progress: Progress, grant: Granted, error: NotCalledError) -> Answered:
        """Give back a grant that was not used, and ask again if only its time was over."""
        self._dispatcher.give_back(progress.errand.workflow, grant)
        progress.late_grants += 1
        is_late = error.reason is LocalReason.LATE_GRANT
        if not is_late or progress.late_grants >= LATE_GRANTS_MAX:
            raise error.stopped(grant) from None
        return self._asked_afresh(progress)

    def _report(self, progress: Progress, running: Running) -> Answered | None:
        errand, grant = progress.errand, running.held.grant
        receipt = self._attempts.receipt(running)
        progress.raised = running.answer.error if isinstance(running.answer, Raised) else None
        progress.late_grants, progress.poll_ms = 0, POLL_FIRST_MS
        is_success = receipt.outcome is Outcome.SUCCEEDED
        # Asked for one operation that has succeeded, there is nothing more to ask.
        is_last = progress.watch.is_over or (is_success and errand.operation is not None)
        following = None if is_last else self._question(progress)
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
            progress.results[grant.operation] = self._result(progress, delivered.receipt, receipt)
            if errand.operation is not None:
                return None
        if completed.decision is None:
            return self._asked_afresh(progress)
        if delivered.is_ambiguous and following is not None:
            self._dispatcher.abandon_if_stopped(errand.workflow, following, completed.decision)
        return Answered(completed.decision, delivered.sent_ms)

    def _question(self, progress: Progress) -> Begin:
        errand = progress.errand
        progress.question = self._dispatcher.question(errand.offers, errand.operation)
        return progress.question

    def _asked_afresh(self, progress: Progress) -> Answered:
        self._question(progress)
        return self._asked(progress)

    def _asked(self, progress: Progress) -> Answered:
        self._check_may_ask(progress)
        return self._dispatcher.ask(progress.errand.workflow, progress.question)

    def _check_may_ask(self, progress: Progress) -> None:
        if progress.watch.is_over:
            raise Stopped(
                LocalReason.CLOSING,
                "the client is being closed and takes no further grant",
                operation=progress.errand.operation or "",
            )

    def _wait(self, progress: Progress, wait: Wait) -> None:
        left_ms = progress.errand.wait_ms - progress.waited_ms
        if left_ms <= 0:
            raise Stopped.by(wait) from progress.raised
        pause_ms = min(max(min(wait.retry_after_ms, progress.poll_ms), POLL_MIN_MS), left_ms)
        self._clock.sleep(pause_ms)
        progress.waited_ms += pause_ms
        progress.poll_ms = min(2 * progress.poll_ms, POLL_LAST_MS)

    def _read_missing(self, progress: Progress) -> None:
        """Add the results of operations that had succeeded before this errand began."""
        errand = progress.errand
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
            progress.results[view.name] = self._result(progress, receipt)

    def _result(self, progress: Progress, receipt: Receipt, own: Receipt | None = None) -> object:
        if own is not None and receipt.result_omitted is None:
            return own.result
        workflow = progress.errand.workflow
        return result_of(receipt, lambda digest: self._controller.download(workflow, digest))
