"""Situations in which an operation is asked about, and the answer in a word.

    row("a sentence", lambda: plain().grant("execute").unknown(), "needs_decision")

For tests of the decision table, which reads as one where the situations have names.
"""

from collections.abc import Callable

import pytest

from onceward.wire import limits
from onceward.wire.decisions import Mode
from onceward.wire.definitions import Retry
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.answers import Done, Grant, Reuse, Stop, Verdict, Wait
from tests.support.protocol import (
    IN_FLIGHT_MS,
    LEASE_MS,
    MARGIN_MS,
    History,
    history,
    tool,
)

LANDED_MS = LEASE_MS + IN_FLIGHT_MS + MARGIN_MS
"""When the call of an attempt granted at the start has landed, lease not renewed."""

KEY_MS = 10 * limits.MINUTE_MS
"""How long the destination remembers a key here."""

KEY_TOO_OLD_MS = KEY_MS - LEASE_MS - IN_FLIGHT_MS - limits.REPEAT_MARGIN_MS
"""From when on a repeat could land after the destination forgot the key granted at the start."""

TAKEOVER_MS = LEASE_MS + MARGIN_MS
"""From when on another may take over an attempt granted at the start."""

OUTCOMES = pytest.mark.parametrize("outcome", Outcome)
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


def replaced() -> History:
    """An execute whose place a repeat has taken."""
    return keyed().grant("execute").lease_over().grant("repeat", to="bob")


def done() -> History:
    return plain().grant("execute").succeeded()


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


def uncertain_with(attempts: int) -> History:
    """A tool that kills its worker each time it is asked."""
    past = asking().grant("execute").lease_over()
    for _ in range(attempts - 1):
        past.grant("query").lease_over()
    return past
