"""From stored revisions to state: the same fold that live commands go through."""

from collections.abc import Sequence

from onceward_controller.protocol import events
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.rows import Row
from onceward_controller.protocol.workflow import Workflow, close, create, evolve, file
from onceward_controller.vault.body import Body
from onceward_controller.vault.damage import DamagedLogError


def replay(opened: Sequence[tuple[int, Body]]) -> tuple[Workflow, Row]:
    """Return the state and the index row in force after ``opened``.

    Args:
        opened: Revision 1, then consecutive revisions from the newest snapshot, or from 2.

    Raises:
        IntegrityError: The revisions do not lead to a state.
    """
    [(_, first), *rest] = opened
    created = first.entries[0].events[0] if first.entries and first.entries[0].events else None
    if not isinstance(created, events.Created) or first.row is None:
        raise DamagedLogError("revision 1 does not create the workflow")
    state = create(created), first.row
    for revision, body in rest:
        state = advance(*state, revision, body)
    return state


def advance(workflow: Workflow, in_force: Row, revision: int, body: Body) -> tuple[Workflow, Row]:
    """Return state and index row after one more stored revision.

    A snapshot is taken as it is: it also tells which operations moved to a page.

    Raises:
        IntegrityError: The revision does not follow from the state before it.
    """
    if body.snapshot is not None and body.snapshot_row is not None:
        workflow = Workflow(plan=workflow.plan, progress=body.snapshot, revision=revision)
        return workflow, body.snapshot_row
    if revision != workflow.revision + 1:
        raise DamagedLogError(f"revision {revision} does not follow {workflow.revision}")
    stamp = Stamp(revision=revision, ms=body.time_ms, safe=body.safe)
    late = {each.at: each for each in body.records if workflow.is_finished(each.at)}
    changes = tuple(event for entry in body.entries for event in entry.events)
    try:
        for event in changes:
            if getattr(event, "at", None) not in late:
                workflow = evolve(workflow, event, stamp)
    except (ValueError, LookupError) as error:
        raise DamagedLogError(f"revision {revision} cannot follow: {error}") from None
    for record in late.values():
        workflow = file(workflow, record, stamp)
    return close(workflow, changes, stamp), body.row or in_force
