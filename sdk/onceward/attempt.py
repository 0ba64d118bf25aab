"""One granted call: from the grant to the tool's receipt.

    grant ─▶ is it this tool? ─▶ arguments ─▶ note ─▶ still in time? ─▶ tool ─▶ receipt
                  └──────────────────┴────────────────────┴──▶ given back: the call was not made

The last look at the time comes after everything that can take time, on the thread that calls.

A call that says nothing within its timeout is reported as of unknown outcome. The moment in which
the caller gives up decides: an answer that came before it is the receipt; one that comes after it,
and says that the effect is there, is kept among the spool's dead letters, since a person who has
to resolve the operation will want to know. It cannot be sent: an attempt reports once.
"""

import contextvars
import inspect
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec

from onceward.answers import Answer, NotCalled, Raised, Returned, TimedOut, receipt_of
from onceward.call import Call, Cancellation
from onceward.callbacks import Perform
from onceward.controller import Controller
from onceward.errors import LocalReason
from onceward.grants import Held, NotCalledError, Tools, perform_of
from onceward.lease_keeper import Lease, LeaseKeeper, renewal_due_ms
from onceward.loops import Loops, RunningTask
from onceward.ports import Clock
from onceward.results import read_payload, tidy
from onceward.running import Running
from onceward.spool import Spool
from onceward.watch import Watch
from onceward.wire.problems import InvalidError
from onceward.wire.receipts import Outcome, Receipt

AGAIN_MS = 1_000
"""How soon a call is looked at again that was to be given up."""


class NotInChargeError(Exception):
    """Another thread is in charge of the errand: let go of it."""


class Attempts:
    """Makes the calls of one client.

    Args:
        controller: Keeps large arguments.
        clock: Counts leases and timeouts.
        loops: Where asynchronous tools run.
        keeper: Renews the leases of long calls.
        late: Told of a success that came after its call was given up.
        spool: Where calls are noted, None for nowhere.
        origin: Which controller this is, in the spool's words.
    """

    def __init__(
        self,
        controller: Controller,
        clock: Clock,
        *,
        loops: Loops,
        keeper: LeaseKeeper,
        late: Callable[[Held, Receipt], None],
        spool: Spool | None,
        origin: str,
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._loops = loops
        self._keeper = keeper
        self._late = late
        self._spool = spool
        self._origin = origin

    def make(self, held: Held, tools: Tools, watch: Watch) -> Running:
        """Make the call that a grant permits, and return it settled; for ``receipt``.

        Args:
            held: The grant.
            tools: What this process can run, by name and version.
            watch: Where the call is published.

        Raises:
            NotInChargeError: The call was given up; what it answered too late is taken care of.
            NotCalledError: The call was not made, as was not when another ``Exception`` is raised.
            ProblemError: The arguments could not be fetched.
            OSError: The spool could not note the call.
            RuntimeError: No loop could take the tool.
        """
        perform = perform_of(held.grant, tools)
        running = self._prepared(held, perform)
        watch.attend(running)

        def may_call() -> bool:
            call_before_ms = held.own_ms(held.grant.call_before_ms)
            return not watch.is_over and self._clock.boottime_ms() < call_before_ms

        if isinstance(running, RunningTask):
            self._run_task(running, perform, may_call)
        elif running.begin(may_call):
            answer = contextvars.copy_context().run(_answer, perform, running.call)
            if not running.settle(answer):
                try:
                    self._tell_late(running, answer)
                finally:
                    # Whatever comes of that, the errand goes on elsewhere.
                    raise NotInChargeError
        if isinstance(running.answer, NotCalled):
            self._over(running)
            raise NotCalledError(
                LocalReason.LATE_GRANT,
                "the grant came after its call must have been made: a longer lease helps",
            )
        return running

    def receipt(self, running: Running) -> Receipt:
        """Return the tidy receipt of a call that was made and is settled; it is then over."""
        self._over(running)
        answer = running.answer
        assert isinstance(answer, Answer | TimedOut), "the call was made"
        return tidy(receipt_of(running.call, answer))

    def look(self, running: Running) -> bool:
        """Look at a call that is due: return whether its time is over, else renew its lease."""
        if running.look_ms >= running.ends_ms:
            running.look_ms = self._clock.boottime_ms() + AGAIN_MS
            return True
        held, grant = running.held, running.held.grant
        running.lease = Lease(
            held.workflow,
            grant.operation,
            grant.attempt,
            grant.lease_token,
            held.own_ms(grant.lease_until_ms),
            running.call.cancelled.set,
        )
        running.look_ms = running.ends_ms
        self._keeper.hold(running.lease)
        if running.answer is not None:
            # It ended meanwhile, and whoever ended it may have seen no lease to drop.
            self._keeper.drop(running.lease)
        return False

    def _run_task(
        self, running: RunningTask, perform: Perform, may_call: Callable[[], bool]
    ) -> None:
        try:
            self._loops.run(
                running,
                perform,
                may_call=may_call,
                late=lambda answer: self._tell_late(running, answer),
            )
        except RuntimeError:
            self._over(running)
            raise

    def _prepared(self, held: Held, perform: Perform) -> Running:
        grant = held.grant
        call = Call(
            arguments=self._arguments(held),
            operation_id=grant.operation_id,
            idempotency_key=grant.idempotency_key,
            destination=grant.destination,
            timeout=timedelta(milliseconds=grant.timeout_ms),
            attempt=grant.attempt,
            mode=grant.mode,
            fence=grant.fence,
            cancelled=Cancellation(),
        )
        note = self._noted(held)
        ends_ms = self._clock.boottime_ms() + grant.timeout_ms
        renewal_ms = renewal_due_ms(held.sent_ms, held.own_ms(grant.lease_until_ms))
        kind = RunningTask if perform.is_async else Running
        return kind(held, call, note, look_ms=min(ends_ms, renewal_ms), ends_ms=ends_ms)

    def _arguments(self, held: Held) -> dict[str, Any]:
        reference = held.grant.arguments_payload
        if reference is None:
            # A copy: within one process a grant may share its arguments with the record of what
            # was declared, and a tool that changed them would change what is repeated.
            copied: dict[str, Any] = msgspec.to_builtins(held.grant.arguments)
            return copied
        try:
            value = read_payload(
                reference, lambda digest: self._controller.download(held.workflow, digest)
            )
        except InvalidError:
            value = None
        if not isinstance(value, dict):
            raise NotCalledError(
                LocalReason.ARGUMENTS_UNREADABLE,
                f"the stored arguments are no JSON object: digest=`{reference.digest}`",
            )
        return value

    def _noted(self, held: Held) -> str | None:
        if self._spool is None:
            return None
        grant = held.grant
        note = self._spool.note_grant(
            self._origin,
            held.workflow,
            grant.operation,
            attempt=grant.attempt,
            lease_token=grant.lease_token,
        )
        if note is not None:
            self._spool.mark_called(note)
        return note

    def _over(self, running: Running) -> None:
        if running.lease is not None:
            self._keeper.drop(running.lease)
        if running.note is not None and self._spool is not None:
            # Left behind, the note says "called" or speaks of what was given back: either is true,
            # and neither is worth the receipt.
            with suppress(OSError):
                self._spool.forget_grant(running.note)

    def _tell_late(self, running: Running, answer: Answer) -> None:
        receipt = tidy(receipt_of(running.call, answer))
        if receipt.outcome is Outcome.SUCCEEDED:
            # Nobody is left to be told that the disk refused.
            with suppress(OSError):
                self._late(running.held, receipt)


def _answer(perform: Perform, call: Call) -> Answer:
    try:
        value = perform.start(call)
    except BaseException as error:  # noqa: BLE001 - even SystemExit must become a receipt
        return Raised(error)
    if inspect.iscoroutine(value):
        # A synchronous function that returns a coroutine has performed nothing it could speak of.
        value.close()
    return Returned(value)
