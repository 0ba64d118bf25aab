"""A workflow's state: the fold of its events.

    draft --Enabled--> enabled <--Enabled / Paused--> paused --Abandoned--> abandoned
                                                                  (a person's switch: stored)
    completed, failed                                             (derived from the operations)

Operations that nobody has touched are not in the state at all; those that are open are there in
full; of final ones only where to find them is kept: the revision that settled an operation also
carries its last full record. So the state stays small however long the workflow is, and a late
receipt or a reuse costs one read.
"""

from functools import cached_property
from typing import assert_never

import msgspec
from msgspec import Struct

from onceward.wire.messages import OperationStatus, WorkflowStatus
from onceward_controller.protocol import events, recording
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.paging import Content, Finished, PageRef, reference
from onceward_controller.protocol.plan import Plan
from onceward_controller.protocol.recording import Stamp

_replace = msgspec.structs.replace


class Progress(Struct, frozen=True, array_like=True):
    """What changes over a workflow's life; a snapshot is exactly this.

    Attributes:
        switch: Of the statuses, the one that a person set.
        open: Operations that were touched and are not final, by index.
        finished: Final operations, by index, less those on pages.
        pages: Where older final operations lie.
        succeeded: How many operations have succeeded, wherever they lie.
        high_water_ms: The latest trusted time that licensed anything.
        counted: Revisions that count toward the limit; renewals alone do not.
    """

    switch: WorkflowStatus
    open: dict[int, Operation] = {}
    finished: Content = {}
    pages: tuple[PageRef, ...] = ()
    succeeded: int = 0
    high_water_ms: int = 0
    counted: int = 0


class Workflow(Struct, frozen=True, dict=True):
    """Plan and progress at one revision; what is computed from them is kept.

    Attributes:
        records: Full records of final operations that are at hand: those this revision settled
            and those read back to decide on. Never part of a snapshot.
    """

    plan: Plan
    progress: Progress
    revision: int
    records: dict[int, Operation] = {}

    def operation(self, at: int) -> Operation:
        """Return what is recorded about the operation at index ``at``.

        Raises:
            LookupError: It is final and its record is not at hand: read it first (``thawed``).
        """
        operation = self.progress.open.get(at) or self.records.get(at)
        if operation is None:
            if self.is_finished(at):
                raise LookupError(f"the record of a final operation is not at hand: index=`{at}`")
            return Operation(at)
        return operation

    def is_finished(self, at: int) -> bool:
        """Return whether the operation at index ``at`` is final."""
        progress = self.progress
        return at in progress.finished or any(page.holds(at) for page in progress.pages)

    def has_succeeded(self, at: int) -> bool:
        """Return whether the operation at index ``at`` has succeeded."""
        finished = self.progress.finished.get(at)
        if finished is not None:
            return finished.succeeded
        return any(page.holds(at) for page in self.progress.pages)

    @cached_property
    def roots(self) -> dict[int, tuple[int, ...]]:
        """Of each operation that waits for others: at the end of its wait, what waits for none.

        By index. An operation that was given up ends the wait for it, whatever it waited for
        itself.
        """
        roots: dict[int, tuple[int, ...]] = {}
        for at in self.plan.order:
            found: dict[int, None] = {}
            for before in self.plan.predecessors[at]:
                if not self.has_succeeded(before):
                    further = () if self.is_finished(before) else roots.get(before, ())
                    found.update(dict.fromkeys(further or (before,)))
            if found:
                roots[at] = tuple(found)
        return roots

    @property
    def status(self) -> WorkflowStatus:
        """Where the workflow stands as a whole."""
        if self.progress.switch is WorkflowStatus.ABANDONED or self.is_given_up:
            return WorkflowStatus.ABANDONED
        if self.progress.succeeded == len(self.plan.operations):
            return WorkflowStatus.COMPLETED
        if any(self.is_refused(operation) for operation in self.progress.open.values()):
            return WorkflowStatus.FAILED
        return self.progress.switch

    @property
    def is_given_up(self) -> bool:
        """Whether all that has not succeeded was abandoned, or waits for what was."""
        progress = self.progress
        finals = len(progress.finished) + sum(page.count for page in progress.pages)
        if finals == progress.succeeded:
            return False  # Nothing was abandoned: the usual case, told without a look at each.
        return not all(each.succeeded for each in progress.finished.values()) and all(
            self.is_finished(at) or any(map(self.is_finished, self.roots.get(at, ())))
            for at in self.plan.order
        )

    @property
    def is_over(self) -> bool:
        """Whether nothing can be dispatched any more, whatever anybody does."""
        return self.status in (WorkflowStatus.COMPLETED, WorkflowStatus.ABANDONED)

    def is_refused(self, operation: Operation) -> bool:
        """Return whether an open operation is not executed for good, but for a person's word."""
        return (
            operation.refusals > 0
            and not operation.is_blocked
            and not operation.is_uncertain
            and operation.settled_status is OperationStatus.NOT_EXECUTED
            and not operation.may_execute_again(self.plan.definition(operation.at))
        )

    def thawed(self, operation: Operation) -> "Workflow":
        """Return the same state with a final operation's full record at hand."""
        return _replace(self, records={**self.records, operation.at: operation})


def create(event: events.Created) -> Workflow:
    """Return the state after revision 1."""
    plan = Plan(identity=event.identity, operations=event.operations, digest=event.digest)
    progress = Progress(switch=WorkflowStatus.DRAFT, counted=1)
    return Workflow(plan=plan, progress=progress, revision=1)


def evolve(workflow: Workflow, event: events.Event, stamp: Stamp) -> Workflow:
    """Return the state after ``event``, which stands in the log at ``stamp``.

    Raises:
        ValueError: The event cannot follow this state: ``decide`` did not write it.
    """
    match event:
        case events.Created():
            raise ValueError("a workflow is created once")
        case events.Enabled():
            return _switched(workflow, WorkflowStatus.ENABLED)
        case events.Paused():
            return _switched(workflow, WorkflowStatus.PAUSED)
        case events.Abandoned():
            if event.at is None:
                return _switched(workflow, WorkflowStatus.ABANDONED)
            operation = recording.abandoned(workflow.operation(event.at))
        case events.Granted():
            operation = recording.granted(workflow.operation(event.at), event, stamp)
        case events.Renewed():
            operation = recording.renewed(workflow.operation(event.at), event)
        case events.Noticed():
            operation = recording.noticed(workflow.operation(event.at), event)
        case events.Released():
            operation = recording.released(workflow.operation(event.at), event)
        case events.Reported():
            operation = recording.reported(workflow.operation(event.at), event, stamp)
        case events.Attested():
            operation = recording.attested(workflow.operation(event.at), event, stamp)
        case _:
            assert_never(event)
    return file(workflow, operation, stamp)


def close(workflow: Workflow, changes: tuple[events.Event, ...], stamp: Stamp) -> Workflow:
    """Return the state at the end of the revision that carries ``changes``, all folded in."""
    progress = workflow.progress
    licenses = stamp.safe and any(isinstance(event, events.Granted) for event in changes)
    counts = not all(isinstance(event, events.Renewed) for event in changes)
    progress = _replace(
        progress,
        high_water_ms=max(progress.high_water_ms, stamp.ms if licenses else 0),
        counted=progress.counted + counts,
    )
    return _replace(workflow, progress=progress, revision=stamp.revision, records={})


def paged(workflow: Workflow, content: Content, digest: str) -> Workflow:
    """Return the state with ``content`` moved from it to the page object named ``digest``."""
    progress = workflow.progress
    left = {at: each for at, each in progress.finished.items() if at not in content}
    pages = (*progress.pages, reference(digest, content))
    return _replace(workflow, progress=_replace(progress, finished=left, pages=pages))


def settled_by(workflow: Workflow, revision: int) -> tuple[Operation, ...]:
    """Return the full records that ``revision`` has to carry: of what it made or changed final."""
    finished = workflow.progress.finished
    return tuple(
        operation
        for at, operation in workflow.records.items()
        if at in finished and finished[at].revision == revision
    )


def file(workflow: Workflow, operation: Operation, stamp: Stamp) -> Workflow:
    """Return the state with ``operation`` filed among the open or the final ones.

    Reading a log back files the record that a revision carries of an operation which was final
    before it: the record as it was is not at hand then, and what came of it is.
    """
    at, progress = operation.at, workflow.progress
    if not operation.is_final:
        opened = {**progress.open, at: operation}
        return _replace(workflow, progress=_replace(progress, open=opened))
    finished = Finished(
        revision=stamp.revision,
        succeeded=operation.settlement is not None,
        suspected=operation.is_double_suspected,
    )
    return _replace(
        workflow,
        progress=_replace(
            progress,
            open={index: each for index, each in progress.open.items() if index != at},
            finished={**progress.finished, at: finished},
            # An operation that was final before, and has new evidence, is counted already.
            succeeded=progress.succeeded + (finished.succeeded and not workflow.is_finished(at)),
        ),
        records={**workflow.records, at: operation},
    )


def _switched(workflow: Workflow, switch: WorkflowStatus) -> Workflow:
    return _replace(workflow, progress=_replace(workflow.progress, switch=switch))
