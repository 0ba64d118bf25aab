"""What stands before an operation, by name: row 8 of the decision table."""

from collections.abc import Callable

import pytest

from onceward.wire.decisions import Mode
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.answers import Grant, Stop, Wait
from tests.support.protocol import (
    History,
    history,
    tool,
)
from tests.support.situations import (
    chain,
    said,
)


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
