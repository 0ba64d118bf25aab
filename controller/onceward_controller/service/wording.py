"""From the core's answers, which speak in indexes, to decisions, which speak in names."""

from typing import assert_never

from onceward.wire import decisions, receipts
from onceward.wire.decisions import Mode
from onceward.wire.identifiers import OperationName
from onceward_controller.protocol import answers
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.events import Attested, Reported
from onceward_controller.protocol.operation import Operation, Settlement
from onceward_controller.vault.damage import DamagedLogError
from onceward_controller.vault.vault import Vault
from onceward_controller.vault.workflow_log import Head, Recorded

_GRANTS: dict[Mode, type[decisions.Execute | decisions.Repeat | decisions.Query]] = {
    Mode.EXECUTE: decisions.Execute,
    Mode.REPEAT: decisions.Repeat,
    Mode.QUERY: decisions.Query,
}


def decision(
    vault: Vault, head: Head, verdict: answers.Verdict, moment: Moment
) -> decisions.Decision:
    """Return the decision that says what ``verdict`` says.

    Args:
        vault: Names, and the receipts of finished operations.
        head: The state after the revision that carries the verdict.
        verdict: The core's.
        moment: When it was decided.

    Raises:
        StoreError: A receipt could not be read.
        IntegrityError: It is not what was written.
    """
    plan = head.workflow.plan
    match verdict:
        case answers.Grant():
            return _granted(vault, head, verdict, moment)
        case answers.Reuse(at):
            [recorded] = vault.workflow_log(plan.identity.id).records(head, [at])
            return decisions.Reuse(
                operation=_name(head, at),
                operation_id=plan.operation_id(at, vault.naming),
                receipt=receipt(vault, head, recorded),
                assurance=_settlement(recorded.operation).assurance,
            )
        case answers.Wait(at, reason, until_ms, predecessor):
            return decisions.Wait(
                operation=_name(head, at),
                reason=reason,
                retry_after_ms=max(until_ms - moment.ms, 0),
                predecessor=None if predecessor is None else _name(head, predecessor),
            )
        case answers.Stop(at, reason, detail, predecessor):
            is_clock = reason is decisions.StopReason.CLOCK_UNSAFE
            return decisions.Stop(
                operation=_name(head, at),
                reason=reason,
                detail=detail,
                predecessor=None if predecessor is None else _name(head, predecessor),
                store_ms=moment.store_ms if is_clock else None,
                local_ms=moment.local_ms if is_clock else None,
            )
        case answers.Done():
            return decisions.Done(operations=len(plan.operations))
        case _:
            assert_never(verdict)


def receipt(vault: Vault, head: Head, recorded: Recorded) -> receipts.Receipt:
    """Return the receipt that settled a final operation, byte for byte as it was accepted.

    Raises:
        StoreError: It could not be read.
        IntegrityError: It is not where it should be.
    """
    settlement = _settlement(recorded.operation)
    body = recorded.body
    if settlement.revision != recorded.revision:
        # Evidence that came afterwards has moved the record on; the receipt stayed.
        log = vault.workflow_log(head.workflow.plan.identity.id)
        [body] = log.bodies(head, [settlement.revision])
    for event in (event for entry in body.entries for event in entry.events):
        number = event.number if isinstance(event, Reported) else 0
        if (
            isinstance(event, Reported | Attested)
            and event.at == recorded.operation.at
            and number == settlement.attempt
        ):
            return receipts.decode(event.receipt)
    raise DamagedLogError(f"revision {settlement.revision} lacks the receipt that it should hold")


def _granted(vault: Vault, head: Head, grant: answers.Grant, moment: Moment) -> decisions.Decision:
    plan = head.workflow.plan
    definition = plan.definition(grant.at)
    operation = head.workflow.operation(grant.at)
    operation_id = plan.operation_id(grant.at, vault.naming)
    attempt = operation.attempt(grant.number)
    assert attempt is not None, "a grant is made of an attempt"
    return _GRANTS[grant.mode](
        operation=_name(head, grant.at),
        operation_id=operation_id,
        attempt=grant.number,
        lease_token=vault.naming.lease_token(operation_id, grant.number, attempt.request_id),
        lease_ms=definition.lease_ms,
        lease_until_ms=attempt.lease_until_ms,
        call_before_ms=attempt.call_before_ms,
        now_ms=moment.ms,
        idempotency_key=operation.idempotency_key,
        tool=definition.tool,
        version=definition.version,
        destination=definition.destination,
        timeout_ms=definition.timeout_ms,
        fence=grant.number,
        arguments=definition.arguments,
        arguments_payload=definition.arguments_payload,
    )


def _settlement(record: Operation) -> Settlement:
    if record.settlement is None:
        raise DamagedLogError("an operation that succeeded has no settlement")
    return record.settlement


def _name(head: Head, at: int) -> OperationName:
    return OperationName(head.workflow.plan.definition(at).name)
