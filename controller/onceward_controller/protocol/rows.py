"""What a listing shows of a workflow: a pure function of its state, with no clock in it.

    draft      nobody has enabled it
    paused     a person stopped it
    attention  a person must decide
    active     an attempt holds a lease; sorted by when that is over
    waiting    nothing can run before a known time; sorted by that time
    ready      something can run now
    done       completed or abandoned

Whoever is told that a person must decide, and whoever finds that a lease ran out in silence, leaves
a mark in the log: a workflow whose attempt died moves out of ``active`` as soon as anybody looks.
"""

from msgspec import Struct

from onceward.wire import limits
from onceward.wire.messages import RowClass, WorkflowStatus
from onceward_controller.protocol.answers import Grant, Stop, Wait
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.table import FOR_A_PERSON, Question, verdict_on
from onceward_controller.protocol.workflow import Workflow

REFRESH_MS = 30 * limits.SECOND_MS
"""How old the line of a workflow that is under way may become."""


class Row(Struct, frozen=True, array_like=True):
    """One line of a listing.

    Attributes:
        at_ms: When to look again (active, waiting), else when the workflow came into its class.
        revision: The one that put it there.
        note: The operation that a person must decide on, by name.
    """

    row_class: RowClass
    at_ms: int
    revision: int
    status: WorkflowStatus
    succeeded: int
    note: str


def has_moved(before: Row, after: Row) -> bool:
    """Return whether the line is worth writing anew.

    A chain of quick steps stays in one class and writes one row. A time to look again that comes
    earlier is told at once; one that comes later, and how far the workflow is, now and then.
    """
    if (before.row_class, before.note) != (after.row_class, after.note):
        return True
    later_ms = after.at_ms - before.at_ms
    return after.row_class is RowClass.ACTIVE and not 0 <= later_ms < REFRESH_MS


def must_lead(before: Row, after: Row) -> bool:
    """Return whether the line has to be there before what it tells of.

    An attempt that dies leaves no other trace that is looked at: without a line that says when its
    lease is over, nobody would ask.
    """
    return after.row_class is RowClass.ACTIVE and (
        before.row_class is not RowClass.ACTIVE or after.at_ms < before.at_ms
    )


def row(workflow: Workflow, *, now_ms: int) -> Row:
    """Return the line for the present state, which came about at ``now_ms``."""
    status = workflow.status
    row_class, at_ms, note = _place(workflow, status, now_ms)
    return Row(
        row_class=row_class,
        at_ms=at_ms,
        revision=workflow.revision,
        status=status,
        succeeded=workflow.progress.succeeded,
        note=note,
    )


def _place(workflow: Workflow, status: WorkflowStatus, now_ms: int) -> tuple[RowClass, int, str]:
    if status in (WorkflowStatus.COMPLETED, WorkflowStatus.ABANDONED):
        return RowClass.DONE, now_ms, ""
    open_operations = workflow.progress.open.values()
    for operation in open_operations:
        if operation.noticed or operation.is_blocked or workflow.is_refused(operation):
            return RowClass.ATTENTION, now_ms, _name(workflow, operation.at)
    if workflow.progress.switch is WorkflowStatus.DRAFT:
        return RowClass.DRAFT, now_ms, ""
    if workflow.progress.switch is WorkflowStatus.PAUSED:
        return RowClass.PAUSED, now_ms, ""
    leases = [each.last.lease_until_ms for each in open_operations if _is_held(each) and each.last]
    if leases:
        return RowClass.ACTIVE, min(leases) + limits.CLOCK_ERROR_MS, ""
    return _by_verdict(workflow, now_ms)


def _by_verdict(workflow: Workflow, now_ms: int) -> tuple[RowClass, int, str]:
    """Place a workflow in which nobody runs anything by what the next to ask would be told."""
    moment = Moment(ms=now_ms, safe=True, store_ms=now_ms, local_ms=now_ms)
    verdicts = [
        verdict_on(Question(workflow, at, "", moment))
        for at in workflow.plan.order
        if not workflow.is_finished(at) and at not in workflow.roots
    ]
    for verdict in verdicts:
        # A person is told first, whatever else could go on beside it.
        if isinstance(verdict, Stop) and verdict.reason in FOR_A_PERSON:
            return RowClass.ATTENTION, now_ms, _name(workflow, verdict.at)
    if any(isinstance(verdict, Grant) for verdict in verdicts):
        return RowClass.READY, now_ms, ""
    waits = [verdict.until_ms for verdict in verdicts if isinstance(verdict, Wait)]
    if waits:
        return RowClass.WAITING, min(waits), ""
    return RowClass.ATTENTION, now_ms, ""


def _is_held(operation: Operation) -> bool:
    last = operation.last
    return (
        last is not None
        and not last.has_ended
        and last.number > operation.closed_through
        and operation.noticed is None
    )


def _name(workflow: Workflow, at: int) -> str:
    return workflow.plan.definition(at).name
