"""What a receipt changes, and whose receipt counts.

    last attempt, or last execute or repeat       accepted, however late
    replaced by a newer one, released, closed     evidence: kept, and completes nothing
    the same receipt again                        accepted again, and nothing is written
    another receipt for the same attempt          refused

No receipt is dropped: what completes nothing is kept, and a success among it blocks the operation.
"""

from onceward.wire.messages import Standing, WorkflowStatus
from onceward.wire.problems import ProblemCode, problem
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import events, holders
from onceward_controller.protocol.attempt import Attempt
from onceward_controller.protocol.commands import Complete
from onceward_controller.protocol.naming import Naming
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.workflow import Workflow

REASON_CHARACTERS_KEPT = 200
"""Of a tool's reason what the state keeps beside the report; the receipt has it whole."""


def report(
    workflow: Workflow, command: Complete, naming: Naming
) -> tuple[events.Reported | None, Standing]:
    """Return the event that files the receipt, None when it was filed before, and its standing.

    Raises:
        InvalidError: ``receipt_mismatch``: it speaks of another operation.
        DeniedError: The token is not this attempt's.
        NotFoundError: There is no such attempt.
        ConflictError: ``receipt_conflict``: the attempt has reported something else.
    """
    at = holders.index(workflow, command.operation)
    operation_id = workflow.plan.operation_id(at, naming)
    if command.body.receipt.operation_id != operation_id:
        raise problem(
            ProblemCode.RECEIPT_MISMATCH,
            "the receipt speaks of another operation",
            expected=operation_id,
            got=command.body.receipt.operation_id,
        )
    operation = workflow.operation(at)
    attempt = holders.attempt(
        operation, command.body.attempt, command.body.lease_token, operation_id, naming
    )
    if attempt.report is not None:
        return None, _filed_before(attempt, command)
    is_abandoned = workflow.progress.switch is WorkflowStatus.ABANDONED
    accepted = not is_abandoned and _counts(operation, attempt)
    definition = workflow.plan.definition(at)
    event = events.Reported(
        at=at,
        number=attempt.number,
        outcome=command.body.receipt.outcome,
        accepted=accepted,
        conclusive=_is_conclusive(operation, attempt, command, operation.landed_by_ms(definition)),
        effect_id=command.body.receipt.effect_id,
        receipt_sha256=command.receipt_sha256,
        receipt=command.receipt,
        reason=(command.body.receipt.reason or "")[:REASON_CHARACTERS_KEPT],
    )
    return event, Standing.ACCEPTED if accepted else Standing.EVIDENCE


def _filed_before(attempt: Attempt, command: Complete) -> Standing:
    assert attempt.report is not None, "the caller asks about an attempt that has reported"
    if attempt.report.sha256 != command.receipt_sha256:
        raise problem(
            ProblemCode.RECEIPT_CONFLICT,
            "the attempt has reported something else before",
            attempt=attempt.number,
            recorded=attempt.report.outcome.value,
        )
    return Standing.ACCEPTED if attempt.report.accepted else Standing.EVIDENCE


def _counts(operation: Operation, attempt: Attempt) -> bool:
    return not (
        operation.is_final
        or attempt.released
        or attempt.number <= operation.closed_through
        or operation.is_superseded(attempt)
    )


def _is_conclusive(
    operation: Operation, attempt: Attempt, command: Complete, landed_ms: int
) -> bool:
    """Return whether an "absent" settles every earlier attempt.

    The query must have been granted once every issued call had landed; and no execute may have
    been granted since, which an accepted query rules out by being the last attempt.
    """
    return (
        not attempt.is_effect
        and command.body.receipt.outcome is Outcome.NOT_EXECUTED
        and not operation.is_superseded(attempt)
        and attempt.granted_ms >= landed_ms
    )
