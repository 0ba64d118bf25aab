"""What people may do, when, and what it does."""

from collections.abc import Callable

import pytest

from onceward.wire import limits
from onceward.wire.decisions import Mode, StopReason
from onceward.wire.messages import WorkflowStatus
from onceward.wire.problems import ProblemCode
from onceward.wire.receipts import Assurance, Outcome
from onceward_controller.protocol import commands, events
from onceward_controller.protocol.answers import Grant, Noted, Reuse, Stop
from tests.support.protocol import (
    DAY_MS,
    IN_FLIGHT_MS,
    LEASE_MS,
    MARGIN_MS,
    START_MS,
    History,
    history,
    tool,
)

KEY_MS = 30 * limits.MINUTE_MS
TAKEOVER_MS = LEASE_MS + MARGIN_MS
LANDED_MS = LEASE_MS + IN_FLIGHT_MS + MARGIN_MS

SETTLING = pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.NOT_EXECUTED])


def plain() -> History:
    return history(tool())


def asking() -> History:
    return history(tool(query=True))


def keyed() -> History:
    return history(tool(idempotency_ms=KEY_MS))


def done() -> History:
    return plain().grant("execute").succeeded()


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


# Resolve.


def test_a_person_says_that_it_happened() -> None:
    past = plain().grant("execute").lease_over()
    past.attested(Outcome.SUCCEEDED, effect_id="effect-7")
    settlement = past.operation().settlement
    assert settlement is not None
    assert settlement.assurance is Assurance.OPERATOR_ATTESTED
    assert settlement.effect_id == "effect-7"
    assert settlement.attempt == 0
    assert past.begin(operation="send") == Reuse(at=0)
    assert past.workflow.status is WorkflowStatus.COMPLETED


def test_a_person_says_that_it_did_not_happen_which_grants_exactly_one_more() -> None:
    past = plain().grant("execute").landed().attested(Outcome.NOT_EXECUTED)
    assert past.status == "not_executed"
    assert past.begin() == Grant(at=0, number=2, mode=Mode.EXECUTE)
    past.not_executed(2)
    verdict = past.begin()
    assert isinstance(verdict, Stop)
    assert verdict.reason is StopReason.NOT_EXECUTED


@pytest.mark.parametrize(
    ("now_ms", "permitted"),
    [
        (LEASE_MS - 1, False),
        (TAKEOVER_MS - 1, False),
        (TAKEOVER_MS, True),
    ],
    ids=["lease-live", "last-ms-of-the-margin", "margin-over"],
)
def test_a_success_is_attested_once_no_lease_is_live(now_ms: int, permitted: bool) -> None:
    past = plain().grant("execute").at(now_ms)
    command = past.resolution(Outcome.SUCCEEDED)
    if permitted:
        assert past.do(command).status == "succeeded"
    else:
        assert past.refusal(command) is ProblemCode.ATTEMPT_IN_PROGRESS


@pytest.mark.parametrize(
    ("now_ms", "code"),
    [
        (TAKEOVER_MS - 1, ProblemCode.ATTEMPT_IN_PROGRESS),
        (TAKEOVER_MS, ProblemCode.MAY_STILL_LAND),
        (LANDED_MS - 1, ProblemCode.MAY_STILL_LAND),
    ],
)
def test_not_executed_is_not_heard_while_a_call_may_still_land(
    now_ms: int, code: ProblemCode
) -> None:
    past = plain().grant("execute").at(now_ms)
    assert past.refusal(past.resolution(Outcome.NOT_EXECUTED)) is code


def test_not_executed_is_heard_from_the_moment_that_the_refusal_names() -> None:
    past = plain().grant("execute").later(1_000).renewed().at(LANDED_MS + 999)
    assert past.refusal(past.resolution(Outcome.NOT_EXECUTED)) is ProblemCode.MAY_STILL_LAND
    past.at(LANDED_MS + 1_000).attested(Outcome.NOT_EXECUTED)
    assert past.status == "not_executed"


def test_an_unknown_receipt_does_not_shorten_what_a_call_needs_to_land() -> None:
    past = plain().grant("execute").unknown().at(LANDED_MS - 1)
    assert past.refusal(past.resolution(Outcome.NOT_EXECUTED)) is ProblemCode.MAY_STILL_LAND


def test_a_query_that_runs_late_does_not_lengthen_what_a_call_needs_to_land() -> None:
    past = asking().grant("execute").landed().grant("query").lease_over()
    assert past.attested(Outcome.NOT_EXECUTED).status == "not_executed"


def test_what_was_never_granted_may_be_said_not_executed_at_once() -> None:
    past = plain().attested(Outcome.NOT_EXECUTED)
    assert past.status == "not_executed"
    past.grant("execute")


def test_what_was_never_granted_may_be_said_to_have_happened() -> None:
    assert plain().attested(Outcome.SUCCEEDED).status == "succeeded"


@SETTLING
def test_a_paused_workflow_or_a_draft_may_be_resolved(outcome: Outcome) -> None:
    for past in (plain().paused(), History(tool())):
        assert isinstance(past.attested(outcome).answer, Noted)


@SETTLING
def test_beyond_all_revisions_a_person_is_still_heard(outcome: Outcome) -> None:
    past = plain().grant("execute").landed().revisions_used(limits.REVISIONS_MAX)
    assert isinstance(past.attested(outcome).answer, Noted)


@SETTLING
@pytest.mark.parametrize(
    ("past", "code"),
    [
        pytest.param(done, ProblemCode.OPERATION_SETTLED, id="that-has-succeeded"),
        pytest.param(
            lambda: plain().abandoned("send"),
            ProblemCode.OPERATION_SETTLED,
            id="that-was-abandoned",
        ),
        pytest.param(
            lambda: plain().abandoned(),
            ProblemCode.WORKFLOW_FINISHED,
            id="of-an-abandoned-workflow",
        ),
        pytest.param(
            lambda: plain().grant("execute").landed().clocks_apart(9_000),
            ProblemCode.CLOCK_UNSAFE,
            id="with-clocks-apart",
        ),
    ],
)
def test_nobody_resolves_an_operation(
    past: Callable[[], History], code: ProblemCode, outcome: Outcome
) -> None:
    made = past()
    assert made.refusal(made.resolution(outcome)) is code


@SETTLING
@pytest.mark.parametrize("evidence", ["", "  \n\t"])
def test_a_word_without_evidence_is_refused(outcome: Outcome, evidence: str) -> None:
    past = plain().grant("execute").landed()
    command = past.resolution(outcome, evidence=evidence)
    assert past.refusal(command) is ProblemCode.EVIDENCE_MISSING


@pytest.mark.parametrize("off", [-1, 1])
def test_a_word_on_another_revision_is_refused(off: int) -> None:
    past = plain().grant("execute").landed()
    revision = past.workflow.revision + off
    resolution = past.resolution(Outcome.SUCCEEDED, revision=revision)
    assert past.refusal(resolution) is ProblemCode.REVISION_CONFLICT
    assert past.refusal(past.abandonment(revision=revision)) is ProblemCode.REVISION_CONFLICT


def test_a_person_says_what_happened_not_that_nobody_knows() -> None:
    past = plain().grant("execute").landed()
    assert past.refusal(past.resolution(Outcome.UNKNOWN)) is ProblemCode.BODY_INVALID


def test_only_an_operation_of_the_workflow_is_resolved_or_abandoned() -> None:
    past = plain()
    resolution = commands.Resolve("third", past.resolution(Outcome.SUCCEEDED).body)
    assert past.refusal(resolution) is ProblemCode.NOT_FOUND
    assert past.refusal(past.abandonment("third")) is ProblemCode.NOT_FOUND


def test_a_person_overrules_the_success_that_blocked() -> None:
    past = keyed().grant("execute").lease_over().grant("repeat").succeeded(1)
    past.landed().attested(Outcome.NOT_EXECUTED)
    assert past.status == "not_executed"
    past.grant("execute")


def test_a_person_confirms_the_success_that_blocked() -> None:
    past = keyed().grant("execute").lease_over().grant("repeat").succeeded(1).lease_over()
    assert past.attested(Outcome.SUCCEEDED, effect_id="effect-1").status == "succeeded"


def test_a_success_that_comes_after_being_overruled_blocks_again() -> None:
    past = keyed().grant("execute").lease_over().grant("repeat").succeeded(1)
    past.landed().attested(Outcome.NOT_EXECUTED).succeeded(2)
    assert past.status == "blocked"
    past.attested(Outcome.NOT_EXECUTED).grant("execute")


def test_a_failed_workflow_is_reopened_by_a_persons_not_executed() -> None:
    assert plain().grant("execute").not_executed().workflow.status is WorkflowStatus.FAILED
    past = plain().grant("execute").not_executed().landed().attested(Outcome.NOT_EXECUTED)
    assert past.workflow.status is WorkflowStatus.ENABLED


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
