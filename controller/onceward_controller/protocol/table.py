"""May this operation run now? The decision table, one function a row; the first match wins.

Nothing unknown is treated as failed. An effect whose outcome nobody reported is looked up where
the tool can ask, repeated where the destination still knows the key, executed again once an
absence is conclusive, and otherwise stopped for a person.

    absence is conclusive   the query was granted when every issued call had landed:
                            latest lease end of any execute or repeat + max_in_flight + clock error
    the key still lives     a call issued before the lease ends lands while the destination
                            remembers the first one
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec
from msgspec import Struct

from onceward.wire import limits
from onceward.wire.decisions import Mode, StopReason, WaitReason
from onceward.wire.definitions import NO_RETRY, OperationDefinition
from onceward.wire.messages import WorkflowStatus
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import reasons
from onceward_controller.protocol.answers import Grant, Reuse, Stop, Verdict, Wait
from onceward_controller.protocol.attempt import Attempt
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.workflow import Workflow

FOR_A_PERSON = (StopReason.NEEDS_DECISION, StopReason.NOT_EXECUTED, StopReason.ATTEMPT_LIMIT)
"""Stops that end when a person says what happened."""
POLL_MS = limits.SECOND_MS
"""When to ask again where nothing tells how long another's work will take."""


class Question(Struct, frozen=True, dict=True):
    """One operation, asked about by one process at one moment.

    Attributes:
        of_roots: What the table says of operations that others wait for, as far as it was asked
            at this moment; shared by the questions about one workflow.
    """

    workflow: Workflow
    at: int
    request_id: str
    moment: Moment
    of_roots: dict[int, Verdict] = msgspec.field(default_factory=dict)

    @cached_property
    def operation(self) -> Operation:
        """What is recorded about it."""
        return self.workflow.operation(self.at)

    @cached_property
    def definition(self) -> OperationDefinition:
        """What the plan says about it."""
        return self.workflow.plan.definition(self.at)

    @property
    def now_ms(self) -> int:
        """Trusted time."""
        return self.moment.ms

    def grant(self, mode: Mode) -> Grant:
        """Return the verdict that licenses the next attempt."""
        return Grant(at=self.at, number=len(self.operation.attempts) + 1, mode=mode)

    def stop(self, reason: StopReason, detail: str) -> Stop:
        """Return the verdict that dispatches nothing."""
        return Stop(at=self.at, reason=reason, detail=detail)

    def wait(self, reason: WaitReason, until_ms: int) -> Wait:
        """Return the verdict that puts it off."""
        return Wait(at=self.at, reason=reason, until_ms=until_ms)


def verdict_on(question: Question) -> Verdict:
    """Return what the first row that matches says."""
    return _first(ROWS, question)


def _first(rows: "tuple[Row, ...]", question: Question) -> Verdict:
    for row in rows:
        verdict = row(question)
        if verdict is not None:
            return verdict
    raise AssertionError("the last row always answers")


def _succeeded(question: Question) -> Verdict | None:
    return Reuse(at=question.at) if question.workflow.has_succeeded(question.at) else None


def _abandoned(question: Question) -> Verdict | None:
    if question.workflow.progress.switch is WorkflowStatus.ABANDONED:
        return question.stop(StopReason.ABANDONED, reasons.WORKFLOW_ABANDONED)
    if question.workflow.is_finished(question.at):
        return question.stop(StopReason.ABANDONED, reasons.OPERATION_ABANDONED)
    return None


def _blocked(question: Question) -> Verdict | None:
    if question.operation.is_blocked:
        return question.stop(StopReason.NEEDS_DECISION, reasons.BLOCKED)
    return None


def _refused(question: Question) -> Verdict | None:
    if question.workflow.is_refused(question.operation):
        return question.stop(StopReason.NOT_EXECUTED, reasons.refused(question.operation))
    return None


def _switch(question: Question) -> Verdict | None:
    match question.workflow.progress.switch:
        case WorkflowStatus.DRAFT:
            return question.stop(StopReason.NOT_ENABLED, reasons.NOT_ENABLED)
        case WorkflowStatus.PAUSED:
            return question.stop(StopReason.PAUSED, reasons.PAUSED)
        case _:
            return None


def _clock(question: Question) -> Verdict | None:
    if question.moment.safe:
        return None
    return question.stop(StopReason.CLOCK_UNSAFE, reasons.clock_unsafe(question.moment))


def _predecessors(question: Question) -> Verdict | None:
    """Name the operation at the root of the wait, not the nearest one."""
    workflow, running = question.workflow, None
    if all(map(workflow.has_succeeded, workflow.plan.predecessors[question.at])):
        return None
    for at in workflow.roots[question.at]:
        if workflow.is_finished(at):
            return _because(question, StopReason.PREDECESSOR_STOPPED, at)
        verdict = question.of_roots.get(at)
        if verdict is None:
            root = Question(workflow, at, question.request_id, question.moment)
            verdict = question.of_roots[at] = _first(_ROWS_OF_ROOTS, root)
        if isinstance(verdict, Stop):
            return _because(question, StopReason.PREDECESSOR_NEEDS_DECISION, at)
        running = at if running is None else running
    return Wait(
        at=question.at,
        reason=WaitReason.PREDECESSOR_RUNNING,
        until_ms=question.now_ms + POLL_MS,
        predecessor=running,
    )


def _because(question: Question, reason: StopReason, at: int) -> Stop:
    name = question.workflow.plan.definition(at).name
    return Stop(
        at=question.at, reason=reason, detail=reasons.predecessor(reason, name), predecessor=at
    )


def _same_request(question: Question) -> Verdict | None:
    live = question.operation.live(question.now_ms)
    if live is None or live.request_id != question.request_id:
        return None
    return Grant(at=question.at, number=live.number, mode=live.mode)


def _live(question: Question) -> Verdict | None:
    margin_ms = limits.CLOCK_ERROR_MS
    live = question.operation.live(question.now_ms, margin_ms=margin_ms)
    if live is None:
        return None
    return question.wait(WaitReason.ATTEMPT_IN_PROGRESS, live.lease_until_ms + margin_ms)


def _attempt_limit(question: Question) -> Verdict | None:
    operation = question.operation
    if len(operation.attempts) < operation.attempts_max:
        return None
    return question.stop(StopReason.ATTEMPT_LIMIT, reasons.attempt_limit(operation))


def _revision_limit(question: Question) -> Verdict | None:
    if question.workflow.progress.counted < limits.REVISIONS_MAX:
        return None
    return question.stop(StopReason.REVISION_LIMIT, reasons.REVISION_LIMIT)


def _execute(question: Question) -> Verdict | None:
    operation, definition = question.operation, question.definition
    if operation.is_uncertain:
        return None
    due_ms = operation.retry_due_ms(definition)
    if question.now_ms < due_ms:
        return question.wait(WaitReason.BACKING_OFF, due_ms)
    return question.grant(Mode.EXECUTE)


def _query(question: Question) -> Verdict | None:
    if not question.definition.capability.query:
        return None
    queries = _queries_since_effect(question.operation)
    if question.now_ms < _backing_off_until_ms(queries, question.definition, Outcome.UNKNOWN):
        return None
    if _is_absence_pending(question, queries):
        return None
    return question.grant(Mode.QUERY)


def _absence(question: Question) -> Verdict | None:
    """An absence that came too early says nothing yet; a conclusive one has settled the record."""
    queries = _queries_since_effect(question.operation)
    if not _is_absence_pending(question, queries):
        return None
    landed_ms = question.operation.landed_by_ms(question.definition)
    return question.wait(WaitReason.ABSENCE_UNCERTAIN, landed_ms)


def _repeat(question: Question) -> Verdict | None:
    operation, definition = question.operation, question.definition
    if definition.capability.idempotency_ms is None:
        return None
    if question.now_ms + definition.lease_ms >= operation.key_dies_ms(definition):
        return None
    effects = [each for each in operation.attempts if each.is_effect]
    due_ms = _backing_off_until_ms(effects, definition, Outcome.UNKNOWN, Outcome.NOT_EXECUTED)
    if question.now_ms < due_ms:
        return question.wait(WaitReason.BACKING_OFF, due_ms)
    return question.grant(Mode.REPEAT)


def _uncertain(question: Question) -> Verdict:
    detail = reasons.uncertain(question.operation, question.definition)
    return question.stop(StopReason.NEEDS_DECISION, detail)


def _queries_since_effect(operation: Operation) -> list[Attempt]:
    effect = operation.last_effect
    since = 0 if effect is None else effect.number
    return [each for each in operation.attempts[since:] if not each.released]


def _is_absence_pending(question: Question, queries: list[Attempt]) -> bool:
    return question.now_ms < question.operation.landed_by_ms(question.definition) and any(
        each.accepted(Outcome.NOT_EXECUTED) for each in queries
    )


def _backing_off_until_ms(
    attempts: Sequence[Attempt], definition: OperationDefinition, *outcomes: Outcome
) -> int:
    """Return when to try again after the newest attempts all reported one of ``outcomes``.

    0 when the newest did not. Without this a destination that is down is asked as fast as the
    machine can, until the attempts are used up.
    """
    streak = 0
    last_ms = 0
    for attempt in reversed(attempts):
        report = attempt.report
        if report is None or not report.accepted or report.outcome not in outcomes:
            break
        streak += 1
        last_ms = max(last_ms, report.at_ms)
    return last_ms + (definition.retry or NO_RETRY).backoff_ms(streak) if streak else 0


Row = Callable[[Question], Verdict | None]

_ROWS_BEFORE: tuple[Row, ...] = (_succeeded, _abandoned, _blocked, _refused, _switch, _clock)
_ROWS_AFTER: tuple[Row, ...] = (
    _same_request,
    _live,
    _attempt_limit,
    _revision_limit,
    # Rows for a history budget, an approval and an equal intent have their place here.
    _execute,
    _query,
    _absence,
    _repeat,
    _uncertain,
)
_ROWS_OF_ROOTS = (*_ROWS_BEFORE, *_ROWS_AFTER)
ROWS: tuple[Row, ...] = (*_ROWS_BEFORE, _predecessors, *_ROWS_AFTER)
"""The table, in order. The last row always answers."""
