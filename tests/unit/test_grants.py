"""What a grant is written with, how attempts are numbered and limited, and to whom they go."""

from collections.abc import Callable

import pytest

from onceward.wire import limits, messages
from onceward.wire.decisions import Mode, StopReason
from onceward.wire.definitions import OperationDefinition
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import events
from onceward_controller.protocol.answers import Filed, Grant, Reuse, Stop
from tests.support.protocol import (
    IN_FLIGHT_MS,
    LEASE_MS,
    SECOND_MS,
    START_MS,
    History,
    begin,
    history,
    tool,
)
from tests.support.situations import (
    KEY_MS,
    KEY_TOO_OLD_MS,
    answered,
    both,
    chain,
    grant,
    keyed,
    plain,
    uncertain_with,
)


@pytest.mark.parametrize(
    ("past", "mode", "call_before_ms"),
    [
        pytest.param(plain, "execute", LEASE_MS, id="an-execute-before-its-lease-ends"),
        pytest.param(
            lambda: keyed().grant("execute").at(KEY_TOO_OLD_MS - 1),
            "repeat",
            KEY_TOO_OLD_MS - 1 + LEASE_MS,
            id="the-last-possible-repeat-before-its-key-dies",
        ),
    ],
)
def test_a_grant_is_written_with_its_lease_and_the_moment_before_which_to_call(
    past: Callable[[], History], mode: str, call_before_ms: int
) -> None:
    made = past()
    granted_ms = made.now_ms
    made.grant(mode, to="bob")
    last = made.operation().last
    assert last is not None
    assert last.call_before_ms == START_MS + call_before_ms
    assert last.lease_until_ms == granted_ms + LEASE_MS
    key_dies_ms = KEY_MS - IN_FLIGHT_MS - limits.REPEAT_MARGIN_MS
    assert last.call_before_ms <= START_MS + key_dies_ms
    assert last.request_id == "request-of-bob"


def test_the_key_is_written_with_the_first_grant_and_every_repeat_uses_it() -> None:
    past = keyed().grant("execute")
    (first,) = past.changes
    assert isinstance(first, events.Granted)
    assert first.idempotency_key == "key:op:wf:reports::monday:digest:send"
    past.lease_over().grant("repeat")
    (second,) = past.changes
    assert isinstance(second, events.Granted)
    assert second.idempotency_key is None
    assert past.operation().idempotency_key == first.idempotency_key


def test_the_same_grant_again_is_the_same_attempt_and_writes_nothing() -> None:
    past = plain().grant("execute").later(5_000)
    revision = past.workflow.revision
    assert past.begin() == grant("execute", 1)
    assert past.changes == ()
    assert past.workflow.revision == revision


def test_attempts_are_numbered_over_modes() -> None:
    past = both().grant("execute").lease_over().grant("query").unknown()
    assert past.begin() == grant("repeat", 3)


@pytest.mark.parametrize(
    ("attempts", "expected"), [(99, "query"), (100, "attempt_limit")], ids=["99", "100"]
)
def test_the_hundredth_attempt_is_the_last(attempts: int, expected: str) -> None:
    assert answered(uncertain_with(attempts)) == expected


def test_the_live_hundredth_attempt_is_waited_for_and_given_again_to_its_holder() -> None:
    past = uncertain_with(99).grant("query")
    assert answered(past, "ann") == "query"
    assert answered(past, "bob") == "attempt_in_progress"


def test_the_receipt_of_the_hundredth_attempt_counts() -> None:
    assert answered(uncertain_with(99).grant("query").succeeded()) == "reuse"


def test_a_person_admits_one_attempt_beyond_the_limit_and_again_one() -> None:
    past = uncertain_with(100).attested(Outcome.NOT_EXECUTED)
    for number in (101, 102):
        assert past.begin() == grant("execute", number)
        past.lease_over()
        assert answered(past) == "attempt_limit"
        past.landed().attested(Outcome.NOT_EXECUTED)


def test_an_attestation_below_the_limit_does_not_lift_it() -> None:
    past = plain().grant("execute").landed().attested(Outcome.NOT_EXECUTED)
    assert past.operation().attempts_max == limits.ATTEMPTS_MAX


def test_who_does_not_offer_the_tool_is_granted_nothing() -> None:
    other = (messages.ToolOffer("send-tool", "2"), messages.ToolOffer("other-tool", "1"))
    verdict = plain().begin(tools=other)
    assert isinstance(verdict, Stop)
    assert verdict.reason is StopReason.UNKNOWN_TOOL


def test_who_offers_the_tool_is_granted_it() -> None:
    assert plain().begin(tools=(messages.ToolOffer("send-tool", "1"),)) == grant("execute", 1)


def test_who_offers_nothing_still_reuses() -> None:
    past = plain().grant("execute").succeeded()
    assert past.begin(operation="send", tools=()) == Reuse(at=0)


def test_a_caller_that_lacks_one_tool_is_given_the_next_operation_that_it_can_run() -> None:
    past = history(tool("first", after=()), tool("second", after=()))
    verdict = past.begin(tools=(messages.ToolOffer("second-tool", "1"),))
    assert verdict == Grant(at=1, number=1, mode=Mode.EXECUTE)


@pytest.mark.parametrize(
    "definition",
    [
        tool(),
        tool(query=True),
        tool(idempotency_ms=KEY_MS),
        tool(query=True, idempotency_ms=KEY_MS),
    ],
    ids=["none", "query", "idempotency", "both"],
)
def test_no_lease_is_shorter_than_declared(definition: OperationDefinition) -> None:
    past = history(definition).later(3 * SECOND_MS).grant("execute")
    last = past.operation().last
    assert last is not None
    assert last.granted_ms == START_MS + 3 * SECOND_MS
    assert last.lease_until_ms == last.call_before_ms == last.granted_ms + LEASE_MS


def test_a_receipt_and_the_next_question_are_decided_as_one_after_the_other() -> None:
    past = chain().grant("execute")
    past.report(Outcome.SUCCEEDED, then_begin=begin())
    assert isinstance(past.answer, Filed)
    assert past.answer.then == Grant(at=1, number=1, mode=Mode.EXECUTE)
    assert [type(event) for event in past.changes] == [events.Reported, events.Granted]
    last = past.operation("second").last
    assert last is not None
    assert last.lease_until_ms == START_MS + LEASE_MS
