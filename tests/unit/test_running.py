"""A call is settled once: answered, given up, or never made."""

from collections.abc import Callable

import pytest

from onceward.answers import NotCalled, Returned, Settled, TimedOut
from onceward.loops import RunningTask
from onceward.running import Running
from tests.support.calls import a_call, held

ANSWER = Returned("answer")


@pytest.fixture(params=[Running, RunningTask])
def running(request: pytest.FixtureRequest) -> Running:
    """A call; one that is waited for fails when its answer is announced twice."""
    kind: type[Running] = request.param
    return kind(held(), a_call(), None, look_ms=0, ends_ms=0)


def begin(running: Running) -> object:
    return running.begin(lambda: True)


def refuse(running: Running) -> object:
    return running.begin(lambda: False)


def settle(running: Running) -> object:
    return running.settle(ANSWER)


def give_up(running: Running) -> object:
    return running.give_up()


def abandon(running: Running) -> object:
    running.abandon()
    return None


@pytest.mark.parametrize(
    ("steps", "said", "answer", "is_told"),
    [
        pytest.param([begin, settle], True, ANSWER, False, id="answered"),
        pytest.param([begin, settle, give_up], False, ANSWER, False, id="answered-before"),
        pytest.param([begin, give_up, settle], False, TimedOut(), True, id="answer-is-late"),
        pytest.param([begin, abandon], None, None, True, id="abandoned-goes-on"),
        pytest.param([begin, abandon, settle], True, ANSWER, True, id="abandoned-answers"),
        pytest.param([refuse], False, NotCalled(), False, id="not-in-time"),
        pytest.param([give_up], False, NotCalled(), True, id="given-up-before-its-turn"),
        pytest.param([give_up, begin], False, NotCalled(), True, id="turn-comes-too-late"),
        pytest.param([abandon, begin], False, NotCalled(), True, id="caller-gone-before-its-turn"),
    ],
)
def test_whoever_comes_first_settles(
    running: Running,
    steps: list[Callable[[Running], object]],
    said: object,
    answer: Settled | None,
    is_told: bool,
) -> None:
    *before, last = steps
    for step in before:
        step(running)

    assert last(running) == said
    assert running.answer == answer
    assert running.call.cancelled.is_set() == is_told


@pytest.mark.parametrize(("kind", "is_left"), [(Running, True), (RunningTask, False)])
def test_only_a_tool_that_holds_the_errands_thread_leaves_it_behind(
    kind: type[Running], is_left: bool
) -> None:
    running = kind(held(), a_call(), None, look_ms=0, ends_ms=0)
    begin(running)

    assert running.give_up() == is_left
    assert running.answer == TimedOut()
    assert running.call.cancelled.is_set()
