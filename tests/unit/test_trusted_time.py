"""Trusted time: the store's clock against the host's boot time, as its answers tell it."""

import pytest

from onceward.wire import limits
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import Stored
from onceward_controller.vault.trusted_time import (
    DRIFT_PER_MILLION,
    SLOW_READ_MS,
    TimedStore,
    TrustedTime,
)
from tests.support.ports import START_MS, ManualClock, StoreClock
from tests.support.stores import ForwardingStore

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
    store = TimedStore(MemoryStore(there), time, host)
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


@pytest.mark.parametrize(
    ("took_ms", "steps"),
    [
        pytest.param(0, 1, id="at-once"),
        pytest.param(SLOW_READ_MS, 1, id="as-slow-as-is-believed"),
        pytest.param(SLOW_READ_MS + 1, 0, id="too-slow-to-tell"),
    ],
)
def test_the_time_of_a_read_counts_only_while_it_is_known_when_it_was_told(
    pair: Pair, took_ms: int, steps: int
) -> None:
    class SlowLine(ForwardingStore):
        """Tells the time at the head of an answer whose body takes long."""

        def get(self, name: str) -> Stored | None:
            found = super().get(name)
            pair.host.pass_ms(took_ms)
            return found

    store = TimedStore(SlowLine(MemoryStore(pair.there)), pair.time, pair.host)
    store.create("name", b"body")
    pair.there.set(HOUR_MS)

    store.get("name")

    assert pair.time.steps == steps
