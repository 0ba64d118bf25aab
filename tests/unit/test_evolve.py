"""State is the fold of its events: what each changes, and what cannot follow."""

from collections.abc import Callable

import msgspec
import pytest

from onceward.wire.decisions import Mode
from onceward.wire.messages import WorkflowStatus
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import events
from onceward_controller.protocol.decide import needs
from onceward_controller.protocol.paging import Finished
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.workflow import Progress, close, evolve, settled_by
from tests.support.protocol import (
    DAY_MS,
    LEASE_MS,
    START_MS,
    History,
    draft,
    history,
    tool,
)

STAMP = Stamp(revision=9, ms=START_MS)

SHA = b"s" * 32


def granted(at: int = 0, number: int = 1, mode: Mode = Mode.EXECUTE) -> events.Granted:
    return events.Granted(
        at=at,
        number=number,
        mode=mode,
        request_id="request-of-ann",
        lease_until_ms=START_MS + LEASE_MS,
        call_before_ms=START_MS + LEASE_MS,
        idempotency_key="key" if number == 1 else None,
    )


def reported(number: int = 1, outcome: Outcome = Outcome.UNKNOWN) -> events.Reported:
    return events.Reported(
        at=0,
        number=number,
        outcome=outcome,
        accepted=True,
        conclusive=False,
        effect_id=None,
        receipt_sha256=SHA,
        receipt=b"receipt",
    )


ATTESTED = events.Attested(at=0, outcome=Outcome.SUCCEEDED, evidence="seen")

SOME = history(tool()).grant("execute")

CREATED = events.Created(
    identity=SOME.workflow.plan.identity, operations=SOME.workflow.plan.operations, digest="d"
)


@pytest.mark.parametrize(
    ("past", "event"),
    [
        pytest.param(lambda: SOME, CREATED, id="created-twice"),
        pytest.param(lambda: SOME, granted(number=1), id="a-number-twice"),
        pytest.param(lambda: SOME, granted(number=3), id="a-number-left-out"),
        pytest.param(lambda: SOME, reported(number=2), id="a-receipt-of-nobody"),
        pytest.param(lambda: SOME, reported(number=0), id="a-receipt-of-attempt-0"),
        pytest.param(
            lambda: history(tool()).grant("execute").unknown(), reported(), id="a-second-receipt"
        ),
        pytest.param(
            lambda: SOME, events.Renewed(0, 2, START_MS + 1), id="a-lease-of-nobody-renewed"
        ),
        pytest.param(lambda: SOME, events.Released(0, 2), id="a-lease-of-nobody-released"),
        pytest.param(
            lambda: history(tool()).grant("execute").succeeded(),
            granted(number=2),
            id="a-grant-after-a-success",
        ),
        pytest.param(
            lambda: history(tool()).grant("execute").succeeded(),
            ATTESTED,
            id="an-attestation-after-a-success",
        ),
        pytest.param(
            lambda: history(tool()).abandoned("send"),
            ATTESTED,
            id="an-attestation-after-an-abandonment",
        ),
        pytest.param(
            lambda: history(tool()).grant("execute").succeeded(),
            events.Abandoned(0, "why"),
            id="an-abandonment-after-a-success",
        ),
        pytest.param(
            lambda: history(tool()).grant("execute").released(),
            events.Renewed(0, 1, START_MS + LEASE_MS),
            id="a-renewal-after-a-release",
        ),
        pytest.param(
            lambda: history(tool()).grant("execute").released(),
            events.Released(0, 1),
            id="a-second-release",
        ),
        pytest.param(
            lambda: history(tool()).grant("execute").unknown(),
            events.Released(0, 1),
            id="a-release-after-a-receipt",
        ),
    ],
)
def test_an_event_that_decide_never_writes_here_raises_and_changes_nothing(
    past: Callable[[], History], event: events.Event
) -> None:
    made = past()
    workflow = made.workflow
    for operation in made.archive.values():
        workflow = workflow.thawed(operation)
    before = msgspec.msgpack.encode((workflow.progress, workflow.records))
    with pytest.raises(ValueError, match=r"."):
        evolve(workflow, event, STAMP)
    assert msgspec.msgpack.encode((workflow.progress, workflow.records)) == before


def test_the_record_of_a_final_operation_has_to_be_at_hand() -> None:
    past = history(tool()).grant("execute").succeeded()
    with pytest.raises(LookupError):
        past.workflow.operation(0)
    assert past.workflow.thawed(past.archive[0]).operation(0) == past.archive[0]


def test_a_workflow_begins_as_a_draft_that_holds_nothing() -> None:
    workflow = draft(tool("first"), tool("second"))
    assert workflow.status is WorkflowStatus.DRAFT
    assert workflow.revision == 1
    assert workflow.progress == Progress(switch=WorkflowStatus.DRAFT, counted=1)


def test_the_fold_of_stored_events_is_the_state() -> None:
    past = history(tool("first", query=True, idempotency_ms=DAY_MS), tool("second"))
    written = []
    workflow = past.workflow
    words: tuple[Callable[[], object], ...] = (
        lambda: past.grant("execute"),
        lambda: past.later(1_000).renewed(),
        lambda: past.lease_over().grant("query"),
        past.unknown,
        lambda: past.grant("repeat", to="bob"),
        lambda: past.succeeded(3),
        past.paused,
        past.enabled,
        lambda: past.grant("execute", operation="second"),
        lambda: past.released(operation="second"),
    )
    for word in words:
        word()
        written.append((past.changes, past.now_ms))
    for changes, now_ms in written:
        stamp = Stamp(revision=workflow.revision + 1, ms=now_ms)
        stored = msgspec.msgpack.encode(changes)
        read = msgspec.msgpack.decode(stored, type=tuple[events.Event, ...])
        assert read == changes
        for event in read:
            workflow = evolve(workflow, event, stamp)
        workflow = close(workflow, read, stamp)
    assert workflow == past.workflow


def test_a_snapshot_is_the_progress_and_reads_back_equal() -> None:
    past = history(tool("first", query=True), tool("second")).grant("execute").lease_over()
    past.grant("query").succeeded()
    past.grant("execute", operation="second")
    stored = msgspec.msgpack.encode(past.workflow.progress)
    assert msgspec.msgpack.decode(stored, type=Progress) == past.workflow.progress


def test_a_final_operation_leaves_the_state_and_its_revision_carries_it() -> None:
    past = history(tool("first"), tool("second")).grant("execute")
    past.succeeded()
    progress = past.workflow.progress
    assert progress.open == {}
    assert progress.finished == {0: Finished(revision=past.workflow.revision, succeeded=True)}
    assert past.archive[0].settlement is not None


def test_evidence_on_a_final_operation_moves_its_record_to_the_newer_revision() -> None:
    past = history(tool(idempotency_ms=DAY_MS), tool("second"))
    past.grant("execute").lease_over().grant("repeat").succeeded(2, effect_id="effect-2")
    first = past.workflow.progress.finished[0].revision
    past.succeeded(1, effect_id="effect-1")
    finished = past.workflow.progress.finished[0]
    assert finished.revision == past.workflow.revision > first
    assert finished.succeeded
    assert finished.suspected


def test_only_what_a_revision_made_final_has_to_be_carried_by_it() -> None:
    past = history(tool("first"), tool("second")).grant("execute").succeeded()
    workflow = past.workflow.thawed(past.archive[0])
    stamp = Stamp(revision=workflow.revision + 1, ms=past.now_ms)
    after = evolve(workflow, granted(at=1), stamp)
    assert settled_by(after, stamp.revision) == ()
    assert settled_by(after, workflow.revision) == (past.archive[0],)


def test_a_late_command_names_the_final_record_that_it_needs() -> None:
    past = history(tool("first"), tool("second")).grant("execute")
    command = past.completion(Outcome.SUCCEEDED, effect_id="effect-1")
    assert needs(past.workflow, command) == ()
    past.do(command)
    assert needs(past.workflow, command) == (0,)
    assert needs(past.workflow.thawed(past.archive[0]), command) == ()
