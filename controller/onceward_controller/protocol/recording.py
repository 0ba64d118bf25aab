"""How one event changes what is recorded about one operation. The only place that does.

Each function raises ``ValueError`` where the event cannot follow the record: it was then not
written by ``decide``, and the log must not be believed.
"""

import msgspec
from msgspec import Struct

from onceward.wire.receipts import Assurance, Outcome
from onceward_controller.protocol import events
from onceward_controller.protocol.attempt import Attempt, Report
from onceward_controller.protocol.operation import Operation, Settlement

_replace = msgspec.structs.replace


class Stamp(Struct, frozen=True):
    """Where and when a transition stands in the log.

    Attributes:
        revision: The one that carries it.
        ms: Trusted time.
        safe: Whether that time may raise the workflow's high-water mark.
    """

    revision: int
    ms: int
    safe: bool = True


def granted(operation: Operation, event: events.Granted, stamp: Stamp) -> Operation:
    """Add an attempt; an execute uses up the permission for one more."""
    if operation.is_final or event.number != len(operation.attempts) + 1:
        raise ValueError(f"attempt out of order: number=`{event.number}`")
    attempt = Attempt(
        number=event.number,
        mode=event.mode,
        request_id=event.request_id,
        granted_ms=stamp.ms,
        lease_until_ms=event.lease_until_ms,
        call_before_ms=event.call_before_ms,
    )
    return _replace(
        operation,
        attempts=(*operation.attempts, attempt),
        idempotency_key=event.idempotency_key or operation.idempotency_key,
        one_more=operation.one_more and not attempt.is_effect,
        denied=operation.denied and not attempt.is_effect,
        noticed=None,
    )


def renewed(operation: Operation, event: events.Renewed) -> Operation:
    """Move the end of a lease."""
    attempt = _attempt(operation, event.number)
    if attempt.has_ended:
        raise ValueError(f"only a live lease is renewed: number=`{event.number}`")
    return _with(
        operation,
        _replace(attempt, lease_until_ms=event.lease_until_ms, renewals=attempt.renewals + 1),
    )


def noticed(operation: Operation, event: events.Noticed) -> Operation:
    """Keep what somebody saw, until something happens."""
    return _replace(operation, noticed=event.needs_person)


def released(operation: Operation, event: events.Released) -> Operation:
    """End an attempt whose call was never made; permit one more where nothing is in doubt."""
    attempt = _attempt(operation, event.number)
    if attempt.has_ended:
        raise ValueError(f"the attempt has ended: number=`{event.number}`")
    after = _with(operation, _replace(attempt, released=True))
    may = attempt.is_effect and not after.is_uncertain and not after.is_blocked
    return _replace(after, one_more=after.one_more or may, noticed=None)


def reported(operation: Operation, event: events.Reported, stamp: Stamp) -> Operation:
    """File a receipt, and settle what it settles if it was accepted."""
    attempt = _attempt(operation, event.number)
    if attempt.report is not None:
        raise ValueError(f"attempt has reported before: number=`{event.number}`")
    report = Report(
        outcome=event.outcome,
        accepted=event.accepted,
        effect_id=event.effect_id,
        sha256=event.receipt_sha256,
        # A receipt is taken whatever the clocks say, and nothing may rest on a wrong time.
        at_ms=stamp.ms if stamp.safe else 0,
        revision=stamp.revision,
        reason=event.reason,
    )
    after = _replace(_with(operation, _replace(attempt, report=report)), noticed=None)
    if not event.accepted:
        return after
    match event.outcome:
        case Outcome.SUCCEEDED:
            settlement = Settlement(
                revision=stamp.revision,
                attempt=event.number,
                effect_id=event.effect_id,
                assurance=Assurance.HOST_REPORTED,
            )
            return _replace(after, settlement=settlement)
        case Outcome.NOT_EXECUTED if attempt.is_effect:
            return _replace(after, refusals=after.refusals + 1)
        case Outcome.NOT_EXECUTED if event.conclusive and operation.is_uncertain:
            return _replace(after, settled_through=len(after.attempts), one_more=True)
        case Outcome.NOT_EXECUTED | Outcome.UNKNOWN:
            return after


def attested(operation: Operation, event: events.Attested, stamp: Stamp) -> Operation:
    """Close every attempt by a person's word."""
    _require_open(operation)
    through = len(operation.attempts)
    if event.outcome is Outcome.SUCCEEDED:
        settlement = Settlement(
            revision=stamp.revision,
            attempt=0,
            effect_id=event.effect_id,
            assurance=Assurance.OPERATOR_ATTESTED,
        )
        return _replace(operation, closed_through=through, settlement=settlement)
    overruled = tuple(
        _replace(each, report=_replace(each.report, overruled=True))
        if each.report is not None and not each.report.accepted
        else each
        for each in operation.attempts
    )
    return _replace(
        operation,
        attempts=overruled,
        closed_through=through,
        settled_through=through,
        one_more=True,
        denied=True,
        attempts_max=max(operation.attempts_max, through + 1),
        noticed=None,
    )


def abandoned(operation: Operation) -> Operation:
    """Give the operation up."""
    _require_open(operation)
    return _replace(operation, abandoned=True, closed_through=len(operation.attempts))


def _require_open(operation: Operation) -> None:
    if operation.is_final:
        raise ValueError(f"the operation is final: index=`{operation.at}`")


def _attempt(operation: Operation, number: int) -> Attempt:
    attempt = operation.attempt(number)
    if attempt is None:
        raise ValueError(f"no such attempt: number=`{number}`")
    return attempt


def _with(operation: Operation, attempt: Attempt) -> Operation:
    attempts = operation.attempts
    before, after = attempts[: attempt.number - 1], attempts[attempt.number :]
    return _replace(operation, attempts=(*before, attempt, *after))
