"""Until when a wait lasts, and what puts a next try off and what does not."""

from onceward.wire.decisions import WaitReason
from onceward.wire.definitions import Retry
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.answers import Wait
from tests.support.protocol import (
    DAY_MS,
    LEASE_MS,
    MARGIN_MS,
    START_MS,
    history,
    tool,
)
from tests.support.situations import (
    LANDED_MS,
    answered,
    asking,
    plain,
    retrying,
)


def test_a_wait_for_a_lease_names_the_moment_of_the_takeover() -> None:
    verdict = plain().grant("execute").later(1_000).begin("bob")
    assert verdict == Wait(
        at=0,
        reason=WaitReason.ATTEMPT_IN_PROGRESS,
        until_ms=START_MS + LEASE_MS + MARGIN_MS,
    )


def test_a_wait_for_a_backoff_names_its_end() -> None:
    verdict = retrying().grant("execute").later(7).not_executed().begin()
    assert verdict == Wait(at=0, reason=WaitReason.BACKING_OFF, until_ms=START_MS + 7 + 1_000)


def test_a_wait_for_an_absence_names_the_moment_from_which_it_is_conclusive() -> None:
    verdict = asking().grant("execute").lease_over().grant("query").absent().begin()
    assert verdict == Wait(at=0, reason=WaitReason.ABSENCE_UNCERTAIN, until_ms=START_MS + LANDED_MS)


def test_a_backoff_is_never_longer_than_its_cap() -> None:
    capped = Retry(attempts=9, first_ms=1_000, factor=10.0, cap_ms=5_000)
    past = history(tool(retry=capped))
    for _ in range(4):
        past.grant("execute").not_executed().later(5_000)
    assert answered(past) == "execute"


def test_a_receipt_with_clocks_apart_does_not_put_a_retry_off_beyond_its_backoff() -> None:
    past = retrying().grant("execute").later(DAY_MS).clocks_apart(-DAY_MS).not_executed()
    past.at(60_000).clocks_apart(0)
    assert answered(past) == "execute"


def test_an_unknown_answer_with_clocks_apart_does_not_put_a_query_off_beyond_its_backoff() -> None:
    past = asking().grant("execute").lease_over().grant("query")
    past.later(DAY_MS).clocks_apart(-DAY_MS).unknown()
    past.at(LANDED_MS).clocks_apart(0)
    assert answered(past) == "query"


def test_an_absent_answer_does_not_lengthen_the_backoff_of_what_said_no() -> None:
    slow = Retry(attempts=2, first_ms=LEASE_MS, factor=1.0)
    past = history(tool(query=True, retry=slow)).grant("execute").lease_over()
    past.grant("query", to="eve").not_executed(1).later(10_000).absent(2)
    assert answered(past.later(LEASE_MS - 10_001)) == "backing_off"
    assert answered(past.later(1)) == "execute"


def test_a_query_that_was_given_back_does_not_interrupt_a_row_of_unknown_answers() -> None:
    past = asking().grant("execute").lease_over().grant("query").unknown().later(1_000)
    past.grant("query").released().grant("query").unknown()
    assert answered(past.later(1_999)) == "needs_decision"
    assert answered(past.later(1)) == "query"


def test_an_unknown_answer_that_is_evidence_puts_nothing_off() -> None:
    past = asking().grant("execute").lease_over().grant("query").lease_over().grant("query")
    past.unknown(2).released(3)
    assert answered(past) == "query"


def test_an_attempt_that_a_person_closed_is_not_waited_for_after_a_clock_went_back() -> None:
    past = history(tool(max_in_flight_ms=0)).grant("execute").landed()
    past.attested(Outcome.NOT_EXECUTED).later(-3_000)
    assert answered(past) == "execute"
