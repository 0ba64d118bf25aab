"""In which drawer of a listing a workflow lies."""

from collections.abc import Callable

import msgspec
import pytest

from onceward.wire import limits
from onceward.wire.definitions import Retry
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.rows import REFRESH_MS, has_moved, row
from tests.support.protocol import LEASE_MS, MARGIN_MS, START_MS, History, history, tool


def asked(past: History) -> History:
    """Somebody asks, and is told whatever there is to tell."""
    past.begin("eve")
    return past


def two() -> History:
    return history(tool("first"), tool("second"))


@pytest.mark.parametrize(
    ("past", "drawer", "note"),
    [
        pytest.param(lambda: History(tool()), "draft", "", id="nobody-enabled-it"),
        pytest.param(lambda: two().paused(), "paused", "", id="a-person-stopped-it"),
        pytest.param(lambda: two().grant("execute").paused(), "paused", "", id="stopped-as-it-ran"),
        pytest.param(two, "ready", "", id="it-can-run"),
        pytest.param(lambda: two().grant("execute"), "active", "", id="it-runs"),
        pytest.param(
            lambda: two().grant("execute").lease_over(), "active", "", id="it-died-in-silence"
        ),
        pytest.param(
            lambda: asked(two().grant("execute").lease_over()),
            "attention",
            "first",
            id="it-died-and-somebody-asked",
        ),
        pytest.param(
            lambda: two().grant("execute").not_executed(), "attention", "first", id="it-failed"
        ),
        pytest.param(
            lambda: (
                history(tool(idempotency_ms=limits.HOUR_MS))
                .grant("execute")
                .lease_over()
                .grant("repeat")
                .succeeded(1)
            ),
            "attention",
            "send",
            id="it-is-blocked",
        ),
        pytest.param(
            lambda: two().grant("execute").not_executed().paused(),
            "attention",
            "first",
            id="it-failed-and-is-paused",
        ),
        pytest.param(
            lambda: history(tool(query=True)).grant("execute").unknown(),
            "ready",
            "",
            id="it-can-be-looked-up",
        ),
        pytest.param(
            lambda: two().grant("execute").succeeded(), "ready", "", id="the-next-can-run"
        ),
        pytest.param(
            lambda: history(tool()).grant("execute").succeeded(), "done", "", id="all-is-done"
        ),
        pytest.param(lambda: two().abandoned(), "done", "", id="it-was-given-up"),
        pytest.param(
            lambda: two().grant("execute").landed().attested(Outcome.NOT_EXECUTED),
            "ready",
            "",
            id="a-person-let-it-run-again",
        ),
    ],
)
def test_a_workflow_lies_where_it_should_be_looked_for(
    past: Callable[[], History], drawer: str, note: str
) -> None:
    made = past()
    line = row(made.workflow, now_ms=made.now_ms)
    assert (line.row_class, line.note) == (drawer, note)


@pytest.mark.parametrize(
    "past",
    [
        lambda: history(tool()).abandoned("send"),
        lambda: two().abandoned("first"),
    ],
    ids=["all-was-given-up-one-by-one", "all-the-rest-waits-for-what-was-given-up"],
)
def test_what_nobody_can_ever_run_is_not_offered_as_ready(past: Callable[[], History]) -> None:
    assert row(past().workflow, now_ms=START_MS).row_class != "ready"


def test_what_backs_off_waits_until_it_may_run() -> None:
    past = history(tool(retry=Retry(attempts=2, first_ms=60_000))).grant("execute").not_executed()
    line = row(past.workflow, now_ms=past.now_ms)
    assert (line.row_class, line.at_ms) == ("waiting", START_MS + 60_000)


def test_an_active_line_is_looked_at_again_when_another_may_take_over() -> None:
    past = history(tool("late", after=(), lease_ms=300_000), tool("early", after=()))
    past.grant("execute", operation="late").grant("execute", operation="early")
    line = row(past.workflow, now_ms=past.now_ms)
    assert line.at_ms == START_MS + LEASE_MS + MARGIN_MS


def test_a_line_says_how_far_it_came_and_at_which_revision() -> None:
    past = two().grant("execute").succeeded()
    line = row(past.workflow, now_ms=START_MS + 5)
    assert (line.succeeded, line.status, line.at_ms) == (1, "enabled", START_MS + 5)
    assert line.revision == past.workflow.revision


def test_a_line_is_written_anew_when_it_moves_or_another_operation_matters() -> None:
    past = two()
    ready = row(past.workflow, now_ms=past.now_ms)
    active = row(past.grant("execute").workflow, now_ms=past.now_ms)
    renewed = row(past.later(1_000).renewed().workflow, now_ms=past.now_ms)
    assert has_moved(ready, active)
    assert not has_moved(active, renewed)


def test_a_line_is_written_anew_when_a_person_must_decide_on_another_operation() -> None:
    past = history(tool("first", after=()), tool("second", after=()))
    past.grant("execute", operation="first").grant("execute", operation="second")
    past.not_executed(operation="second")
    second = row(past.workflow, now_ms=past.now_ms)
    past.not_executed(operation="first")
    first = row(past.workflow, now_ms=past.now_ms)
    assert (second.note, first.note) == ("second", "first")
    assert has_moved(second, first)


@pytest.mark.parametrize(
    ("later_ms", "written"),
    [(-1, True), (0, False), (REFRESH_MS - 1, False), (REFRESH_MS, True)],
)
def test_a_line_of_what_runs_is_written_anew_when_its_check_comes_earlier_or_much_later(
    later_ms: int, written: bool
) -> None:
    active = row(two().grant("execute").workflow, now_ms=START_MS)
    moved = msgspec.structs.replace(active, at_ms=active.at_ms + later_ms)
    assert has_moved(active, moved) is written
