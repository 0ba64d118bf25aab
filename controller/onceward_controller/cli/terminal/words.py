"""What a state means for a person: not what the machine is in, but what somebody must do."""

from collections.abc import Callable

from onceward.wire.decisions import StopReason, WaitReason
from onceward.wire.messages import (
    OperationStatus,
    OperationView,
    RowClass,
    WorkflowRow,
    WorkflowStatus,
    WorkflowView,
)

NEEDS_YOU = frozenset(
    {StopReason.NEEDS_DECISION, StopReason.NOT_EXECUTED, StopReason.ATTEMPT_LIMIT}
)
"""Answers to "may it run?" that nobody but a person can change."""

_OPEN_TO_DECISION = frozenset({OperationStatus.UNCERTAIN, OperationStatus.BLOCKED})

NEXT: dict[str, str] = {
    "execute": "execute: it may run",
    "repeat": "repeat under the same key",
    "query": "query: ask the destination",
    "reuse": "reuse: nothing runs",
    "done": "nothing is left to run",
    WaitReason.ATTEMPT_IN_PROGRESS: "wait: an attempt is running",
    WaitReason.PREDECESSOR_RUNNING: "wait for what comes first",
    WaitReason.BACKING_OFF: "wait: it failed just now",
    WaitReason.ABSENCE_UNCERTAIN: "wait: a call may still land",
    StopReason.ABANDONED: "stop: abandoned",
    StopReason.NEEDS_DECISION: "stop: needs you",
    StopReason.NOT_EXECUTED: "stop: needs you",
    StopReason.NOT_ENABLED: "stop: not enabled yet",
    StopReason.PAUSED: "stop: paused",
    StopReason.CLOCK_UNSAFE: "stop: the clocks disagree",
    StopReason.PREDECESSOR_NEEDS_DECISION: "stop: what comes first needs you",
    StopReason.PREDECESSOR_STOPPED: "stop: what comes first was abandoned",
    StopReason.ATTEMPT_LIMIT: "stop: needs you",
    StopReason.REVISION_LIMIT: "stop: revisions used up",
    StopReason.UNKNOWN_TOOL: "stop: no such tool",
}
"""``OperationView.next`` in words: the answer that a worker would get now."""

_ROWS: dict[RowClass, str] = {
    RowClass.DRAFT: "draft: review, enable",
    RowClass.READY: "ready for a worker",
    RowClass.ACTIVE: "running",
    RowClass.WAITING: "waiting: a worker looks",
    RowClass.ATTENTION: "NEEDS YOU",
    RowClass.PAUSED: "paused: enable to go on",
    RowClass.DONE: "done",
}

CLASSES: dict[RowClass, str] = {
    RowClass.ATTENTION: "need you",
    RowClass.ACTIVE: "running",
    RowClass.WAITING: "waiting, a worker looks",
    RowClass.READY: "ready for a worker",
    RowClass.PAUSED: "paused",
    RowClass.DRAFT: "drafts, to be reviewed",
    RowClass.DONE: "done",
}
"""The drawers of a listing, in the order of urgency."""


def of_row(row: WorkflowRow) -> str:
    """Return what a line of a listing says about its state."""
    if row.row_class is RowClass.ATTENTION:
        return f"{_ROWS[RowClass.ATTENTION]}: {row.note}" if row.note else _ROWS[row.row_class]
    if row.status is WorkflowStatus.ABANDONED:
        return "abandoned"
    return _ROWS[row.row_class]


def needs_decision(view: WorkflowView) -> tuple[OperationView, ...]:
    """Return the operations that wait for a person's word, in plan order."""
    return tuple(each for each in view.operations if _needs_you(each))


def _needs_you(operation: OperationView) -> bool:
    # While a workflow is paused that is what its operations answer, whatever else is the matter.
    is_hidden = operation.next == StopReason.PAUSED and operation.status in _OPEN_TO_DECISION
    return operation.next in NEEDS_YOU or is_hidden


def sentence(view: WorkflowView) -> str:
    """Return where the workflow stands, and what that asks of whom, in one or two sentences."""
    waiting = needs_decision(view)
    running = _named(view, lambda each: each.status is OperationStatus.IN_FLIGHT)
    still = f" Running attempts may still report: {running}." if running else ""
    match view.status:
        case WorkflowStatus.COMPLETED:
            return f"Done: {_all(view)} succeeded."
        case WorkflowStatus.ABANDONED:
            return "Abandoned: nothing of it runs again. What was recorded stays."
        case WorkflowStatus.DRAFT:
            return "Draft: nothing runs until somebody has reviewed and enabled it."
        case WorkflowStatus.ENABLED | WorkflowStatus.PAUSED | WorkflowStatus.FAILED:
            pass
    if waiting:
        names = ", ".join(f"`{each.name}`" for each in waiting)
        paused = " The workflow is paused, too." if view.status is WorkflowStatus.PAUSED else ""
        return f"NEEDS YOU: {names} stopped, and only your decision lets it go on.{paused}{still}"
    if view.status is WorkflowStatus.PAUSED:
        return f"Paused: nothing starts until somebody enables it.{still}"
    if running:
        return f"Running: {running}. Nothing to do for you."
    return _nobody_runs(view)


def _nobody_runs(view: WorkflowView) -> str:
    unsafe = _named(view, lambda each: each.next == StopReason.CLOCK_UNSAFE)
    if unsafe:
        return f"STOPPED: the clocks disagree, so nothing starts: {unsafe}. See `onceward doctor`."
    ready = _named(view, lambda each: each.next in ("execute", "repeat", "query"))
    if ready:
        return f"Ready: {ready} goes on as soon as a worker asks. Is one running?"
    return "Waiting: time alone lets it go on; see `next` of each operation."


def _all(view: WorkflowView) -> str:
    count = len(view.operations)
    return "its one operation" if count == 1 else f"all {count} operations"


def _named(view: WorkflowView, holds: Callable[[OperationView], bool]) -> str:
    return ", ".join(f"`{each.name}`" for each in view.operations if holds(each))
