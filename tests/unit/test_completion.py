"""Whose receipt counts, what it settles, and what it can no longer undo."""

from collections.abc import Callable

import msgspec
import pytest

from onceward.wire import limits, messages
from onceward.wire.decisions import Mode
from onceward.wire.definitions import Retry
from onceward.wire.messages import Standing
from onceward.wire.problems import ProblemCode
from onceward.wire.receipts import Assurance, Outcome
from onceward_controller.protocol import events
from onceward_controller.protocol.answers import Done, Filed, Grant, Stop
from tests.support.protocol import DAY_MS, LEASE_MS, History, begin, history, tool

KEY_MS = 30 * limits.MINUTE_MS

OUTCOMES = pytest.mark.parametrize("outcome", Outcome)


def plain() -> History:
    return history(tool())


def asking(retry: Retry | None = None) -> History:
    return history(tool(query=True, retry=retry))


def keyed() -> History:
    return history(tool(idempotency_ms=KEY_MS))


def both() -> History:
    return history(tool(query=True, idempotency_ms=KEY_MS))


def replaced() -> History:
    """An execute whose place a repeat has taken."""
    return keyed().grant("execute").lease_over().grant("repeat", to="bob")


# Accepted, however late.


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.SUCCEEDED, "succeeded"),
        (Outcome.NOT_EXECUTED, "not_executed"),
        (Outcome.UNKNOWN, "uncertain"),
    ],
)
@pytest.mark.parametrize(
    "when_ms", [0, LEASE_MS - 1, LEASE_MS, 400 * DAY_MS], ids=["at-once", "last-ms", "over", "late"]
)
def test_the_receipt_of_the_last_attempt_counts_however_late(
    outcome: Outcome, status: str, when_ms: int
) -> None:
    past = plain().grant("execute").later(when_ms)
    assert past.report(outcome) is Standing.ACCEPTED
    assert past.status == status


@OUTCOMES
def test_a_paused_workflow_still_takes_the_receipt(outcome: Outcome) -> None:
    assert plain().grant("execute").paused().report(outcome) is Standing.ACCEPTED


@OUTCOMES
def test_clocks_apart_still_take_the_receipt_and_raise_no_high_water_mark(outcome: Outcome) -> None:
    past = plain().grant("execute")
    mark_ms = past.workflow.progress.high_water_ms
    past.later(DAY_MS).clocks_apart(-DAY_MS)
    assert past.report(outcome) is Standing.ACCEPTED
    assert past.workflow.progress.high_water_ms == mark_ms


@OUTCOMES
def test_a_workflow_beyond_its_revisions_still_takes_the_receipt(outcome: Outcome) -> None:
    past = plain().grant("execute").revisions_used(limits.REVISIONS_MAX)
    assert past.report(outcome) is Standing.ACCEPTED


def test_a_success_is_settled_by_the_revision_and_attempt_that_brought_it() -> None:
    past = both().grant("execute").lease_over().grant("query").succeeded(effect_id="found")
    settlement = past.operation().settlement
    assert settlement is not None
    assert settlement.attempt == 2
    assert settlement.revision == past.workflow.revision
    assert settlement.effect_id == "found"
    assert settlement.assurance is Assurance.HOST_REPORTED


# The same again, and another.


@OUTCOMES
def test_the_same_receipt_again_is_accepted_again_and_writes_nothing(outcome: Outcome) -> None:
    past = plain().grant("execute")
    command = past.completion(outcome, effect_id="effect-1")
    past.do(command).later(DAY_MS).do(command)
    assert past.answer == Filed(Standing.ACCEPTED)
    assert past.changes == ()


@OUTCOMES
def test_a_different_receipt_is_a_conflict(outcome: Outcome) -> None:
    past = plain().grant("execute").succeeded(effect_id="effect-1")
    command = past.completion(outcome, effect_id="effect-2")
    assert past.refusal(command) is ProblemCode.RECEIPT_CONFLICT


def test_a_different_receipt_of_a_replaced_attempt_is_a_conflict_too() -> None:
    past = replaced().unknown(1)
    assert past.refusal(past.completion(Outcome.SUCCEEDED, 1)) is ProblemCode.RECEIPT_CONFLICT


def test_the_same_evidence_again_is_evidence_again_and_writes_nothing() -> None:
    past = replaced()
    command = past.completion(Outcome.SUCCEEDED, 1)
    past.do(command).do(command)
    assert past.answer == Filed(Standing.EVIDENCE)
    assert past.changes == ()


def test_an_accepted_receipt_sent_again_after_a_person_settled_it_keeps_its_standing() -> None:
    past = plain().grant("execute")
    command = past.completion(Outcome.UNKNOWN)
    past.do(command).lease_over().attested(Outcome.SUCCEEDED).do(command)
    assert past.answer == Filed(Standing.ACCEPTED)


# Together with the next question.


def two() -> History:
    return history(tool("first"), tool("second")).grant("execute")


def test_the_next_question_of_the_same_receipt_is_decided_afresh() -> None:
    past = two()
    command = past.completion(Outcome.SUCCEEDED, then_begin=begin())
    past.do(command).do(command)
    assert past.answer == Filed(Standing.ACCEPTED, Grant(at=1, number=1, mode=Mode.EXECUTE))
    assert past.changes == ()


def test_after_a_pause_the_same_receipt_with_the_same_question_grants_nothing() -> None:
    past = two()
    command = past.completion(Outcome.SUCCEEDED, then_begin=begin())
    past.do(command).paused().do(command)
    assert isinstance(past.answer, Filed)
    assert past.answer.standing is Standing.ACCEPTED
    assert isinstance(past.answer.then, Stop)
    assert past.changes == ()


def test_a_receipt_in_a_pause_is_filed_and_its_question_stopped() -> None:
    past = two().paused()
    past.do(past.completion(Outcome.SUCCEEDED, then_begin=begin()))
    assert [type(event) for event in past.changes] == [events.Reported]
    assert isinstance(past.answer, Filed)
    assert isinstance(past.answer.then, Stop)


def test_the_question_of_evidence_is_answered_too() -> None:
    past = history(tool("first", idempotency_ms=KEY_MS), tool("second"))
    past.grant("execute").lease_over().grant("repeat", to="bob").succeeded(2)
    past.do(past.completion(Outcome.SUCCEEDED, 1, effect_id="effect-1", then_begin=begin()))
    assert isinstance(past.answer, Filed)
    assert past.answer.standing is Standing.EVIDENCE
    assert isinstance(past.answer.then, Grant)
    assert past.answer.then.at == 1


def test_the_last_receipt_with_a_question_says_that_all_is_done() -> None:
    past = plain().grant("execute")
    past.do(past.completion(Outcome.SUCCEEDED, then_begin=begin()))
    assert past.answer == Filed(Standing.ACCEPTED, Done())


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


# Who may speak.


def test_a_receipt_needs_the_token_of_its_attempt() -> None:
    past = replaced()
    command = past.completion(Outcome.SUCCEEDED, 2)
    stolen = msgspec.structs.replace(command.body, attempt=1)
    stolen_command = msgspec.structs.replace(command, body=stolen)
    assert past.refusal(stolen_command) is ProblemCode.LEASE_TOKEN_INVALID


def test_a_receipt_for_an_attempt_that_nobody_granted_is_not_found() -> None:
    past = plain().grant("execute")
    command = past.completion(Outcome.SUCCEEDED)
    for number in (2, 100):
        body = msgspec.structs.replace(command.body, attempt=number)
        refused = past.refusal(msgspec.structs.replace(command, body=body))
        assert refused is ProblemCode.ATTEMPT_UNKNOWN


def test_a_receipt_that_speaks_of_another_operation_is_refused() -> None:
    past = two()
    command = past.completion(Outcome.SUCCEEDED)
    receipt = msgspec.structs.replace(
        command.body.receipt, operation_id="op:wf:reports::monday:digest:second"
    )
    body = msgspec.structs.replace(command.body, receipt=receipt)
    refused = past.refusal(msgspec.structs.replace(command, body=body))
    assert refused is ProblemCode.RECEIPT_MISMATCH


def test_a_receipt_for_an_operation_that_there_is_not_is_not_found() -> None:
    past = two()
    command = msgspec.structs.replace(past.completion(Outcome.SUCCEEDED), operation="third")
    assert past.refusal(command) is ProblemCode.NOT_FOUND


def test_what_is_filed_holds_the_bytes_as_they_came() -> None:
    past = plain().grant("execute")
    command = past.completion(Outcome.SUCCEEDED, effect_id="effect-1")
    (event,) = past.do(command).changes
    assert isinstance(event, events.Reported)
    assert event.receipt == command.receipt
    assert event.receipt_sha256 == command.receipt_sha256
    assert event.effect_id == "effect-1"


def test_a_question_that_names_no_operation_there_is_refuses_the_receipt_with_it() -> None:
    past = two()
    ask = messages.Begin(request_id="request-of-ann", operation="third")
    command = past.completion(Outcome.SUCCEEDED, then_begin=ask)
    assert past.refusal(command) is ProblemCode.NOT_FOUND


def test_an_effect_that_a_query_found_under_another_name_is_suspect_too() -> None:
    past = both().grant("execute").lease_over().grant("query").unknown().grant("repeat")
    past.not_executed(3).later(1_000).grant("query").succeeded(effect_id="effect-2")
    past.succeeded(1, effect_id="effect-1")
    assert past.operation().is_double_suspected
