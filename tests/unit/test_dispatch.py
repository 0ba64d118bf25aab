"""The next operation that is ready, and what a workflow answers in which none is."""

from onceward.wire.decisions import Mode, WaitReason
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.answers import Done, Grant, Stop, Wait
from tests.support.protocol import (
    MARGIN_MS,
    START_MS,
    history,
    tool,
)
from tests.support.situations import (
    chain,
    said,
)


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
