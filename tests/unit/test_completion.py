"""A receipt: accepted however late, once, from whoever holds the token."""

import msgspec
import pytest

from onceward.wire import limits, messages
from onceward.wire.decisions import Mode
from onceward.wire.messages import Standing
from onceward.wire.problems import ProblemCode
from onceward.wire.receipts import Assurance, Outcome
from onceward_controller.protocol import events
from onceward_controller.protocol.answers import Done, Filed, Grant, Stop
from tests.support.protocol import DAY_MS, LEASE_MS, History, begin, history, tool
from tests.support.situations import KEY_MS, OUTCOMES, both, plain, replaced

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


def two() -> History:
    return history(tool("first"), tool("second")).grant("execute")


# Together with the next question.


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
