"""Of two rows of the decision table that match, the earlier answers."""

from collections.abc import Callable

import pytest

from onceward.wire.problems import ProblemCode
from onceward_controller.protocol import commands
from tests.support.protocol import (
    History,
    begin,
    tool,
)
from tests.support.situations import (
    LANDED_MS,
    answered,
    asking,
    blocked,
    both,
    chain,
    keyed,
    plain,
    refused,
    row,
    said,
    uncertain_with,
)


def reported_absent(past: History, *, at: int) -> History:
    return past.at(at).grant("query").absent()


@pytest.mark.parametrize(
    ("past", "worker", "expected"),
    [
        # 3 before 4: see "a success is reused after the workflow was abandoned".
        row(
            "abandoned before blocked",
            lambda: blocked().lease_over().abandoned("send"),
            "abandoned",
        ),
        row("abandoned before refused", lambda: refused().abandoned(), "abandoned"),
        row("abandoned before paused", lambda: plain().paused().abandoned("send"), "abandoned"),
        row(
            "abandoned before not enabled",
            lambda: History(tool()).abandoned("send"),
            "abandoned",
        ),
        row("blocked before paused", lambda: blocked().paused(), "needs_decision"),
        row("refused before paused", lambda: refused().paused(), "not_executed"),
        row("refused before clocks", lambda: refused().clocks_apart(9_000), "not_executed"),
        row(
            "blocked before the same request",
            blocked,
            "needs_decision",
            worker="ann",
        ),
        row("paused before clocks", lambda: plain().paused().clocks_apart(9_000), "paused"),
        row("draft before clocks", lambda: History(tool()).clocks_apart(9_000), "not_enabled"),
        row(
            "paused before the same request",
            lambda: plain().grant("execute", to="bob").paused(),
            "paused",
        ),
        row(
            "clocks before the same request",
            lambda: plain().grant("execute", to="bob").clocks_apart(9_000),
            "clock_unsafe",
        ),
        row(
            "the same request before the live lease",
            lambda: plain().grant("execute", to="bob"),
            "execute",
        ),
        row(
            "the same request before the revision limit",
            lambda: plain().grant("execute", to="bob").revisions_used(2_000),
            "execute",
        ),
        row(
            "the live lease before the revision limit",
            lambda: plain().grant("execute").revisions_used(2_000),
            "attempt_in_progress",
        ),
        row(
            "the revision limit before an execute",
            lambda: plain().revisions_used(2_000),
            "revision_limit",
        ),
        row(
            "the revision limit before a query",
            lambda: asking().grant("execute").unknown().revisions_used(2_000),
            "revision_limit",
        ),
        row(
            "the revision limit before a repeat",
            lambda: keyed().grant("execute").lease_over().revisions_used(2_000),
            "revision_limit",
        ),
        row(
            "the last revision grants",
            lambda: plain().revisions_used(1_999),
            "execute",
        ),
        row(
            "a query before a repeat",
            lambda: both().grant("execute").lease_over(),
            "query",
        ),
        row(
            "an absence that came too early before a repeat",
            lambda: both().grant("execute").unknown().grant("query").absent().later(10_000),
            "absence_uncertain",
        ),
        row(
            "an execute after a conclusive absence before a repeat",
            lambda: reported_absent(both().grant("execute"), at=LANDED_MS),
            "execute",
        ),
    ],
)
def test_of_two_rows_that_match_the_earlier_answers(
    past: Callable[[], History], worker: str, expected: str
) -> None:
    assert answered(past(), worker) == expected


def test_an_unknown_operation_is_not_found_whatever_else_is_so() -> None:
    past = plain().paused()
    command = commands.Begin(begin(operation="nobody"))
    assert past.refusal(command) is ProblemCode.NOT_FOUND


def test_of_two_limits_that_are_reached_the_attempts_are_named() -> None:
    assert answered(uncertain_with(100).revisions_used(2_000)) == "attempt_limit"


def test_paused_and_clocks_before_a_predecessor() -> None:
    assert said(chain().paused().begin(operation="second")) == "paused"
    assert said(chain().clocks_apart(9_000).begin(operation="second")) == "clock_unsafe"


def test_a_predecessor_before_the_revision_limit() -> None:
    past = chain().grant("execute").revisions_used(2_000)
    assert said(past.begin("bob", operation="second")) == "predecessor_running"
