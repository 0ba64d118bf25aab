"""One granted call: from the grant to the tool's receipt.

    grant ─▶ is it this tool? ─▶ arguments ─▶ note ─▶ still in time? ─▶ tool ─▶ receipt
                  └──────────────────┴────────────────────┴──▶ given back: the call was not made

The last look at the time comes after everything that can take time, on the tool's own thread.

A call that said nothing within its timeout is reported as of unknown outcome. The moment in which
the runner gives up decides: an answer that came before it is the receipt; one that comes after it,
and says that the effect is there, is kept among the spool's dead letters, since a person who has
to resolve the operation will want to know. It cannot be sent: an attempt reports once. When the
caller was interrupted nothing was reported yet, and the answer, whenever it comes, is delivered.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import Any

import msgspec

from onceward.answers import Answer, NotCalled, receipt_of, timed_out
from onceward.call import Call, Cancellation
from onceward.controller import Controller
from onceward.errors import LocalReason
from onceward.grants import Held, NotCalledError, Tools, perform_of
from onceward.lease_keeper import Lease, LeaseKeeper, renewal_due_ms
from onceward.ports import Clock
from onceward.results import read_payload, tidy
from onceward.spool import Spool
from onceward.toolhost import Running, ToolHost
from onceward.wire.problems import InvalidError
from onceward.wire.receipts import Outcome, Receipt


@dataclass(frozen=True, slots=True)
class Started:
    """A call under way.

    Attributes:
        note: Its name in the spool, where there is one.
    """

    held: Held
    call: Call
    note: str | None
    running: Running


class Attempts:
    """Makes the calls of one client."""

    def __init__(
        self,
        controller: Controller,
        clock: Clock,
        *,
        host: ToolHost,
        keeper: LeaseKeeper,
        spool: Spool | None,
        origin: str,
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._host = host
        self._keeper = keeper
        self._spool = spool
        self._origin = origin
        self._guard = Lock()
        self._live: set[Cancellation] = set()

    def start(self, held: Held, tools: Tools) -> Started:
        """Make the call that a grant permits.

        Args:
            held: The grant.
            tools: What this process can run, by name and version.

        Returns:
            The call under way, for ``receipt``.

        Raises:
            NotCalledError: The call was not made, as was not when any ``Exception`` is raised.
            ProblemError: The arguments could not be fetched.
            OSError: The spool could not note the call.
            RuntimeError: No thread or loop could take the tool.
        """
        grant = held.grant
        perform = perform_of(grant, tools)
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
        with self._guard:
            self._live.add(call.cancelled)
        try:
            running = self._host.start(
                perform, call, may_call=lambda: self._is_in_time(held), loop=held.loop
            )
            return Started(held, call, note, running)
        except Exception:
            self._over(call, note)
            raise

    def receipt(
        self,
        started: Started,
        *,
        after_timeout: Callable[[Receipt], None],
        after_interrupt: Callable[[Receipt], None],
    ) -> Receipt:
        """Wait for the call and return its tidy receipt.

        Args:
            started: The call under way.
            after_timeout: Told of a success that came too late.
            after_interrupt: Told of the receipt when this method is left by an exception while the
                tool is running.

        Raises:
            NotCalledError: The time to make the call was over when the tool's turn came.
        """
        held, call, running = started.held, started.call, started.running
        try:
            answer = self._waited(held, call, running)
            if answer is None:
                call.cancelled.set()
                answer = running.give_up(lambda late: _tell_success(call, late, after_timeout))
        except BaseException:
            call.cancelled.set()
            came = running.give_up(lambda late: after_interrupt(_tidied(call, late)))
            if came is not None and not isinstance(came, NotCalled):
                after_interrupt(_tidied(call, came))
            raise
        finally:
            self._over(call, started.note)
        if isinstance(answer, NotCalled):
            raise NotCalledError(
                LocalReason.LATE_GRANT,
                "the grant came after its call must have been made: a longer lease helps",
            )
        if answer is None:
            return timed_out(call, held.grant.timeout_ms)
        return _tidied(call, answer)

    def cancel_all(self) -> None:
        """Tell every running tool that its answer is no longer waited for."""
        with self._guard:
            live = list(self._live)
        for cancelled in live:
            cancelled.set()

    def _waited(self, held: Held, call: Call, running: Running) -> Answer | NotCalled | None:
        """Wait for the answer; past two thirds of the lease, with somebody renewing it."""
        started_ms = self._clock.boottime_ms()
        timeout_ms = held.grant.timeout_ms
        until_ms = held.own_ms(held.grant.lease_until_ms)
        unattended_ms = renewal_due_ms(held.sent_ms, until_ms) - started_ms
        if timeout_ms <= unattended_ms:
            return running.wait(timeout_ms)
        answer = running.wait(unattended_ms)
        if answer is not None:
            return answer
        lease = Lease(
            held.workflow,
            held.grant.operation,
            held.grant.attempt,
            held.grant.lease_token,
            until_ms,
            call.cancelled.set,
        )
        self._keeper.hold(lease)
        try:
            return running.wait(timeout_ms - max(unattended_ms, 0))
        finally:
            self._keeper.drop(lease)

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

    def _is_in_time(self, held: Held) -> bool:
        return self._clock.boottime_ms() < held.own_ms(held.grant.call_before_ms)

    def _over(self, call: Call, note: str | None) -> None:
        with self._guard:
            self._live.discard(call.cancelled)
        if note is not None and self._spool is not None:
            # Left behind, the note says "called" or speaks of what was given back: either is true,
            # and neither is worth the receipt.
            with suppress(OSError):
                self._spool.forget_grant(note)

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


def _tidied(call: Call, answer: Answer) -> Receipt:
    return tidy(receipt_of(call, answer))


def _tell_success(call: Call, answer: Answer, tell: Callable[[Receipt], None]) -> None:
    receipt = _tidied(call, answer)
    if receipt.outcome is Outcome.SUCCEEDED:
        tell(receipt)
