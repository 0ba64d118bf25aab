"""A person says what happened."""

from collections.abc import Callable

import pytest

from onceward.wire import limits
from onceward.wire.decisions import Mode, StopReason
from onceward.wire.messages import WorkflowStatus
from onceward.wire.problems import ProblemCode
from onceward.wire.receipts import Assurance, Outcome
from onceward_controller.protocol import commands
from onceward_controller.protocol.answers import Grant, Noted, Reuse, Stop
from tests.support.protocol import (
    LEASE_MS,
    History,
    tool,
)
from tests.support.situations import LANDED_MS, TAKEOVER_MS, asking, done, keyed, plain

SETTLING = pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.NOT_EXECUTED])


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
