"""What a stop says, and the mark that it leaves where a person must decide."""

from collections.abc import Callable

import pytest

from onceward_controller.protocol import events
from onceward_controller.protocol.answers import Stop
from tests.support.protocol import (
    DAY_MS,
    START_MS,
    History,
)
from tests.support.situations import (
    KEY_TOO_OLD_MS,
    keyed,
    plain,
    said,
)


def test_the_first_stop_that_needs_a_person_is_written_and_no_other() -> None:
    past = plain().grant("execute").unknown()
    assert said(past.begin()) == "needs_decision"
    assert list(past.changes) == [events.Noticed(at=0, needs_person=True)]
    assert past.operation().noticed
    assert said(past.begin("bob")) == "needs_decision"
    assert not past.changes


def test_whatever_happens_next_takes_the_mark_away() -> None:
    past = plain().grant("execute").lease_over()
    past.begin()
    past.not_executed()
    assert not past.operation().noticed


@pytest.mark.parametrize(
    "past",
    [lambda: plain().paused(), lambda: plain().clocks_apart(9_000), lambda: plain().abandoned()],
    ids=["paused", "clocks", "abandoned"],
)
def test_a_stop_that_waits_for_no_decision_on_the_operation_writes_nothing(
    past: Callable[[], History],
) -> None:
    made = past()
    made.begin()
    assert made.changes == ()


def test_the_stop_of_row_18_says_which_attempt_and_what_is_missing() -> None:
    verdict = plain().grant("execute").unknown().begin()
    assert isinstance(verdict, Stop)
    assert "attempt 1 (execute)" in verdict.detail
    assert "cannot tell" in verdict.detail
    verdict = keyed().grant("execute").at(KEY_TOO_OLD_MS).begin()
    assert isinstance(verdict, Stop)
    assert "never reported" in verdict.detail
    assert "no longer lives" in verdict.detail


def test_a_stop_for_the_clocks_shows_both_times() -> None:
    verdict = plain().clocks_apart(-DAY_MS).begin()
    assert isinstance(verdict, Stop)
    assert str(START_MS) in verdict.detail
    assert str(START_MS - DAY_MS) in verdict.detail
