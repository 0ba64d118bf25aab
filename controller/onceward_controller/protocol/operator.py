"""What people do to a workflow: let it run, stop it, say what happened, give it up.

A person's word about a call needs evidence in words and the revision that they decided on, so
that nobody decides on what has changed since. "It did not happen" is only heard once every call
that was issued has landed: before that the person cannot know.
"""

from onceward.wire import limits
from onceward.wire.messages import WorkflowStatus
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import events, holders
from onceward_controller.protocol.answers import Noted, Transition
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.commands import Abandon, Resolve
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.workflow import Workflow

UNCHANGED = Transition(events=(), answer=Noted())


def enable(workflow: Workflow) -> Transition:
    """Return the transition that lets the workflow run; it also ends a pause.

    Raises:
        ConflictError: The workflow is finished.
    """
    if workflow.is_over:
        raise _finished(workflow)
    if workflow.progress.switch is WorkflowStatus.ENABLED:
        return UNCHANGED
    return Transition(events=(events.Enabled(),), answer=Noted())


def pause(workflow: Workflow) -> Transition:
    """Return the transition after which nothing is dispatched; live attempts may report.

    Raises:
        ConflictError: The workflow is finished.
    """
    if workflow.is_over:
        raise _finished(workflow)
    match workflow.progress.switch:
        case WorkflowStatus.PAUSED:
            return UNCHANGED
        case WorkflowStatus.DRAFT:
            raise problem(ProblemCode.NOT_ENABLED, "a draft dispatches nothing; nothing to pause")
        case _:
            return Transition(events=(events.Paused(),), answer=Noted())


def resolve(workflow: Workflow, command: Resolve, moment: Moment) -> Transition:
    """Return the transition that settles an operation by a person's word.

    Raises:
        InvalidError: Evidence is missing, or the outcome settles nothing.
        ConflictError: The operation is settled, a lease is live, an issued call may still land,
            the workflow has changed since, or the clock is not to be believed.
        NotFoundError: There is no such operation.
    """
    at = holders.index(workflow, command.operation)
    _require_evidence(command.body.evidence)
    if command.body.outcome is Outcome.UNKNOWN:
        raise problem(ProblemCode.BODY_INVALID, "a resolution says what happened: $.outcome")
    if workflow.progress.switch is WorkflowStatus.ABANDONED:
        raise _finished(workflow)
    if workflow.is_finished(at):
        raise problem(ProblemCode.OPERATION_SETTLED, "the operation is settled already")
    operation = workflow.operation(at)
    _require_seen(workflow, command.body.revision)
    _require_idle(operation, moment)
    if command.body.outcome is Outcome.NOT_EXECUTED:
        landed_ms = operation.landed_by_ms(workflow.plan.definition(at))
        if moment.ms < landed_ms:
            raise problem(
                ProblemCode.MAY_STILL_LAND,
                "a call that was issued may still land: decide again after that time",
                allowed_from_ms=landed_ms,
                now_ms=moment.ms,
            )
    event = events.Attested(
        at=at,
        outcome=command.body.outcome,
        evidence=command.body.evidence,
        effect_id=command.body.effect_id,
        receipt=command.receipt,
    )
    return Transition(events=(event,), answer=Noted())


def abandon(workflow: Workflow, command: Abandon, moment: Moment) -> Transition:
    """Return the transition that gives up the workflow, or one operation of it.

    Raises:
        InvalidError: Evidence is missing.
        ConflictError: It is finished, a lease is live, it has changed since, or the clock is not
            to be believed.
        NotFoundError: There is no such operation.
    """
    _require_evidence(command.body.evidence)
    if workflow.is_over:
        raise _finished(workflow)
    _require_seen(workflow, command.body.revision)
    at = None
    if command.body.operation is not None:
        at = holders.index(workflow, command.body.operation)
        if workflow.is_finished(at):
            raise problem(ProblemCode.OPERATION_SETTLED, "the operation is settled already")
        _require_idle(workflow.operation(at), moment)
    else:
        for operation in workflow.progress.open.values():
            _require_idle(operation, moment)
    event = events.Abandoned(at=at, evidence=command.body.evidence)
    return Transition(events=(event,), answer=Noted())


def _require_evidence(evidence: str) -> None:
    if not evidence.strip():
        raise problem(ProblemCode.EVIDENCE_MISSING, "say in words how you know: evidence is empty")


def _require_seen(workflow: Workflow, revision: int) -> None:
    if revision != workflow.revision:
        raise problem(
            ProblemCode.REVISION_CONFLICT,
            "the workflow has changed since you looked: look again, then decide",
            decided_on=revision,
            now_at=workflow.revision,
        )


def _require_idle(operation: Operation, moment: Moment) -> None:
    if not moment.safe:
        raise problem(
            ProblemCode.CLOCK_UNSAFE,
            "the clocks disagree, so nobody can tell whether a lease is live",
            store_ms=moment.store_ms,
            local_ms=moment.local_ms,
        )
    live = operation.live(moment.ms, margin_ms=limits.CLOCK_ERROR_MS)
    if live is not None:
        raise problem(
            ProblemCode.ATTEMPT_IN_PROGRESS,
            "an attempt holds a lease: wait until it reports or the lease is over",
            attempt=live.number,
            allowed_from_ms=live.lease_until_ms + limits.CLOCK_ERROR_MS,
        )


def _finished(workflow: Workflow) -> ProblemError:
    return problem(
        ProblemCode.WORKFLOW_FINISHED, f"the workflow is {workflow.status.value}; nothing changes"
    )
