"""The decision table, row by row, at both sides of every boundary, and in its order."""

from collections.abc import Callable

import pytest

from onceward.wire import limits, messages
from onceward.wire.decisions import Mode, StopReason, WaitReason
from onceward.wire.definitions import OperationDefinition, Retry
from onceward.wire.problems import ProblemCode
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import commands, events
from onceward_controller.protocol.answers import Done, Filed, Grant, Reuse, Stop, Verdict, Wait
from tests.support.protocol import (
    DAY_MS,
    IN_FLIGHT_MS,
    LEASE_MS,
    MARGIN_MS,
    SECOND_MS,
    START_MS,
    History,
    begin,
    history,
    tool,
)

LANDED_MS = LEASE_MS + IN_FLIGHT_MS + MARGIN_MS
"""When the call of an attempt granted at the start has landed, lease not renewed."""
KEY_MS = 10 * limits.MINUTE_MS
"""How long the destination remembers a key here."""
KEY_TOO_OLD_MS = KEY_MS - LEASE_MS - IN_FLIGHT_MS - limits.REPEAT_MARGIN_MS
"""From when on a repeat could land after the destination forgot the key granted at the start."""
THRICE = Retry(attempts=3, first_ms=1_000, factor=2.0, cap_ms=3_600_000)


def plain() -> History:
    return history(tool())


def asking() -> History:
    return history(tool(query=True))


def keyed() -> History:
    return history(tool(idempotency_ms=KEY_MS))


def both() -> History:
    return history(tool(query=True, idempotency_ms=KEY_MS))


def retrying() -> History:
    return history(tool(retry=THRICE))


def blocked() -> History:
    """A repeat replaced the execute, which then reported success."""
    return keyed().grant("execute").lease_over().grant("repeat").succeeded(1)


def refused() -> History:
    return plain().grant("execute").not_executed()


def chain() -> History:
    return history(tool("first"), tool("second"))


def grant(mode: str, number: int) -> Grant:
    return Grant(at=0, number=number, mode=Mode(mode))


def said(verdict: Verdict) -> str:
    """Return the verdict in a word, or a mode, or a reason."""
    match verdict:
        case Grant(mode=mode):
            return mode.value
        case Wait(reason=wait_reason):
            return wait_reason.value
        case Stop(reason=stop_reason):
            return stop_reason.value
        case Reuse():
            return "reuse"
        case Done():
            return "done"


def answered(past: History, worker: str = "bob") -> str:
    """Return what ``worker`` is told of the first operation."""
    return said(past.begin(worker, operation=past.name(None)))


def row(sentence: str, past: Callable[[], History], expected: str, worker: str = "bob") -> object:
    return pytest.param(past, worker, expected, id=sentence.replace(" ", "-"))


@pytest.mark.parametrize(
    ("past", "worker", "expected"),
    [
        # Row 3: it has succeeded.
        row("a success is reused", lambda: plain().grant("execute").succeeded(), "reuse"),
        row(
            "a success is reused while paused",
            lambda: chain().grant("execute").succeeded().paused(),
            "reuse",
        ),
        row(
            "a success is reused with clocks apart",
            lambda: chain().grant("execute").succeeded().clocks_apart(60_000),
            "reuse",
        ),
        row(
            "a success is reused after the workflow was abandoned",
            lambda: chain().grant("execute").succeeded().abandoned(),
            "reuse",
        ),
        row(
            "a success is reused with every revision used",
            lambda: chain().grant("execute").succeeded().revisions_used(2_000),
            "reuse",
        ),
        row(
            "a success found by a query is reused",
            lambda: asking().grant("execute").lease_over().grant("query").succeeded(),
            "reuse",
        ),
        row(
            "a success attested by a person is reused",
            lambda: plain().grant("execute").lease_over().attested(Outcome.SUCCEEDED),
            "reuse",
        ),
        row(
            "a success reported years later is reused",
            lambda: plain().grant("execute").later(700 * DAY_MS).succeeded(),
            "reuse",
        ),
        # Row 4: it was given up.
        row("what was abandoned stops", lambda: plain().abandoned("send"), "abandoned"),
        row("all of an abandoned workflow stops", lambda: plain().abandoned(), "abandoned"),
        row(
            "what was uncertain and abandoned stops",
            lambda: asking().grant("execute").lease_over().abandoned("send"),
            "abandoned",
        ),
        # Row 5: a success is evidence, or the tool said no for the last time.
        row("a success kept as evidence stops all", blocked, "needs_decision"),
        row(
            "a success kept as evidence stops all after the newer attempt said no",
            lambda: blocked().not_executed(2),
            "needs_decision",
        ),
        row(
            "a success kept as evidence stops all after the newer attempt was released",
            lambda: blocked().released(2),
            "needs_decision",
        ),
        row(
            "a success kept as evidence stops all once the newer lease is over",
            lambda: blocked().lease_over(),
            "needs_decision",
        ),
        row(
            "a success after an attestation of not executed stops all",
            lambda: plain().grant("execute").landed().attested(Outcome.NOT_EXECUTED).succeeded(),
            "needs_decision",
        ),
        row("a tool without retry that said no stops", refused, "not_executed"),
        row(
            "a tool that said no as often as its retry permits stops",
            lambda: (
                retrying()
                .grant("execute")
                .not_executed()
                .later(1_000)
                .grant("execute")
                .not_executed()
                .later(2_000)
                .grant("execute")
                .not_executed()
                .later(DAY_MS)
            ),
            "not_executed",
        ),
        # Row 6: nobody lets it run.
        row("a draft stops", lambda: History(tool()), "not_enabled"),
        row("a paused workflow stops", lambda: plain().paused(), "paused"),
        row("what was paused runs once enabled", lambda: plain().paused().enabled(), "execute"),
        # Row 7: nobody knows what time it is.
        row("clocks 5 s apart still grant", lambda: plain().clocks_apart(5_000), "execute"),
        row("clocks 5,001 ms apart stop", lambda: plain().clocks_apart(5_001), "clock_unsafe"),
        row("a host 5,001 ms behind stops", lambda: plain().clocks_apart(-5_001), "clock_unsafe"),
        row(
            "a store 5 s behind what licensed before still grants",
            lambda: plain().at(10_000).grant("execute").released().at(5_000),
            "execute",
        ),
        row(
            "a store 5,001 ms behind what licensed before stops",
            lambda: plain().at(10_000).grant("execute").released().at(4_999),
            "clock_unsafe",
        ),
        # Rows 9 and 10: somebody holds it.
        row(
            "the holder that asks again is given the same grant",
            lambda: plain().grant("execute", to="bob").later(LEASE_MS - 1),
            "execute",
        ),
        row(
            "the holder waits too once its own lease is over",
            lambda: plain().grant("execute", to="bob").later(LEASE_MS),
            "attempt_in_progress",
        ),
        row(
            "another waits while a lease is live",
            lambda: plain().grant("execute"),
            "attempt_in_progress",
        ),
        row(
            "another waits in the last ms of the margin after a lease",
            lambda: asking().grant("execute").later(LEASE_MS + MARGIN_MS - 1),
            "attempt_in_progress",
        ),
        row(
            "another takes over when the margin after a lease is over",
            lambda: asking().grant("execute").later(LEASE_MS + MARGIN_MS),
            "query",
        ),
        row(
            "another waits for a lease that was renewed",
            lambda: asking().grant("execute").later(1_000).renewed().at(LEASE_MS + MARGIN_MS + 999),
            "attempt_in_progress",
        ),
        row(
            "another takes over when a renewed lease is over",
            lambda: (
                asking().grant("execute").later(1_000).renewed().at(LEASE_MS + MARGIN_MS + 1_000)
            ),
            "query",
        ),
        row(
            "a released attempt is nobody's at once",
            lambda: plain().grant("execute").released(),
            "execute",
        ),
        # Row 14: it may be executed.
        row("what was never granted is executed", plain, "execute"),
        row(
            "what was released is executed without using a retry",
            lambda: plain().grant("execute").released().grant("execute").released(),
            "execute",
        ),
        row(
            "what said no waits in the last ms of its backoff",
            lambda: retrying().grant("execute").not_executed().later(999),
            "backing_off",
        ),
        row(
            "what said no is executed when its backoff is over",
            lambda: retrying().grant("execute").not_executed().later(1_000),
            "execute",
        ),
        row(
            "the second backoff is twice as long",
            lambda: (
                retrying()
                .grant("execute")
                .not_executed()
                .later(1_000)
                .grant("execute")
                .not_executed()
                .later(1_999)
            ),
            "backing_off",
        ),
        row(
            "the second backoff ends",
            lambda: (
                retrying()
                .grant("execute")
                .not_executed()
                .later(1_000)
                .grant("execute")
                .not_executed()
                .later(2_000)
            ),
            "execute",
        ),
        row(
            "a person's not executed waits for no backoff and uses no retry",
            lambda: refused().landed().attested(Outcome.NOT_EXECUTED),
            "execute",
        ),
        row(
            "a conclusive absent is executed at once by a tool without retry",
            lambda: asking().grant("execute").landed().grant("query").absent(),
            "execute",
        ),
        # Row 15: it can be looked up.
        row(
            "an uncertain effect is looked up",
            lambda: asking().grant("execute").unknown(),
            "query",
        ),
        row(
            "a query that died is asked again",
            lambda: asking().grant("execute").lease_over().grant("query").lease_over(),
            "query",
        ),
        row(
            "a query that was released is asked again",
            lambda: asking().grant("execute").lease_over().grant("query").released(),
            "query",
        ),
        row(
            "a query that could not tell stops before its backoff ends",
            lambda: asking().grant("execute").lease_over().grant("query").unknown().later(999),
            "needs_decision",
        ),
        row(
            "a query that could not tell is asked again after its backoff",
            lambda: asking().grant("execute").lease_over().grant("query").unknown().later(1_000),
            "query",
        ),
        row(
            "the second query that could not tell backs off twice as long",
            lambda: (
                asking()
                .grant("execute")
                .lease_over()
                .grant("query")
                .unknown()
                .later(1_000)
                .grant("query")
                .unknown()
                .later(1_999)
            ),
            "needs_decision",
        ),
        row(
            "a repeat that is uncertain is looked up at once whatever was said before it",
            lambda: (
                both()
                .grant("execute")
                .lease_over()
                .grant("query")
                .unknown()
                .grant("repeat")
                .lease_over()
            ),
            "query",
        ),
        # Row 16: it is absent.
        row(
            "an absence that came too early waits",
            lambda: asking().grant("execute").lease_over().grant("query").absent(),
            "absence_uncertain",
        ),
        row(
            "an absence that came too early waits to the last ms",
            lambda: (
                asking().grant("execute").lease_over().grant("query").absent().at(LANDED_MS - 1)
            ),
            "absence_uncertain",
        ),
        row(
            "after an absence that came too early it is looked up again",
            lambda: asking().grant("execute").lease_over().grant("query").absent().at(LANDED_MS),
            "query",
        ),
        row(
            "an absence asked for 1 ms too early says nothing however late it is told",
            lambda: (
                asking()
                .grant("execute")
                .at(LANDED_MS - 1)
                .grant("query")
                .at(LANDED_MS + 60_000)
                .absent()
            ),
            "query",
        ),
        row(
            "an absence asked for at the first possible ms executes",
            lambda: asking().grant("execute").at(LANDED_MS).grant("query").absent(),
            "execute",
        ),
        row(
            "an absence is judged by the end of the renewed lease",
            lambda: (
                asking()
                .grant("execute")
                .later(1_000)
                .renewed()
                .at(LANDED_MS + 999)
                .grant("query")
                .absent()
            ),
            "absence_uncertain",
        ),
        row(
            "an absence after the renewed lease executes",
            lambda: (
                asking()
                .grant("execute")
                .later(1_000)
                .renewed()
                .at(LANDED_MS + 1_000)
                .grant("query")
                .absent()
            ),
            "execute",
        ),
        row(
            "an absence is judged by the latest lease of all not of the last",
            lambda: (
                both()
                .grant("execute")
                .lease_over()
                .grant("query")
                .unknown()
                .grant("repeat")
                .unknown()
                .grant("query")
                .absent()
            ),
            "absence_uncertain",
        ),
        # Row 17: its key lives.
        row(
            "an uncertain effect with a living key is repeated",
            lambda: keyed().grant("execute").at(KEY_TOO_OLD_MS - 1),
            "repeat",
        ),
        row(
            "an uncertain effect is not repeated once its key could die on the way",
            lambda: keyed().grant("execute").at(KEY_TOO_OLD_MS),
            "needs_decision",
        ),
        row(
            "the key's age counts from the first grant not from the last",
            lambda: (
                keyed()
                .grant("execute")
                .lease_over()
                .grant("repeat")
                .lease_over()
                .at(KEY_TOO_OLD_MS)
            ),
            "needs_decision",
        ),
        row(
            "a repeat whose lease ran out is repeated at once",
            lambda: keyed().grant("execute").lease_over().grant("repeat").lease_over(),
            "repeat",
        ),
        row(
            "a query that could not tell gives way to a repeat",
            lambda: both().grant("execute").lease_over().grant("query").unknown(),
            "repeat",
        ),
        row(
            "an execute that could not tell backs off before its repeat",
            lambda: keyed().grant("execute").unknown().later(999),
            "backing_off",
        ),
        row(
            "an execute that could not tell is repeated after its backoff",
            lambda: keyed().grant("execute").unknown().later(1_000),
            "repeat",
        ),
        row(
            "a second repeat backs off twice as long",
            lambda: (
                keyed()
                .grant("execute")
                .unknown()
                .later(1_000)
                .grant("repeat")
                .not_executed()
                .later(1_999)
            ),
            "backing_off",
        ),
        # Row 18: a person must look.
        row(
            "an uncertain effect of a plain tool stops",
            lambda: plain().grant("execute").lease_over(),
            "needs_decision",
        ),
        row(
            "an unknown receipt of a plain tool stops at once",
            lambda: plain().grant("execute").unknown(),
            "needs_decision",
        ),
    ],
)
def test_the_first_row_that_matches_answers(
    past: Callable[[], History], worker: str, expected: str
) -> None:
    assert answered(past(), worker) == expected


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


# What else a verdict says.


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


# The attempt limit.


def uncertain_with(attempts: int) -> History:
    """A tool that kills its worker each time it is asked."""
    past = asking().grant("execute").lease_over()
    for _ in range(attempts - 1):
        past.grant("query").lease_over()
    return past


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


# Who asks for what.


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


# Predecessors (row 8).


@pytest.mark.parametrize(
    ("past", "reason", "until_or_none"),
    [
        pytest.param(chain, "predecessor_running", True, id="one-that-could-run-is-waited-for"),
        pytest.param(
            lambda: chain().grant("execute"),
            "predecessor_running",
            True,
            id="one-that-runs-is-waited-for",
        ),
        pytest.param(
            lambda: chain().grant("execute").lease_over(),
            "predecessor_needs_decision",
            False,
            id="one-that-waits-for-a-person-stops",
        ),
        pytest.param(
            lambda: chain().grant("execute").not_executed(),
            "predecessor_needs_decision",
            False,
            id="one-that-said-no-for-good-stops",
        ),
        pytest.param(
            lambda: chain().abandoned("first"),
            "predecessor_stopped",
            False,
            id="one-that-was-given-up-stops-for-ever",
        ),
    ],
)
def test_a_predecessor_stands_in_the_way_by_name(
    past: Callable[[], History], reason: str, until_or_none: bool
) -> None:
    made = past()
    verdict = made.begin(operation="second")
    assert said(verdict) == reason
    assert isinstance(verdict, Wait | Stop)
    assert verdict.predecessor == 0
    if isinstance(verdict, Wait):
        assert verdict.until_ms > made.now_ms
    assert isinstance(verdict, Wait) is until_or_none


def test_a_predecessor_before_the_revision_limit() -> None:
    past = chain().grant("execute").revisions_used(2_000)
    assert said(past.begin("bob", operation="second")) == "predecessor_running"


def test_paused_and_clocks_before_a_predecessor() -> None:
    assert said(chain().paused().begin(operation="second")) == "paused"
    assert said(chain().clocks_apart(9_000).begin(operation="second")) == "clock_unsafe"


def test_the_operation_at_the_root_is_named_not_the_nearest() -> None:
    past = history(tool("first"), tool("second"), tool("third"), tool("fourth"))
    past.grant("execute").succeeded().grant("execute", operation="second").lease_over("second")
    verdict = past.begin(operation="fourth")
    assert said(verdict) == "predecessor_needs_decision"
    assert isinstance(verdict, Stop)
    assert verdict.predecessor == 1


def test_an_operation_that_was_given_up_stops_what_follows_at_any_distance() -> None:
    past = history(tool("first"), tool("second"), tool("third")).abandoned("second")
    verdict = past.begin(operation="third")
    assert said(verdict) == "predecessor_stopped"
    assert isinstance(verdict, Stop)
    assert verdict.predecessor == 1


def test_a_dependant_starts_once_all_that_it_waits_for_have_succeeded() -> None:
    past = history(
        tool("left", after=()), tool("right", after=()), tool("join", after=("left", "right"))
    )
    past.grant("execute", operation="left").succeeded()
    assert said(past.begin(operation="join")) == "predecessor_running"
    past.grant("execute", operation="right")
    past.report(Outcome.SUCCEEDED, operation="right")
    assert past.begin(operation="join") == Grant(at=2, number=1, mode=Mode.EXECUTE)


# The next that is ready.


def test_the_next_is_the_first_in_order_that_may_run() -> None:
    past = history(tool("first", after=()), tool("second", after=()))
    assert past.begin("ann") == Grant(at=0, number=1, mode=Mode.EXECUTE)
    assert past.begin("bob") == Grant(at=1, number=1, mode=Mode.EXECUTE)


def test_the_next_is_first_of_all_what_the_process_already_holds() -> None:
    past = history(tool("first", after=()), tool("second", after=()))
    past.grant("execute", operation="second", to="bob")
    assert past.begin("bob") == Grant(at=1, number=1, mode=Mode.EXECUTE)
    assert past.changes == ()


def test_where_none_may_run_the_nearest_wait_answers() -> None:
    late, early = tool("late", after=(), lease_ms=300_000), tool("early", after=(), lease_ms=60_000)
    past = history(late, early)
    past.grant("execute", to="ann").grant("execute", to="bob")
    verdict = past.begin("eve")
    assert verdict == Wait(
        at=1, reason=WaitReason.ATTEMPT_IN_PROGRESS, until_ms=START_MS + 60_000 + MARGIN_MS
    )


def test_a_wait_answers_before_a_stop() -> None:
    past = history(tool("stuck", after=()), tool("held", after=()))
    past.grant("execute", to="ann").unknown().grant("execute", to="bob")
    assert said(past.begin("eve")) == "attempt_in_progress"


def test_where_none_may_run_or_is_waited_for_the_first_stop_answers() -> None:
    past = history(tool("first", after=()), tool("second", after=()))
    past.grant("execute").unknown().grant("execute", operation="second")
    past.report(Outcome.NOT_EXECUTED, operation="second")
    verdict = past.begin()
    assert said(verdict) == "needs_decision"
    assert isinstance(verdict, Stop)
    assert verdict.at == 0


def test_a_workflow_is_done_when_all_have_succeeded_also_while_paused() -> None:
    past = chain().grant("execute").succeeded().grant("execute")
    past.report(Outcome.SUCCEEDED, operation="second")
    assert past.begin() == Done()


def test_a_workflow_whose_rest_waits_for_what_was_given_up_stops() -> None:
    assert said(chain().abandoned("first").begin()) == "abandoned"


def test_an_abandoned_workflow_stops_also_who_names_nothing() -> None:
    assert said(chain().grant("execute").succeeded().abandoned().begin()) == "abandoned"


# Stops that leave a mark.


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


# Advance: a receipt and the next question in one.


def test_a_receipt_and_the_next_question_are_decided_as_one_after_the_other() -> None:
    past = chain().grant("execute")
    past.report(Outcome.SUCCEEDED, then_begin=begin())
    assert isinstance(past.answer, Filed)
    assert past.answer.then == Grant(at=1, number=1, mode=Mode.EXECUTE)
    assert [type(event) for event in past.changes] == [events.Reported, events.Granted]
    last = past.operation("second").last
    assert last is not None
    assert last.lease_until_ms == START_MS + LEASE_MS


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


# Corners of the table.


def test_of_two_limits_that_are_reached_the_attempts_are_named() -> None:
    assert answered(uncertain_with(100).revisions_used(2_000)) == "attempt_limit"


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


def test_every_branch_is_followed_to_its_root() -> None:
    past = history(
        tool("left", after=()),
        tool("right", after=()),
        tool("join", after=("right", "left")),
        tool("last", after=("join",)),
    )
    past.grant("execute", operation="left").unknown()
    verdict = past.begin("bob", operation="last")
    assert said(verdict) == "predecessor_needs_decision"
    assert isinstance(verdict, Stop)
    assert verdict.predecessor == 0


def test_an_attempt_that_a_person_closed_is_not_waited_for_after_a_clock_went_back() -> None:
    past = history(tool(max_in_flight_ms=0)).grant("execute").landed()
    past.attested(Outcome.NOT_EXECUTED).later(-3_000)
    assert answered(past) == "execute"
