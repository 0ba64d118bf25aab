"""Trusted time: the store's clock against the host's boot time, alone and through the service."""

import pytest

from onceward.wire import limits
from onceward.wire.decisions import Decision, Execute, Query, Stop, StopReason, Wait
from onceward.wire.messages import Standing
from onceward.wire.problems import ConflictError, ProblemCode
from onceward.wire.receipts import Outcome
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import RefusedError
from onceward_controller.vault.trusted_time import DRIFT_PER_MILLION, TimedStore, TrustedTime
from tests.support.ports import START_MS, ManualClock, StoreClock
from tests.support.services import Agent, Site, chain, cold_head
from tests.support.stores import FaultyStore

SECOND_MS = limits.SECOND_MS
ERROR_MS = limits.CLOCK_ERROR_MS
HOUR_MS = limits.HOUR_MS


class Pair:
    """A host, a store's clock, and what the host concludes from the store's answers."""

    def __init__(self, *, resolution_ms: int = 1) -> None:
        self.host = ManualClock()
        self.there = StoreClock(self.host, resolution_ms=resolution_ms)
        self.time = TrustedTime(self.host)

    def answer(self) -> None:
        """Let the store answer something."""
        self.time.saw(self.there.wall_ms())

    @property
    def is_anchored(self) -> bool:
        return self.time.read().anchored


@pytest.fixture
def pair() -> Pair:
    return Pair()


# ------------------------------------------------------------------------------------- the anchor


def test_before_the_first_answer_nothing_is_safe(pair: Pair) -> None:
    reading = pair.time.read()

    assert not reading.is_safe
    assert reading.store_ms == reading.local_ms == START_MS


def test_the_first_answer_of_all_is_an_anchor(pair: Pair) -> None:
    pair.answer()

    assert pair.time.read().is_safe
    assert pair.time.steps == 0


def test_trusted_time_is_the_stores_carried_on_by_boot_time(pair: Pair) -> None:
    pair.there.set(3 * SECOND_MS)
    pair.answer()
    pair.host.pass_ms(HOUR_MS)
    pair.host.set_wall(-2 * SECOND_MS)

    reading = pair.time.read()

    assert reading.store_ms == START_MS + 3 * SECOND_MS + HOUR_MS
    assert reading.local_ms == START_MS + HOUR_MS - 2 * SECOND_MS
    assert reading.is_safe


@pytest.mark.parametrize("gap_ms", [0, HOUR_MS, 30 * limits.DAY_MS])
@pytest.mark.parametrize("direction", [-1, 1], ids=["back", "forward"])
@pytest.mark.parametrize("beyond_ms", [0, 1], ids=["allowed", "too-far"])
def test_store_and_boot_time_may_part_by_five_seconds_and_the_drift_of_a_quartz(
    pair: Pair, gap_ms: int, direction: int, beyond_ms: int
) -> None:
    allowed_ms = ERROR_MS + gap_ms * DRIFT_PER_MILLION // 1_000_000
    pair.answer()
    pair.host.pass_ms(gap_ms)
    pair.there.set(direction * (allowed_ms + beyond_ms))
    pair.answer()

    assert pair.time.steps == beyond_ms
    assert pair.is_anchored is (beyond_ms == 0)


def test_an_idle_month_and_a_suspend_are_no_step(pair: Pair) -> None:
    pair.answer()
    pair.host.pass_ms(31 * limits.DAY_MS)
    assert pair.time.read().is_safe
    pair.answer()

    assert pair.time.read().is_safe
    assert pair.time.steps == 0


def test_an_honest_drift_is_followed_for_ever(pair: Pair) -> None:
    pair.answer()
    for _ in range(500):
        pair.host.pass_ms(HOUR_MS)
        pair.there.set(700)  # 194 parts in a million
        pair.answer()

    assert pair.time.steps == 0
    assert pair.time.read().store_ms == pair.there.wall_ms()
    # The host's own clock, which nobody sets, is too far off by then.
    assert not pair.time.read().is_safe


@pytest.mark.parametrize("step_ms", [-HOUR_MS, HOUR_MS], ids=["back", "forward"])
def test_a_step_is_believed_again_on_two_answers_that_agree(pair: Pair, step_ms: int) -> None:
    pair.answer()
    pair.there.set(step_ms)

    pair.answer()
    assert not pair.is_anchored
    pair.answer()

    assert pair.is_anchored
    assert pair.time.steps == 1
    assert pair.time.read().store_ms == START_MS + step_ms
    # Anchored, and still far from the host's own clock.
    assert not pair.time.read().is_safe


def test_answers_that_disagree_with_each_other_anchor_nothing(pair: Pair) -> None:
    pair.answer()
    for _ in range(5):
        pair.there.set(HOUR_MS)
        pair.answer()
        assert not pair.is_anchored

    pair.answer()
    assert pair.is_anchored
    # From the first disagreement on nothing was believed that could step again.
    assert pair.time.steps == 1


def test_a_single_wild_answer_costs_the_anchor_and_no_more(pair: Pair) -> None:
    pair.answer()
    pair.there.set(HOUR_MS)
    pair.answer()
    pair.there.set(-HOUR_MS)
    pair.answer()
    assert not pair.is_anchored
    pair.answer()

    assert pair.time.read().is_safe


@pytest.mark.parametrize("offset_ms", [0, 1, 499, 500, 999])
def test_whole_seconds_never_step_and_never_run_back(offset_ms: int) -> None:
    pair = Pair(resolution_ms=SECOND_MS)
    pair.host.pass_ms(offset_ms)
    pair.answer()
    before_ms = pair.time.read().store_ms
    for pause_ms in (0, 1, 998, 1, 1, 999, 1, 2_500, 333) * 20:
        pair.host.pass_ms(pause_ms)
        for _ in ("before an answer", "after it"):
            now_ms = pair.time.read().store_ms
            assert now_ms >= before_ms
            assert abs(now_ms - pair.host.wall_ms()) < SECOND_MS
            before_ms = now_ms
            pair.answer()

    assert pair.time.steps == 0
    assert pair.time.read().is_safe


def test_after_a_step_back_time_may_be_lower_than_before(pair: Pair) -> None:
    pair.answer()
    assert pair.time.read().store_ms == START_MS
    pair.there.set(-HOUR_MS)
    pair.answer()
    pair.answer()

    assert pair.time.read().store_ms == START_MS - HOUR_MS


def test_every_answer_that_bears_a_time_is_shown_to_trusted_time() -> None:
    host = ManualClock()
    there = StoreClock(host)
    time = TrustedTime(host)
    store = TimedStore(MemoryStore(there), time)
    names = iter("abcd")
    acts = (
        lambda: store.create(f"a/{next(names)}", b"x"),
        lambda: store.list("a/"),
        lambda: store.put("b", b"x"),
        lambda: store.get("b"),
    )
    store.put("b", b"x")
    for act in acts:
        there.set(HOUR_MS)
        act()
        act()
        assert time.read().store_ms == there.wall_ms()
    assert time.steps == len(acts)


# ------------------------------------------------------------------------------ through the service


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
