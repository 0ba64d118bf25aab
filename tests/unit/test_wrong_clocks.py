"""Clocks that are wrong, frozen or set: what the service grants, takes back and takes anyway."""

import pytest

from onceward.wire import limits
from onceward.wire.decisions import Decision, Execute, Query, Stop, StopReason, Wait
from onceward.wire.messages import Standing
from onceward.wire.problems import ConflictError, ProblemCode
from onceward.wire.receipts import Outcome
from onceward_controller.vault.store import RefusedError
from tests.support.ports import START_MS
from tests.support.services import Agent, Site, chain, cold_head
from tests.support.stores import FaultyStore

SECOND_MS = limits.SECOND_MS
ERROR_MS = limits.CLOCK_ERROR_MS
HOUR_MS = limits.HOUR_MS


@pytest.fixture
def site() -> Site:
    return Site()


def stopped_by_the_clock(decision: Decision) -> Stop:
    assert isinstance(decision, Stop), decision
    assert decision.reason is StopReason.CLOCK_UNSAFE
    return decision


@pytest.mark.parametrize("by_ms", [-ERROR_MS - 1, ERROR_MS + 1, -HOUR_MS, HOUR_MS])
def test_a_host_whose_clock_is_off_grants_nothing_and_shows_both_times(
    site: Site, by_ms: int
) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    site.clock.set_wall(by_ms)

    stop = stopped_by_the_clock(ann.ask(workflow))

    assert (stop.store_ms, stop.local_ms) == (START_MS, START_MS + by_ms)
    assert cold_head(site.open(), workflow).workflow.operation(0).attempts == ()


@pytest.mark.parametrize("by_ms", [-ERROR_MS, ERROR_MS])
def test_a_host_within_five_seconds_goes_on(site: Site, by_ms: int) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    site.clock.set_wall(by_ms)

    assert isinstance(ann.ask(workflow), Execute)


def test_correcting_the_clock_is_enough(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    site.clock.set_wall(HOUR_MS)
    stopped_by_the_clock(ann.ask(workflow))
    site.clock.set_wall(-HOUR_MS)

    assert isinstance(ann.ask(workflow), Execute)


def test_a_receipt_is_taken_while_the_clock_is_off_and_raises_no_mark(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    grant = ann.granted(workflow)
    site.clock.pass_ms(HOUR_MS)
    site.clock.set_wall(-HOUR_MS)

    done = ann.report(workflow, grant, Outcome.SUCCEEDED, then_begin=True)

    assert done.standing is Standing.ACCEPTED
    assert done.decision is not None
    stopped_by_the_clock(done.decision)
    assert cold_head(site.open(), workflow).workflow.progress.high_water_ms == START_MS


def test_a_pause_is_taken_while_the_clock_is_off(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    site.clock.set_wall(HOUR_MS)

    ann.pause(workflow)

    site.clock.set_wall(-HOUR_MS)
    stop = ann.ask(workflow)
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.PAUSED


def test_a_renewal_is_refused_while_the_clock_is_off(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    site.clock.pass_ms(SECOND_MS)
    site.clock.set_wall(HOUR_MS)

    with pytest.raises(ConflictError) as refusal:
        ann.renewed(workflow, grant)
    assert refusal.value.code is ProblemCode.CLOCK_UNSAFE


@pytest.mark.parametrize("frozen_ms", [10 * SECOND_MS, HOUR_MS])
def test_a_frozen_process_goes_on_after_two_requests_and_knows_what_it_missed(
    site: Site, frozen_ms: int
) -> None:
    # A snapshot of a virtual machine: boot time stood still, the world and its clocks went on.
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1, query=True))
    grant = ann.granted(workflow)
    assert isinstance(Agent(ann.service, "bob").ask(workflow), Wait)
    site.clock.set_wall(frozen_ms + grant.lease_ms)
    site.store_clock.set(frozen_ms + grant.lease_ms)
    bob = Agent(ann.service, "bob")

    stopped_by_the_clock(bob.ask(workflow))
    following = bob.ask(workflow)

    assert isinstance(following, Query)
    assert following.now_ms == START_MS + frozen_ms + grant.lease_ms


def test_a_frozen_process_does_not_renew_a_lease_that_ran_out_meanwhile(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    site.clock.set_wall(HOUR_MS)
    site.store_clock.set(HOUR_MS)

    for _ in range(3):
        with pytest.raises(ConflictError):
            ann.renewed(workflow, grant)


def test_a_process_whose_clocks_were_all_frozen_is_told_by_the_write_itself(site: Site) -> None:
    # Both clocks of the host stood still, so that nothing warns before the grant is written: its
    # lease would be over for everybody else while its holder counts on it.
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2, query=True))
    site.store_clock.set(HOUR_MS)

    stop = stopped_by_the_clock(ann.ask(workflow))

    assert (stop.store_ms, stop.local_ms) == (START_MS + HOUR_MS, START_MS)
    # It was never called, and the log says so: nobody has to look for it, or to decide.
    site.clock.set_wall(HOUR_MS)
    assert isinstance(Agent(site.open(), "bob").ask(workflow), Execute)


def test_an_answer_that_writes_nothing_rests_on_no_frozen_time_either(site: Site) -> None:
    ann, bob = Agent(site.open()), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    assert isinstance(bob.ask(workflow), Wait)
    site.store_clock.set(HOUR_MS)

    # Nobody waits for a lease that is over, and its holder is not told that it is live.
    stopped_by_the_clock(bob.ask(workflow))
    stopped_by_the_clock(ann.ask(workflow))
    with pytest.raises(ConflictError):
        ann.renewed(workflow, grant)


def test_a_grant_that_cannot_be_taken_back_is_told_to_nobody_all_the_same(site: Site) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(1))
    site.store_clock.set(HOUR_MS)
    faulty.fail("create", RefusedError("no"), after_effect=False, calls_before=1)

    stopped_by_the_clock(ann.ask(workflow))

    # What nobody heard of counts as a call that may have been made: a person must look.
    site.clock.set_wall(HOUR_MS)
    stop = Agent(site.open(), "bob").ask(workflow)
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.NEEDS_DECISION


def test_a_receipt_of_a_frozen_process_is_filed_though_what_it_asks_for_is_not_granted(
    site: Site,
) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    grant = ann.granted(workflow)
    site.store_clock.set(HOUR_MS)

    done = ann.report(workflow, grant, Outcome.SUCCEEDED, then_begin=True)

    assert done.standing is Standing.ACCEPTED
    assert done.decision is not None
    assert stopped_by_the_clock(done.decision).operation == "op-1"
    assert cold_head(site.open(), workflow).workflow.has_succeeded(0)


def test_a_renewal_of_a_frozen_process_is_refused_by_the_write_itself(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    site.clock.pass_ms(SECOND_MS)
    site.store_clock.set(HOUR_MS)

    with pytest.raises(ConflictError) as refusal:
        ann.renewed(workflow, grant)
    assert refusal.value.code is ProblemCode.CLOCK_UNSAFE


def test_a_suspended_host_grants_at_once_when_it_wakes(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    site.clock.pass_ms(limits.DAY_MS)

    assert isinstance(ann.ask(workflow), Execute)


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS], ids=["back", "forward"])
def test_what_was_cached_before_a_step_of_the_store_is_dropped(site: Site, by_ms: int) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    assert ann.service.workflows._heads.get(workflow) is not None
    site.store_clock.set(by_ms)
    ann.workflows("elsewhere")  # type: ignore[arg-type]  # any answer of the store will do

    assert ann.service.workflows._heads.get(workflow) is None


def test_a_store_that_steps_grants_nothing_until_it_agrees_with_the_host_again(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    site.store_clock.set(HOUR_MS)
    ann.workflow(workflow)
    for _ in range(3):
        stop = stopped_by_the_clock(ann.ask(workflow))
    assert (stop.store_ms, stop.local_ms) == (START_MS + HOUR_MS, START_MS)
    site.store_clock.set(-HOUR_MS)
    ann.workflow(workflow)
    ann.workflow(workflow)

    assert isinstance(ann.ask(workflow), Execute)


@pytest.mark.parametrize("behind_ms", [0, ERROR_MS], ids=["agrees", "within-error"])
def test_a_replica_a_little_behind_the_log_grants_at_the_logs_time(
    site: Site, behind_ms: int
) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    ann.succeed(workflow, ann.granted(workflow))
    site.store_clock.set(-behind_ms)
    site.clock.set_wall(-behind_ms)
    bob = Agent(site.open(), "bob")

    grant = bob.granted(workflow)

    assert grant.lease_until_ms == START_MS + grant.lease_ms


def test_a_replica_far_behind_the_log_grants_nothing_though_its_clocks_agree(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    ann.succeed(workflow, ann.granted(workflow))
    site.store_clock.set(-ERROR_MS - 1)
    site.clock.set_wall(-ERROR_MS - 1)
    bob = Agent(site.open(), "bob")

    stopped_by_the_clock(bob.ask(workflow))

    site.clock.pass_ms(1)
    assert isinstance(bob.ask(workflow), Execute)


def test_a_workflow_of_a_later_time_stops_alone(site: Site) -> None:
    ann = Agent(site.open())
    early, late = ann.create("early", chain(1)), ann.create("late", chain(2))
    site.clock.pass_ms(HOUR_MS)
    ann.succeed(late, ann.granted(late))
    site.store_clock.set(-HOUR_MS)
    site.clock.set_wall(-HOUR_MS)
    bob = Agent(site.open(), "bob")

    stopped_by_the_clock(bob.ask(late))
    assert isinstance(bob.ask(early), Execute)


def test_a_takeover_waits_five_seconds_beyond_the_lease(site: Site) -> None:
    ann, bob = Agent(site.open()), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(1, query=True))
    grant = ann.granted(workflow)
    site.clock.pass_ms(grant.lease_ms + ERROR_MS - 1)
    wait = bob.ask(workflow)
    assert isinstance(wait, Wait)
    assert wait.retry_after_ms == 1
    site.clock.pass_ms(1)

    assert isinstance(bob.ask(workflow), Query)
