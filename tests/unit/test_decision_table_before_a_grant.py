"""The decision table, rows 3 to 10: what is answered without a new attempt.

At both sides of every boundary. What outranks what is in ``test_decision_table_order``.
"""

from collections.abc import Callable

import pytest

from onceward.wire.receipts import Outcome
from tests.support.protocol import (
    DAY_MS,
    LEASE_MS,
    MARGIN_MS,
    History,
    tool,
)
from tests.support.situations import (
    answered,
    asking,
    blocked,
    chain,
    plain,
    refused,
    retrying,
    row,
)


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
    ],
)
def test_the_first_row_that_matches_answers(
    past: Callable[[], History], worker: str, expected: str
) -> None:
    assert answered(past(), worker) == expected
