"""The decision table, rows 14 to 18: execute, look up, execute again, repeat, or stop.

At both sides of every boundary.
"""

from collections.abc import Callable

import pytest

from onceward.wire.receipts import Outcome
from tests.support.protocol import (
    History,
)
from tests.support.situations import (
    KEY_TOO_OLD_MS,
    LANDED_MS,
    answered,
    asking,
    both,
    keyed,
    plain,
    refused,
    retrying,
    row,
)


@pytest.mark.parametrize(
    ("past", "worker", "expected"),
    [
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
