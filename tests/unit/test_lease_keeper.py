"""Keeping the leases of long calls: when, how often, and what the tool is told."""

from collections.abc import Callable

import pytest

from onceward.lease_keeper import RETRY_MIN_MS, Lease, LeaseKeeper, renewal_due_ms
from onceward.ports import Task
from onceward.wire.identifiers import LeaseToken, OperationName
from onceward.wire.limits import RENEWALS_MAX
from onceward.wire.messages import Renew, Renewed
from onceward.wire.problems import ProblemCode, problem
from tests.support.ports import HeldSpawner, ManualClock
from tests.support.scripted_controller import (
    NOW_MS,
    WORKFLOW,
    ScriptedController,
    lost,
    unreachable,
)

LEASE_MS = 120_000


class CountingSpawner(HeldSpawner):
    """Held threads, counted."""

    started = 0

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        self.started += 1
        return super().spawn(name, work)


@pytest.fixture
def controller() -> ScriptedController:
    return ScriptedController()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def spawner() -> CountingSpawner:
    return CountingSpawner()


@pytest.fixture
def keeper(
    controller: ScriptedController, clock: ManualClock, spawner: CountingSpawner
) -> LeaseKeeper:
    return LeaseKeeper(controller, clock, spawner)


@pytest.fixture
def told() -> list[str]:
    return []


def lease(clock: ManualClock, told: list[str], name: str = "upload") -> Lease:
    """A lease of which a third is left."""
    return Lease(
        WORKFLOW,
        OperationName(name),
        1,
        LeaseToken("token"),
        clock.boottime_ms() + LEASE_MS // 3,
        lambda: told.append(name),
    )


def renewed(lease_ms: int = LEASE_MS) -> Renewed:
    return Renewed(lease_until_ms=NOW_MS + lease_ms, now_ms=NOW_MS)


def test_a_lease_is_due_when_a_third_of_it_is_left() -> None:
    assert renewal_due_ms(1_000, 1_000 + LEASE_MS) == 1_000 + 80_000


def test_a_held_lease_is_renewed_and_due_again_when_a_third_is_left(
    keeper: LeaseKeeper, controller: ScriptedController, clock: ManualClock, told: list[str]
) -> None:
    controller.script("renew", renewed(), renewed())
    keeper.hold(lease(clock, told))

    assert keeper.renew_due() == 80_000
    clock.pass_ms(79_999)
    assert keeper.renew_due() == 1
    clock.pass_ms(1)
    assert keeper.renew_due() == 80_000

    assert controller.bodies("renew") == [Renew(1, "token")] * 2
    assert told == []


def test_a_new_lease_is_counted_from_before_the_renewal_was_sent(
    keeper: LeaseKeeper, controller: ScriptedController, clock: ManualClock, told: list[str]
) -> None:
    def slowly(body: Renew) -> Renewed:
        clock.pass_ms(10_000)
        return renewed()

    controller.script("renew", slowly)
    held = lease(clock, told)
    sent_ms = clock.boottime_ms()
    keeper.hold(held)

    assert keeper.renew_due() == 70_000
    assert held.until_ms == sent_ms + LEASE_MS


@pytest.mark.parametrize(
    "code",
    [
        ProblemCode.LEASE_LOST,
        ProblemCode.PAUSED,
        ProblemCode.RENEWAL_LIMIT,
        ProblemCode.CLOCK_UNSAFE,
        ProblemCode.LEASE_TOKEN_INVALID,
        ProblemCode.NOT_FOUND,
    ],
)
def test_a_refused_renewal_tells_the_tool_at_once_and_is_not_tried_again(
    keeper: LeaseKeeper,
    controller: ScriptedController,
    clock: ManualClock,
    told: list[str],
    code: ProblemCode,
) -> None:
    controller.script("renew", problem(code, "no"))
    keeper.hold(lease(clock, told))

    assert keeper.renew_due() is None
    assert told == ["upload"]


def test_a_renewal_without_an_answer_is_tried_again_until_the_lease_is_over(
    keeper: LeaseKeeper, controller: ScriptedController, clock: ManualClock, told: list[str]
) -> None:
    controller.script("renew", *[lost(), unreachable()] * 50)
    held = lease(clock, told)
    over_ms = held.until_ms
    keeper.hold(held)

    first_ms = keeper.renew_due()
    assert first_ms == LEASE_MS // 3 // 4
    while (next_ms := keeper.renew_due()) is not None:
        assert told == []
        clock.pass_ms(next_ms)

    assert clock.boottime_ms() == over_ms
    assert told == ["upload"]
    assert len(controller.bodies("renew")) < LEASE_MS // 3 // RETRY_MIN_MS


def test_a_renewal_that_comes_back_after_failures_saves_the_lease(
    keeper: LeaseKeeper, controller: ScriptedController, clock: ManualClock, told: list[str]
) -> None:
    controller.script("renew", lost(), renewed())
    keeper.hold(lease(clock, told))

    clock.pass_ms(keeper.renew_due() or 0)

    assert keeper.renew_due() == 80_000
    assert told == []


def test_a_lease_is_renewed_no_more_often_than_the_limit_and_then_ends(
    keeper: LeaseKeeper, controller: ScriptedController, clock: ManualClock, told: list[str]
) -> None:
    controller.script("renew", *[renewed()] * RENEWALS_MAX)
    keeper.hold(lease(clock, told))

    while (next_ms := keeper.renew_due()) is not None:
        clock.pass_ms(next_ms)

    assert len(controller.bodies("renew")) == RENEWALS_MAX
    assert told == ["upload"]


def test_a_host_that_slept_through_its_lease_renews_nothing(
    keeper: LeaseKeeper, clock: ManualClock, told: list[str]
) -> None:
    keeper.hold(lease(clock, told))
    clock.pass_ms(LEASE_MS)

    assert keeper.renew_due() is None
    assert told == ["upload"]


def test_a_dropped_lease_is_passed_over(
    keeper: LeaseKeeper, clock: ManualClock, told: list[str]
) -> None:
    held = lease(clock, told)
    keeper.hold(held)
    keeper.drop(held)

    assert keeper.renew_due() is None
    assert told == []


def test_the_nearest_of_several_leases_is_renewed_first(
    keeper: LeaseKeeper, controller: ScriptedController, clock: ManualClock, told: list[str]
) -> None:
    controller.script("renew", renewed(3_000), renewed(300_000))
    keeper.hold(lease(clock, told, "short"))
    keeper.hold(lease(clock, told, "long"))

    assert keeper.renew_due() == 2_000


def test_one_thread_serves_all_leases_and_ends_with_the_last(
    keeper: LeaseKeeper,
    controller: ScriptedController,
    clock: ManualClock,
    spawner: CountingSpawner,
    told: list[str],
) -> None:
    controller.script("renew", *[problem(ProblemCode.LEASE_LOST, "gone")] * 3)
    for name in ("a", "b"):
        keeper.hold(lease(clock, told, name))

    spawner.run()
    assert (spawner.started, sorted(told)) == (1, ["a", "b"])

    keeper.hold(lease(clock, told, "c"))
    spawner.run()
    assert (spawner.started, told[-1]) == (2, "c")


def test_a_closed_keeper_holds_nothing(
    keeper: LeaseKeeper, clock: ManualClock, spawner: CountingSpawner, told: list[str]
) -> None:
    keeper.hold(lease(clock, told))
    keeper.close()
    keeper.hold(lease(clock, told))

    spawner.run()

    assert keeper.renew_due() is None
    assert told == []
