"""A workflow as people see it: everything that is known, and what would happen next."""

from typing import assert_never

import msgspec
from msgspec import Struct

from onceward.wire.decisions import Mode
from onceward.wire.identifiers import OperationName, WorkflowKey, WorkspaceName
from onceward.wire.messages import (
    AttemptView,
    OperationView,
    Standing,
    WorkflowRow,
    WorkflowView,
)
from onceward.wire.receipts import Receipt
from onceward_controller.protocol import answers
from onceward_controller.protocol.attempt import Attempt
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.dispatch import judge_all
from onceward_controller.protocol.workflow import Workflow
from onceward_controller.service import wording
from onceward_controller.vault.index import Summary
from onceward_controller.vault.vault import Vault
from onceward_controller.vault.workflow_log import Head


def workflow_view(vault: Vault, head: Head, moment: Moment) -> WorkflowView:
    """Return all of a workflow. Reads the revision of each finished operation.

    Raises:
        StoreError: One could not be read.
        IntegrityError: One is not what was written.
    """
    workflow, identity = head.workflow, head.workflow.plan.identity
    indexes = range(len(workflow.plan.operations))
    finished = [at for at in indexes if workflow.is_finished(at)]
    receipts: dict[int, Receipt] = {}
    for recorded in vault.workflow_log(identity.id).records(head, finished):
        workflow = workflow.thawed(recorded.operation)
        if recorded.operation.settlement is not None:
            receipts[recorded.operation.at] = wording.receipt(vault, head, recorded)
    drawing = _Drawing(vault, workflow, moment, judge_all(workflow, moment=moment), receipts)
    return WorkflowView(
        id=identity.id,
        workspace=WorkspaceName(identity.workspace),
        key=WorkflowKey(identity.key),
        status=workflow.status,
        revision=head.tip.revision,
        definition_digest=workflow.plan.digest,
        created_ms=identity.created_ms,
        operations=tuple(map(drawing.operation, indexes)),
        label=identity.label,
        tags=identity.tags,
    )


def row_view(summary: Summary) -> WorkflowRow:
    """Return one line of a listing."""
    row = summary.row
    return WorkflowRow(
        id=summary.id,
        row_class=row.row_class,
        key=summary.key,
        label=summary.label,
        status=row.status,
        succeeded=row.succeeded,
        operations=summary.operations,
        at_ms=row.at_ms,
        note=row.note,
    )


class _Drawing(Struct, frozen=True):
    """What the view of each operation is drawn from; lists are by index."""

    vault: Vault
    workflow: Workflow
    moment: Moment
    verdicts: list[answers.Verdict]
    receipts: dict[int, Receipt]

    def operation(self, at: int) -> OperationView:
        """Return one operation."""
        plan, record = self.workflow.plan, self.workflow.operation(at)
        definition = plan.definition(at)
        following, detail = _next(self.verdicts[at])
        return OperationView(
            name=OperationName(definition.name),
            operation_id=plan.operation_id(at, self.vault.naming),
            tool=definition.tool,
            version=definition.version,
            destination=definition.destination,
            capability=definition.capability,
            guarantee=definition.capability.guarantee,
            timeout_ms=definition.timeout_ms,
            lease_ms=definition.lease_ms,
            max_in_flight_ms=definition.max_in_flight_ms,
            after=tuple(OperationName(name) for name in definition.after or ()),
            status=record.status(self.moment.ms),
            next=following,
            detail=detail,
            # An embedded caller may change what it is given.
            arguments=msgspec.to_builtins(definition.arguments),
            arguments_payload=definition.arguments_payload,
            attempts=tuple(map(_attempt, record.attempts)),
            receipt=self.receipts.get(at),
            assurance=None if record.settlement is None else record.settlement.assurance,
            double_effect_suspected=record.is_double_suspected,
        )


def _next(verdict: answers.Verdict) -> tuple[str, str]:
    match verdict:
        case answers.Grant(mode=mode):
            return mode.value, _PROMISES[mode]
        case answers.Reuse():
            return "reuse", "it has succeeded; the receipt is given back, nothing runs"
        case answers.Wait(reason=reason):
            return reason.value, ""
        case answers.Stop(reason=reason, detail=detail):
            return reason.value, detail
        case answers.Done():
            return "done", ""
        case _:
            assert_never(verdict)


_PROMISES = {
    Mode.EXECUTE: "whoever asks next may perform it",
    Mode.REPEAT: "whoever asks next may perform it again under the same idempotency key",
    Mode.QUERY: "whoever asks next looks at the destination first",
}


def _attempt(attempt: Attempt) -> AttemptView:
    report = attempt.report
    standing = None
    if report is not None:
        standing = Standing.ACCEPTED if report.accepted else Standing.EVIDENCE
    return AttemptView(
        number=attempt.number,
        mode=attempt.mode,
        granted_ms=attempt.granted_ms,
        lease_until_ms=attempt.lease_until_ms,
        renewals=attempt.renewals,
        released=attempt.released,
        outcome=None if report is None else report.outcome,
        standing=standing,
        effect_id=None if report is None else report.effect_id,
        reason="" if report is None else report.reason,
    )
