"""One operation: what was recorded about it, and what that says.

    pending --grant--> in_flight --succeeded-----------------------> succeeded
                        |  ^  `--not executed--> not_executed --grant--> in_flight
       lease over or    |  | grant
       unknown receipt  v  |
                     uncertain --query or person: succeeded--------> succeeded
                         `-----conclusive absent, or person: not---> not_executed

An attempt whose lease ran out without a word makes the operation uncertain without any event:
``status`` takes the time. Three rules decide who is believed:

- A query supersedes nothing: the receipt of the last execute or repeat counts while and after a
  query runs. Only a later execute or repeat supersedes an earlier one.
- A "not executed" or a release speaks for its own attempt. While an earlier execute or repeat is
  of unknown outcome, the operation stays uncertain.
- A success that is kept as evidence blocks every further execute and repeat until a person
  overrules it, whatever the newer attempt says.
"""

from msgspec import Struct

from onceward.wire import limits
from onceward.wire.definitions import NO_RETRY, OperationDefinition
from onceward.wire.messages import OperationStatus
from onceward.wire.receipts import Assurance, Outcome
from onceward_controller.protocol.attempt import Attempt, Report


class Settlement(Struct, frozen=True, array_like=True):
    """The success that later reads return, by the revision and attempt that brought it.

    Attributes:
        attempt: 0 for a person's attestation.
    """

    revision: int
    attempt: int
    effect_id: str | None
    assurance: Assurance


class Operation(Struct, frozen=True, array_like=True):
    """All that was recorded about one operation.

    Attributes:
        at: Its index in the plan.
        idempotency_key: Stored at the first grant.
        settled_through: Attempts up to this number are known to have done nothing.
        closed_through: Attempts up to this number were closed by a person's word: whatever they
            report from then on is evidence.
        one_more: One more execute is permitted that uses up no retry and waits for no backoff.
        refusals: Executions that ended in the tool's own "not executed".
        attempts_max: ``limits.ATTEMPTS_MAX``, or more where a person admitted one.
        settlement: The success, once there is one.
        abandoned: A person gave it up.
        noticed: What the last look found, while nothing has happened since: True that a person must
            decide, False that an attempt's lease ran out in silence.
        denied: A person said that it did not happen, and it was not executed since.
    """

    at: int
    attempts: tuple[Attempt, ...] = ()
    idempotency_key: str = ""
    settled_through: int = 0
    closed_through: int = 0
    one_more: bool = False
    refusals: int = 0
    attempts_max: int = limits.ATTEMPTS_MAX
    settlement: Settlement | None = None
    abandoned: bool = False
    noticed: bool | None = None
    denied: bool = False

    @property
    def is_final(self) -> bool:
        """Whether nothing can change what this operation came to."""
        return self.settlement is not None or self.abandoned

    @property
    def last(self) -> Attempt | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def last_effect(self) -> Attempt | None:
        """The newest attempt that may have performed the effect."""
        return next((each for each in reversed(self.attempts) if each.is_effect), None)

    @property
    def first_granted_ms(self) -> int:
        """When the idempotency key was first sent out; 0 before that."""
        return self.attempts[0].granted_ms if self.attempts else 0

    def attempt(self, number: int) -> Attempt | None:
        """Return the attempt with ``number``, or None."""
        return self.attempts[number - 1] if 1 <= number <= len(self.attempts) else None

    def live(self, now_ms: int, *, margin_ms: int = 0) -> Attempt | None:
        """Return the attempt that holds a lease, or None.

        Args:
            now_ms: Trusted time.
            margin_ms: How much longer than its lease the holder is left alone.
        """
        last = self.last
        if last is None or self.is_final or last.has_ended or last.number <= self.closed_through:
            return None
        return last if now_ms < last.lease_until_ms + margin_ms else None

    def is_superseded(self, attempt: Attempt) -> bool:
        """Return whether a later attempt has taken ``attempt``'s place."""
        last = self.last_effect if attempt.is_effect else self.last
        return last is not None and last.number > attempt.number

    def is_unknown(self, attempt: Attempt) -> bool:
        """Return whether ``attempt`` may have performed the effect, for all that is known."""
        return (
            attempt.is_effect
            and attempt.number > self.settled_through
            and not attempt.released
            and not attempt.accepted(Outcome.NOT_EXECUTED)
            and not attempt.accepted(Outcome.SUCCEEDED)
        )

    @property
    def is_uncertain(self) -> bool:
        """Whether any attempt may have performed the effect without anybody knowing."""
        return any(self.is_unknown(attempt) for attempt in self.attempts)

    @property
    def is_blocked(self) -> bool:
        """Whether a success is kept as evidence that nobody has decided on."""
        return any(
            attempt.report is not None
            and attempt.report.outcome is Outcome.SUCCEEDED
            and not attempt.report.accepted
            and not attempt.report.overruled
            for attempt in self.attempts
        )

    @property
    def is_double_suspected(self) -> bool:
        """Whether a success that is only evidence speaks against what is recorded.

        A newer attempt may have had an effect of its own, another effect was recorded, or a person
        gave the operation up.
        """
        return any(
            self._speaks_against(attempt, attempt.report)
            for attempt in self.attempts
            if attempt.report is not None
            and not attempt.report.accepted
            and attempt.report.outcome is Outcome.SUCCEEDED
        )

    def _speaks_against(self, attempt: Attempt, evidence: Report) -> bool:
        if self.abandoned:
            return True
        if self.settlement is not None and self.settlement.effect_id != evidence.effect_id:
            return True
        was_absent = attempt.number <= self.settled_through
        return any(
            self.is_unknown(newer)
            or (
                newer.report is not None
                and newer.report.outcome is Outcome.SUCCEEDED
                # Executed anew after an absence, and both succeeded: whatever they call it.
                and (newer.report.effect_id != evidence.effect_id or was_absent)
            )
            for newer in self.attempts[attempt.number :]
        )

    def status(self, now_ms: int) -> OperationStatus:
        """Return where the operation stands at trusted time ``now_ms``."""
        if self.settlement is not None:
            return OperationStatus.SUCCEEDED
        if self.abandoned:
            return OperationStatus.ABANDONED
        if self.live(now_ms) is not None:
            return OperationStatus.IN_FLIGHT
        if self.is_blocked:
            return OperationStatus.BLOCKED
        if self.is_uncertain:
            return OperationStatus.UNCERTAIN
        return self.settled_status

    @property
    def settled_status(self) -> OperationStatus:
        """Pending or not executed, of an operation of which neither is in doubt."""
        untouched = (
            self.settled_through == 0
            and not self.denied
            and all(attempt.released for attempt in self.attempts if attempt.is_effect)
        )
        return OperationStatus.PENDING if untouched else OperationStatus.NOT_EXECUTED

    def may_execute_again(self, definition: OperationDefinition) -> bool:
        """Return whether an operation that is not executed may be executed once more."""
        return self.one_more or self.refusals < (definition.retry or NO_RETRY).attempts

    def retry_due_ms(self, definition: OperationDefinition) -> int:
        """Return from when an operation that is not executed may be executed again.

        0 for one that never waits: nobody has tried, or one more is permitted.
        """
        if self.one_more:
            return 0
        refused = [
            each.report.at_ms
            for each in self.attempts
            if each.is_effect and each.report is not None and each.accepted(Outcome.NOT_EXECUTED)
        ]
        if not refused or not max(refused):
            return 0
        return max(refused) + (definition.retry or NO_RETRY).backoff_ms(self.refusals)

    def landed_by_ms(self, definition: OperationDefinition) -> int:
        """Return when every call that was issued has landed, in trusted time.

        Of any execute or repeat, whichever is later: its lease's end plus ``max_in_flight``, or the
        last moment for its call plus the call's timeout, since a worker that can no longer renew
        does not end the call. Plus the clock error.
        """
        landed = [
            max(
                each.lease_until_ms + definition.max_in_flight_ms,
                each.call_before_ms + definition.timeout_ms,
            )
            for each in self.attempts
            if each.is_effect
        ]
        return max(landed) + limits.CLOCK_ERROR_MS if landed else 0

    def key_dies_ms(self, definition: OperationDefinition) -> int:
        """Return the last moment at which a call under the stored key may be issued.

        First grant plus retention, less how long a call can take to land (``max_in_flight``, or its
        timeout where that is longer), less the repeat margin: a call issued before then lands while
        the destination still knows the key.

        Raises:
            AssertionError: The tool declares no idempotency.
        """
        retention_ms = definition.capability.idempotency_ms
        assert retention_ms is not None, "only a declared key can die"
        return (
            self.first_granted_ms
            + retention_ms
            - max(definition.max_in_flight_ms, definition.timeout_ms)
            - limits.REPEAT_MARGIN_MS
        )
