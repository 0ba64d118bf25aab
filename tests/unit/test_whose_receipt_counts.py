"""Whose receipt counts where several attempts may have had the effect."""

from collections.abc import Callable

import pytest

from onceward.wire.definitions import Retry
from onceward.wire.messages import Standing
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.answers import Stop
from tests.support.protocol import History, history, tool
from tests.support.situations import OUTCOMES, both, plain, replaced


def asking(retry: Retry | None = None) -> History:
    return history(tool(query=True, retry=retry))


# A query supersedes nothing.


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda past: past,
        lambda past: past.lease_over(),
        lambda past: past.unknown(2),
        lambda past: past.absent(2),
        lambda past: past.released(2),
        lambda past: past.lease_over().grant("query").absent(3),
    ],
    ids=["runs", "died", "could-not-tell", "absent", "released", "twice"],
)
@OUTCOMES
def test_the_receipt_of_an_execute_counts_while_and_after_a_query_runs(
    meanwhile: Callable[[History], History], outcome: Outcome
) -> None:
    past = asking().grant("execute").lease_over().grant("query", to="bob")
    meanwhile(past)
    assert past.report(outcome, 1, effect_id="effect-1") is Standing.ACCEPTED
    assert (past.status == "succeeded") is (outcome is Outcome.SUCCEEDED)


def test_the_receipt_of_a_repeat_counts_while_a_query_runs() -> None:
    past = both().grant("execute").lease_over().grant("query").unknown().grant("repeat")
    past.lease_over().grant("query")
    assert past.report(Outcome.SUCCEEDED, 3) is Standing.ACCEPTED


def test_an_execute_that_says_not_executed_while_a_query_runs_settles_itself() -> None:
    past = asking(Retry(attempts=2)).grant("execute").lease_over().grant("query", to="bob")
    past.not_executed(1).lease_over()
    assert past.grant("execute").operation().last == past.operation().attempts[2]


def test_a_query_that_found_it_after_the_execute_said_not_executed_is_believed() -> None:
    past = asking(Retry(attempts=2)).grant("execute").lease_over().grant("query", to="bob")
    past.not_executed(1)
    assert past.report(Outcome.SUCCEEDED, 2) is Standing.ACCEPTED
    assert past.status == "succeeded"


def test_a_query_is_superseded_by_a_newer_query() -> None:
    past = asking().grant("execute").lease_over().grant("query").lease_over().grant("query")
    assert past.report(Outcome.NOT_EXECUTED, 2) is Standing.EVIDENCE
    assert past.status == "in_flight"


def test_an_absence_that_a_newer_query_superseded_executes_nothing() -> None:
    past = asking().grant("execute").landed().grant("query").lease_over().grant("query")
    past.absent(2).released(3)
    past.grant("query")


def test_a_query_is_superseded_by_a_newer_execute() -> None:
    past = asking(Retry(attempts=2)).grant("execute").lease_over().grant("query", to="bob")
    past.not_executed(1).lease_over().grant("execute", to="eve")
    assert past.report(Outcome.NOT_EXECUTED, 2) is Standing.EVIDENCE
    assert past.operation().is_uncertain


def test_an_absence_granted_after_the_window_is_void_once_an_execute_was_granted() -> None:
    past = asking(Retry(attempts=2)).grant("execute").landed().grant("query", to="bob")
    past.not_executed(1).lease_over().grant("execute", to="eve")
    assert past.report(Outcome.NOT_EXECUTED, 2) is Standing.EVIDENCE
    assert past.operation().settled_through == 0


# A not-executed receipt speaks for its own attempt.


def test_a_repeat_that_was_not_executed_leaves_the_older_execute_in_doubt() -> None:
    past = replaced().not_executed(2)
    assert past.status == "uncertain"


def test_a_not_executed_of_a_replaced_attempt_is_evidence_and_clears_nothing() -> None:
    past = replaced()
    assert past.report(Outcome.NOT_EXECUTED, 1) is Standing.EVIDENCE
    past.not_executed(2)
    assert past.status == "uncertain"
    assert past.operation().refusals == 1


def test_an_unknown_of_a_query_undoes_no_settled_absence() -> None:
    past = asking().grant("execute").landed().grant("query").absent()
    assert past.status == "not_executed"
    past.unknown(1)
    assert past.status == "not_executed"


def test_an_absence_settles_every_earlier_attempt() -> None:
    past = both().grant("execute").lease_over().grant("query").unknown().grant("repeat")
    past.landed().grant("query").absent()
    assert past.status == "not_executed"
    assert past.operation().settled_through == 4


def test_an_unknown_or_absent_answer_of_a_query_uses_up_no_retry() -> None:
    past = asking(Retry(attempts=2)).grant("execute").landed().grant("query").absent()
    assert past.operation().refusals == 0


def test_an_execute_after_an_absence_has_all_its_retries() -> None:
    past = asking(Retry(attempts=2, first_ms=0)).grant("execute").landed().grant("query").absent()
    past.grant("execute").not_executed().grant("execute").not_executed()
    verdict = past.begin()
    assert isinstance(verdict, Stop)


def test_an_absence_permits_one_more_execute_and_not_two() -> None:
    past = asking().grant("execute").landed().grant("query").absent().grant("execute")
    assert not past.operation().one_more
    past.lease_over().grant("query")


def test_an_absent_answer_does_not_reopen_what_the_tool_itself_refused_for_good() -> None:
    past = asking().grant("execute").landed().grant("query", to="bob").not_executed(1)
    before = past.begin("eve")
    past.absent(2)
    assert past.begin("eve") == before


# Evidence.


@OUTCOMES
def test_the_receipt_of_a_replaced_attempt_is_kept_and_completes_nothing(outcome: Outcome) -> None:
    past = replaced()
    assert past.report(outcome, 1, effect_id="effect-1") is Standing.EVIDENCE
    operation = past.operation()
    assert operation.settlement is None
    report = operation.attempts[0].report
    assert report is not None
    assert report.outcome is outcome
    assert not report.accepted


def test_a_success_kept_as_evidence_blocks_until_the_newer_attempt_succeeds() -> None:
    past = replaced().succeeded(1)
    assert isinstance(past.begin("bob"), Stop)
    past.lease_over()
    assert past.status == "blocked"
    past.succeeded(2)
    assert past.status == "succeeded"


@pytest.mark.parametrize("outcome", [Outcome.NOT_EXECUTED, Outcome.UNKNOWN])
def test_only_a_success_kept_as_evidence_blocks(outcome: Outcome) -> None:
    past = replaced()
    past.report(outcome, 1)
    assert not past.operation().is_blocked


@pytest.mark.parametrize("outcome", [Outcome.NOT_EXECUTED, Outcome.UNKNOWN])
def test_a_success_kept_as_evidence_blocks_whatever_the_newer_attempt_says(
    outcome: Outcome,
) -> None:
    past = replaced().succeeded(1)
    past.report(outcome, 2)
    assert past.status == "blocked"


@pytest.mark.parametrize("final", [Outcome.SUCCEEDED, Outcome.NOT_EXECUTED])
@OUTCOMES
def test_after_an_attestation_a_receipt_is_evidence(final: Outcome, outcome: Outcome) -> None:
    past = plain().grant("execute").landed().attested(final)
    before = past.operation().settlement
    assert past.report(outcome, 1, effect_id="effect-1") is Standing.EVIDENCE
    assert past.operation().settlement == before


@pytest.mark.parametrize("which", ["send", None], ids=["operation", "workflow"])
@OUTCOMES
def test_after_abandonment_a_receipt_is_evidence(which: str | None, outcome: Outcome) -> None:
    past = plain().grant("execute").lease_over().abandoned(which)
    assert past.report(outcome, 1, effect_id="effect-1") is Standing.EVIDENCE
    assert past.operation().settlement is None
    assert past.workflow.status in ("abandoned", "enabled")


@OUTCOMES
def test_after_a_release_a_receipt_is_evidence(outcome: Outcome) -> None:
    past = plain().grant("execute").released()
    assert past.report(outcome, 1) is Standing.EVIDENCE


def test_after_a_success_the_receipt_of_a_query_is_evidence() -> None:
    past = asking().grant("execute").lease_over().grant("query", to="bob").succeeded(1)
    settlement = past.operation().settlement
    assert past.report(Outcome.NOT_EXECUTED, 2) is Standing.EVIDENCE
    assert past.operation().settlement == settlement


# A second effect is suspected, judged afresh at every receipt.


def test_no_second_effect_is_suspected_while_only_one_succeeded() -> None:
    assert not plain().grant("execute").succeeded().operation().is_double_suspected


def test_a_success_as_evidence_beside_a_newer_attempt_without_a_word_is_suspect() -> None:
    assert replaced().succeeded(1).operation().is_double_suspected


def test_it_is_suspect_no_more_once_the_newer_attempt_did_not_happen() -> None:
    assert not replaced().succeeded(1).not_executed(2).operation().is_double_suspected


def test_it_stays_suspect_while_the_newer_attempt_cannot_tell() -> None:
    assert replaced().succeeded(1).unknown(2).operation().is_double_suspected


@pytest.mark.parametrize(
    ("newer", "suspected"), [("effect-1", False), ("effect-2", True)], ids=["same", "another"]
)
@pytest.mark.parametrize("order", [(1, 2), (2, 1)], ids=["older-first", "newer-first"])
def test_two_successes_are_suspect_if_their_effects_have_two_names(
    newer: str, suspected: bool, order: tuple[int, int]
) -> None:
    past = replaced()
    for number in order:
        past.succeeded(number, effect_id="effect-1" if number == 1 else newer)
    assert past.operation().is_double_suspected is suspected
    assert past.workflow.progress.finished[0].suspected is suspected


def test_a_late_success_that_names_another_effect_than_the_person_did_is_flagged() -> None:
    past = plain().grant("execute").lease_over()
    past.attested(Outcome.SUCCEEDED, effect_id="effect-1").succeeded(1, effect_id="effect-2")
    assert past.workflow.progress.finished[0].suspected


def test_a_late_receipt_that_contradicts_an_abandonment_is_flagged() -> None:
    past = plain().grant("execute").lease_over().abandoned("send").succeeded(1)
    assert past.workflow.progress.finished[0].suspected
