"""Renewing and giving back the right to run an attempt."""

from onceward.wire import limits
from onceward.wire.decisions import Mode
from onceward.wire.messages import WorkflowStatus
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.protocol import events, holders
from onceward_controller.protocol.answers import Extended, Noted, Transition
from onceward_controller.protocol.attempt import Attempt
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.commands import Release, Renew
from onceward_controller.protocol.naming import Naming
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.workflow import Workflow


def renew(workflow: Workflow, command: Renew, moment: Moment, naming: Naming) -> Transition:
    """Return the transition that moves the end of a live lease.

    A repeat's lease never outlives the key it repeats under.

    Raises:
        ConflictError: The lease is over or replaced, the workflow is not enabled, the clock is
            not to be believed, or the renewals are used up.
        DeniedError: The token is not this attempt's.
        NotFoundError: There is no such operation or attempt.
    """
    at = holders.index(workflow, command.operation)
    operation, definition = workflow.operation(at), workflow.plan.definition(at)
    operation_id = workflow.plan.operation_id(at, naming)
    attempt = holders.attempt(
        operation, command.body.attempt, command.body.lease_token, operation_id, naming
    )
    if operation.live(moment.ms) is not attempt:
        raise problem(ProblemCode.LEASE_LOST, "the lease is over or another attempt has it")
    _require_enabled(workflow)
    if not moment.safe:
        raise problem(
            ProblemCode.CLOCK_UNSAFE,
            "the clocks disagree; no lease is extended",
            store_ms=moment.store_ms,
            local_ms=moment.local_ms,
        )
    until_ms = moment.ms + definition.lease_ms
    is_capped = False
    if attempt.mode is Mode.REPEAT:
        is_capped = operation.key_dies_ms(definition) <= attempt.lease_until_ms
        until_ms = min(until_ms, operation.key_dies_ms(definition))
    if until_ms <= attempt.lease_until_ms and not is_capped:
        # A lost reply asked for again, or a clock a little behind: it holds what it would get.
        return Transition(events=(), answer=Extended(lease_until_ms=attempt.lease_until_ms))
    if attempt.renewals >= limits.RENEWALS_MAX or is_capped:
        raise problem(
            ProblemCode.RENEWAL_LIMIT,
            "the lease cannot be extended again",
            renewals=attempt.renewals,
            lease_until_ms=attempt.lease_until_ms,
        )
    event = events.Renewed(at=at, number=attempt.number, lease_until_ms=until_ms)
    return Transition(events=(event,), answer=Extended(lease_until_ms=until_ms))


def release(workflow: Workflow, command: Release, naming: Naming) -> Transition:
    """Return the transition that takes a grant back: the call was never made.

    Raises:
        InvalidError: Neither a token with its attempt nor a request id is given.
        ConflictError: The attempt was replaced, or has already reported.
        DeniedError: The token is not this attempt's.
        NotFoundError: There is no such operation or attempt.
    """
    at = holders.index(workflow, command.operation)
    operation = workflow.operation(at)
    attempt = _of_holder(workflow, at, command, naming)
    if attempt.released:
        return Transition(events=(), answer=Noted())
    closed = attempt.number <= operation.closed_through
    if attempt.report is not None or closed or operation.is_final:
        raise problem(ProblemCode.OPERATION_SETTLED, "the attempt has ended another way")
    if operation.is_superseded(attempt):
        raise problem(ProblemCode.LEASE_LOST, "another attempt has taken its place")
    return Transition(events=(events.Released(at=at, number=attempt.number),), answer=Noted())


def _of_holder(workflow: Workflow, at: int, command: Release, naming: Naming) -> Attempt:
    operation: Operation = workflow.operation(at)
    body = command.body
    if body.attempt is not None and body.lease_token is not None:
        operation_id = workflow.plan.operation_id(at, naming)
        return holders.attempt(operation, body.attempt, body.lease_token, operation_id, naming)
    if body.request_id is None:
        raise problem(
            ProblemCode.BODY_INVALID, "a release names attempt and lease_token, or request_id"
        )
    for attempt in reversed(operation.attempts):
        if attempt.request_id == body.request_id:
            return attempt
    raise problem(ProblemCode.ATTEMPT_UNKNOWN, "this request id holds no attempt")


def _require_enabled(workflow: Workflow) -> None:
    match workflow.progress.switch:
        case WorkflowStatus.PAUSED:
            raise problem(ProblemCode.PAUSED, "the workflow is paused; the lease runs out")
        case WorkflowStatus.ABANDONED:
            raise problem(ProblemCode.WORKFLOW_FINISHED, "the workflow was abandoned")
        case _:
            return
