"""A person enables, pauses and abandons."""

from collections.abc import Callable

import pytest

from onceward.wire import limits
from onceward.wire.decisions import Mode
from onceward.wire.messages import WorkflowStatus
from onceward.wire.problems import ProblemCode
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import commands, events
from onceward_controller.protocol.answers import Grant, Noted
from tests.support.protocol import (
    DAY_MS,
    START_MS,
    History,
    history,
    tool,
)
from tests.support.situations import LANDED_MS, TAKEOVER_MS, asking, done, keyed, plain

# Enable and pause.


def test_a_draft_is_enabled_and_nothing_else_enables_it() -> None:
    assert History(tool()).workflow.status is WorkflowStatus.DRAFT
    past = History(tool()).enabled()
    assert past.workflow.status is WorkflowStatus.ENABLED
    assert past.changes == (events.Enabled(),)


def test_enabling_ends_a_pause() -> None:
    past = plain().paused()
    assert past.workflow.status is WorkflowStatus.PAUSED
    assert past.enabled().workflow.status is WorkflowStatus.ENABLED


def test_enabling_or_pausing_twice_writes_nothing() -> None:
    past = plain().enabled()
    assert (past.changes, past.answer) == ((), Noted())
    past.paused().paused()
    assert (past.changes, past.answer) == ((), Noted())


def test_a_draft_cannot_be_paused() -> None:
    assert History(tool()).refusal(commands.Pause()) is ProblemCode.NOT_ENABLED


@pytest.mark.parametrize("command", [commands.Enable(), commands.Pause()], ids=["enable", "pause"])
@pytest.mark.parametrize(
    "past", [done, lambda: plain().abandoned()], ids=["completed", "abandoned"]
)
def test_what_is_finished_is_neither_enabled_nor_paused(
    past: Callable[[], History], command: commands.Command
) -> None:
    assert past().refusal(command) is ProblemCode.WORKFLOW_FINISHED


def test_a_pause_is_noted_with_clocks_apart_and_beyond_all_revisions() -> None:
    past = plain().clocks_apart(DAY_MS).revisions_used(limits.REVISIONS_MAX).paused()
    assert past.workflow.status is WorkflowStatus.PAUSED


def test_a_pause_leaves_a_live_attempt_its_lease_and_its_word() -> None:
    past = plain().grant("execute").paused()
    assert past.status == "in_flight"
    past.succeeded()
    assert past.workflow.status is WorkflowStatus.COMPLETED


# Abandon.


def test_an_operation_is_given_up_for_good_and_its_workflow_is_not() -> None:
    past = history(tool("first", after=()), tool("second", after=())).abandoned("first")
    assert past.operation("first").abandoned
    assert past.begin() == Grant(at=1, number=1, mode=Mode.EXECUTE)


def test_a_workflow_is_given_up_for_good() -> None:
    past = plain().abandoned()
    assert past.workflow.status is WorkflowStatus.ABANDONED
    assert past.refusal(past.abandonment()) is ProblemCode.WORKFLOW_FINISHED


def test_a_completed_workflow_is_not_given_up() -> None:
    past = done()
    assert past.refusal(past.abandonment()) is ProblemCode.WORKFLOW_FINISHED
    two = history(tool("first"), tool("second")).grant("execute").succeeded()
    assert two.refusal(two.abandonment("first")) is ProblemCode.OPERATION_SETTLED


def test_what_was_given_up_is_not_given_up_again() -> None:
    past = plain().abandoned("send")
    assert past.refusal(past.abandonment("send")) is ProblemCode.WORKFLOW_FINISHED


@pytest.mark.parametrize("which", ["send", None], ids=["operation", "workflow"])
def test_nothing_is_given_up_before_its_live_lease_is_over(which: str | None) -> None:
    past = plain().grant("execute").later(TAKEOVER_MS - 1)
    assert past.refusal(past.abandonment(which)) is ProblemCode.ATTEMPT_IN_PROGRESS
    past.later(1).abandoned(which)


def test_a_workflow_waits_for_every_lease_and_an_operation_only_for_its_own() -> None:
    past = history(tool("first", after=()), tool("second", after=()))
    past.grant("execute", operation="second")
    assert past.refusal(past.abandonment()) is ProblemCode.ATTEMPT_IN_PROGRESS
    past.abandoned("first")


@pytest.mark.parametrize("which", ["send", None], ids=["operation", "workflow"])
def test_nothing_is_given_up_without_evidence_or_with_clocks_apart(which: str | None) -> None:
    past = plain().grant("execute").landed()
    command = past.abandonment(which, evidence=" ")
    assert past.refusal(command) is ProblemCode.EVIDENCE_MISSING
    past.clocks_apart(9_000)
    assert past.refusal(past.abandonment(which)) is ProblemCode.CLOCK_UNSAFE


def test_a_draft_a_paused_and_a_failed_workflow_may_be_given_up() -> None:
    for past in (History(tool()), plain().paused(), plain().grant("execute").not_executed()):
        assert past.abandoned().workflow.status is WorkflowStatus.ABANDONED


def test_beyond_all_revisions_it_may_still_be_given_up() -> None:
    past = plain().revisions_used(limits.REVISIONS_MAX).abandoned()
    assert past.workflow.status is WorkflowStatus.ABANDONED


def test_who_and_why_is_written() -> None:
    past = plain().grant("execute").landed()
    past.do(past.resolution(Outcome.SUCCEEDED, effect_id="effect-1"))
    assert past.changes == (
        events.Attested(
            at=0,
            outcome=Outcome.SUCCEEDED,
            evidence="I looked at the destination",
            effect_id="effect-1",
            receipt=b"attested",
        ),
    )
    assert past.now_ms == START_MS + LANDED_MS


def test_a_call_may_land_by_the_latest_lease_of_all_also_after_a_clock_went_back() -> None:
    past = keyed().grant("execute").at(100_000).renewed().at(96_000).unknown()
    past.at(97_000).grant("repeat").lease_over()
    past.at(100_000 + LANDED_MS - 1)
    assert past.refusal(past.resolution(Outcome.NOT_EXECUTED)) is ProblemCode.MAY_STILL_LAND
    assert past.later(1).attested(Outcome.NOT_EXECUTED).status == "not_executed"


def test_what_was_only_given_back_and_then_attested_is_not_executed() -> None:
    past = plain().grant("execute").released().landed().attested(Outcome.NOT_EXECUTED)
    assert past.status == "not_executed"


def test_a_persons_word_closes_every_attempt() -> None:
    for outcome in (Outcome.SUCCEEDED, Outcome.NOT_EXECUTED):
        past = asking().grant("execute").lease_over().grant("query").landed().lease_over()
        assert past.attested(outcome).operation().closed_through == 2
    past = asking().grant("execute").lease_over().abandoned("send")
    assert past.operation().closed_through == 1
