"""What a revision counts for, where a workflow stands, and what moves to pages."""

from collections.abc import Callable

import pytest

from onceward.wire.decisions import Mode
from onceward.wire.definitions import Retry
from onceward.wire.messages import WorkflowStatus
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import events
from onceward_controller.protocol.clockguard import moment
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.workflow import close, evolve, paged
from tests.support.protocol import (
    DAY_MS,
    LEASE_MS,
    START_MS,
    History,
    history,
    reading,
    tool,
)


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


# What a revision counts for.


@pytest.mark.parametrize(
    ("past", "counts"),
    [
        (lambda: history(tool()).grant("execute"), True),
        (lambda: history(tool()).grant("execute").unknown(), True),
        (lambda: history(tool()).paused(), True),
        (lambda: history(tool()).grant("execute").released(), True),
        (lambda: history(tool()).grant("execute").later(1_000).renewed(), False),
    ],
    ids=["grant", "receipt", "pause", "release", "renewal"],
)
def test_all_revisions_count_but_those_of_renewals_alone(
    past: Callable[[], History], counts: bool
) -> None:
    made = past()
    revisions_of_renewals = 0 if counts else 1
    assert made.workflow.progress.counted == made.workflow.revision - revisions_of_renewals


def test_a_revision_that_carries_a_renewal_beside_anything_else_counts() -> None:
    past = history(tool()).grant("execute")
    changes = (events.Renewed(0, 1, START_MS + LEASE_MS + 1), events.Paused())
    stamp = Stamp(revision=past.workflow.revision + 1, ms=past.now_ms)
    after = close(past.workflow, changes, stamp)
    assert after.progress.counted == past.workflow.progress.counted + 1


def test_only_a_grant_at_a_safe_moment_raises_the_high_water_mark() -> None:
    past = history(tool("first", retry=Retry(attempts=3)), tool("second"))
    assert past.workflow.progress.high_water_ms == 0
    past.later(7_000).grant("execute")
    assert past.workflow.progress.high_water_ms == START_MS + 7_000
    past.later(7_000).unknown().paused().enabled()
    assert past.workflow.progress.high_water_ms == START_MS + 7_000


def test_a_mark_never_falls() -> None:
    past = history(tool("first", after=()), tool("second", after=()))
    past.later(7_000).grant("execute").at(4_000).grant("execute", operation="second")
    assert past.workflow.progress.high_water_ms == START_MS + 7_000
    last = past.operation("second").last
    assert last is not None
    assert last.granted_ms == START_MS + 7_000


def test_a_grant_at_an_unsafe_moment_would_raise_no_mark() -> None:
    workflow = history(tool()).workflow
    unsafe = moment(reading(START_MS, local_ms=START_MS + DAY_MS), high_water_ms=0)
    stamp = Stamp(revision=3, ms=unsafe.ms, safe=unsafe.safe)
    after = close(evolve(workflow, granted(), stamp), (granted(),), stamp)
    assert after.progress.high_water_ms == 0


# Status.


@pytest.mark.parametrize(
    ("past", "status"),
    [
        (lambda: History(tool()), "draft"),
        (lambda: history(tool()), "enabled"),
        (lambda: history(tool()).paused(), "paused"),
        (lambda: history(tool()).grant("execute").succeeded(), "completed"),
        (lambda: history(tool()).grant("execute").paused().succeeded(), "completed"),
        (lambda: history(tool()).grant("execute").not_executed(), "failed"),
        (lambda: history(tool(), tool("second")).grant("execute").succeeded(), "enabled"),
        (lambda: history(tool()).abandoned(), "abandoned"),
        (lambda: history(tool(), tool("second")).grant("execute").lease_over(), "enabled"),
        (
            lambda: history(tool(retry=Retry(attempts=2))).grant("execute").not_executed(),
            "enabled",
        ),
    ],
)
def test_a_workflow_stands_where_its_operations_and_its_switch_say(
    past: Callable[[], History], status: str
) -> None:
    assert past().workflow.status == status


@pytest.mark.parametrize(
    ("past", "status"),
    [
        (lambda: history(tool()), "pending"),
        (lambda: history(tool()).grant("execute").later(LEASE_MS - 1), "in_flight"),
        (lambda: history(tool()).grant("execute").later(LEASE_MS), "uncertain"),
        (lambda: history(tool()).grant("execute").unknown(), "uncertain"),
        (lambda: history(tool()).grant("execute").not_executed(), "not_executed"),
        (lambda: history(tool()).grant("execute").released(), "pending"),
        (lambda: history(tool()).grant("execute").succeeded(), "succeeded"),
        (lambda: history(tool()).abandoned("send"), "abandoned"),
        (lambda: history(tool(query=True)).grant("execute").landed().grant("query"), "in_flight"),
    ],
)
def test_an_operation_stands_where_its_attempts_and_the_time_say(
    past: Callable[[], History], status: str
) -> None:
    assert past().status == status


def on_a_page() -> History:
    """The first of two operations lies on a page; an attempt of it has not reported yet."""
    past = history(tool("first", idempotency_ms=DAY_MS), tool("second"))
    past.grant("execute").lease_over().grant("repeat").succeeded(2)
    past.workflow = paged(past.workflow, past.workflow.progress.finished, "page")
    return past


# Pages.


def test_what_lies_on_a_page_has_succeeded_and_is_neither_open_nor_among_the_finished() -> None:
    workflow = on_a_page().workflow
    assert workflow.progress.finished == {}
    assert workflow.progress.open == {}
    assert workflow.has_succeeded(0)
    assert not workflow.is_finished(1)
    assert workflow.progress.succeeded == 1


def test_what_comes_back_from_its_page_with_evidence_is_counted_once() -> None:
    past = on_a_page().succeeded(1, effect_id="effect-2")
    assert past.workflow.progress.finished[0].suspected
    assert past.workflow.progress.succeeded == 1
    past.grant("execute", operation="second")
    past.report(Outcome.SUCCEEDED, operation="second")
    assert past.workflow.status is WorkflowStatus.COMPLETED


def test_what_was_given_up_is_not_counted_as_a_success() -> None:
    past = history(tool("first", after=()), tool("second", after=())).abandoned("first")
    past.grant("execute")
    past.report(Outcome.SUCCEEDED, operation="second")
    assert past.workflow.progress.succeeded == 1
    assert past.workflow.status is WorkflowStatus.ABANDONED


def test_a_workflow_goes_on_beside_what_was_given_up() -> None:
    past = history(tool("first", after=()), tool("second", after=())).abandoned("first")
    assert past.workflow.status is WorkflowStatus.ENABLED
