"""What a state asks of a person, in a sentence."""

from collections.abc import Callable

import pytest

from onceward.wire import messages
from onceward.wire.decisions import StopReason, WaitReason
from onceward.wire.identifiers import WorkflowId
from onceward.wire.receipts import Outcome
from onceward_controller.cli.host.examination import clock_finding
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.terminal import words
from onceward_controller.cli.workflows import choices
from tests.support.services import DOCS, Agent, Site, chain


def draft(agent: Agent) -> WorkflowId:
    body = messages.CreateWorkflow(key="k", operations=chain(2))
    return agent.create_workflow(DOCS, body).id


def enabled(agent: Agent) -> WorkflowId:
    return agent.create("k", chain(2))


def paused(agent: Agent) -> WorkflowId:
    workflow = enabled(agent)
    agent.pause(workflow)
    return workflow


def running(agent: Agent) -> WorkflowId:
    workflow = enabled(agent)
    agent.granted(workflow)
    return workflow


def paused_while_running(agent: Agent) -> WorkflowId:
    workflow = running(agent)
    agent.pause(workflow)
    return workflow


def done(agent: Agent) -> WorkflowId:
    workflow = enabled(agent)
    agent.run_all(workflow)
    return workflow


def unknown(agent: Agent) -> WorkflowId:
    workflow = enabled(agent)
    agent.report(workflow, agent.granted(workflow), Outcome.UNKNOWN)
    return workflow


def refused(agent: Agent) -> WorkflowId:
    workflow = enabled(agent)
    agent.report(workflow, agent.granted(workflow), Outcome.NOT_EXECUTED)
    return workflow


def given_up(agent: Agent) -> WorkflowId:
    workflow = enabled(agent)
    agent.give_up(workflow, revision=2)
    return workflow


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (draft, "Draft: nothing runs until somebody has reviewed and enabled it."),
        (enabled, "Ready: `op-0` goes on as soon as a worker asks. Is one running?"),
        (paused, "Paused: nothing starts until somebody enables it."),
        (running, "Running: `op-0`. Nothing to do for you."),
        (
            paused_while_running,
            (
                "Paused: nothing starts until somebody enables it."
                " Running attempts may still report: `op-0`."
            ),
        ),
        (done, "Done: all 2 operations succeeded."),
        (unknown, "NEEDS YOU: `op-0` stopped, and only your decision lets it go on."),
        (refused, "NEEDS YOU: `op-0` stopped, and only your decision lets it go on."),
        (given_up, "Abandoned: nothing of it runs again. What was recorded stays."),
    ],
)
def test_a_state_says_what_it_asks_of_whom(
    make: Callable[[Agent], WorkflowId], sentence: str
) -> None:
    agent = Agent(Site().open())
    assert words.sentence(agent.workflow(make(agent))) == sentence


def test_clocks_that_disagree_are_said_before_anything_waits_for_a_worker() -> None:
    site = Site()
    agent = Agent(site.open())
    workflow = enabled(agent)
    site.clock.set_wall(60_000)
    assert words.sentence(agent.workflow(workflow)).startswith("STOPPED: the clocks disagree")


@pytest.mark.parametrize("answer", [*StopReason, *WaitReason])
def test_every_answer_that_a_worker_may_get_has_its_words(answer: str) -> None:
    assert answer in words.NEXT


def test_every_drawer_of_a_listing_is_counted() -> None:
    assert set(words.CLASSES) == set(messages.RowClass)


def test_saying_no_too_early_is_told_beforehand_with_the_controllers_own_time() -> None:
    site = Site()
    agent = Agent(site.open())
    workflow = unknown(agent)
    view = agent.workflow(workflow)
    [operation, _] = view.operations
    allowed_ms = choices.landed_by_ms(operation)
    site.clock.pass_ms(allowed_ms - site.clock.wall_ms() - 1)
    early = choices.of(view, operation, Invocation(), now_ms=site.clock.wall_ms())[1]
    assert "Refused until 2027-01-15 08:0" in early.consequence
    site.clock.pass_ms(1)
    timely = choices.of(view, operation, Invocation(), now_ms=site.clock.wall_ms())[1]
    assert "Refused" not in timely.consequence
    agent.attest(workflow, "op-0", Outcome.NOT_EXECUTED, revision=view.revision)


def test_saying_no_to_an_attempt_that_said_yes_is_told_as_such() -> None:
    site = Site()
    ann, bob = Agent(site.open(), "ann"), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1, idempotency_ms=86_400_000))
    late = ann.granted(workflow)
    site.clock.pass_ms(130_000)
    bob.granted(workflow)
    ann.succeed(workflow, late)
    site.clock.pass_ms(130_000)
    view = ann.workflow(workflow)
    [operation] = words.needs_decision(view)
    no = choices.of(view, operation, Invocation(), now_ms=site.clock.wall_ms())[1]
    assert no.consequence.startswith("An attempt SAID THAT IT DID. Attempt 3 may start.")


@pytest.mark.parametrize(
    ("apart_ms", "ok", "seen"),
    [
        (0, True, "store and host 0 ms apart"),
        (5_000, True, "store and host 5 s apart"),
        (5_001, False, "this host is 5 s behind the store"),
        (-600_000, False, "this host is 10 min ahead of the store"),
    ],
)
def test_a_clock_is_well_as_long_as_leases_can_bear_it(apart_ms: int, ok: bool, seen: str) -> None:
    found = clock_finding(1_000_000 + apart_ms, 1_000_000)
    assert (found.ok, found.seen, bool(found.fix)) == (ok, seen, not ok)
