"""Every short history of one and two operations, against a destination that lies in wait.

``tests.support.world`` says what can happen, ``tests.support.invariants`` what must hold. First
breadth first, as far as the budget goes; then down seeded paths that are longer than breadth can
reach. ``ONCEWARD_EXPLORE_STATES`` sets the budget of distinct states for each destination. A
failure tells the whole history that led to it.
"""

import os
import random
from collections import deque
from functools import cache
from typing import NamedTuple

import pytest

from onceward.wire import limits
from onceward.wire.definitions import OperationDefinition, Retry
from onceward.wire.problems import ProblemError
from tests.support.invariants import SOMETIMES, carry_on, check_world, seen, stepped
from tests.support.protocol import tool
from tests.support.world import Step, World, first_world, steps

STATES = int(os.environ.get("ONCEWARD_EXPLORE_STATES", "8000"))
PATHS = STATES // 25
STEPS = 24
KEY_MS = 8 * limits.MINUTE_MS
ONCE_MORE = Retry(attempts=2, first_ms=1_000, factor=2.0, cap_ms=60_000)

DESTINATIONS: dict[str, tuple[OperationDefinition, ...]] = {
    "none": (tool("a"),),
    "none, retried": (tool("a", retry=ONCE_MORE),),
    "query": (tool("a", query=True),),
    "query, retried": (tool("a", query=True, retry=ONCE_MORE),),
    "idempotency": (tool("a", idempotency_ms=KEY_MS),),
    "both": (tool("a", query=True, idempotency_ms=KEY_MS),),
    "none, then query": (tool("a"), tool("b", query=True)),
    "both, then idempotency": (
        tool("a", query=True, idempotency_ms=KEY_MS, retry=ONCE_MORE),
        tool("b", idempotency_ms=KEY_MS),
    ),
    "none beside query": (tool("a", after=()), tool("b", query=True, after=())),
}


class Walk(NamedTuple):
    """How far one walk came."""

    states: int
    depth: int


@cache
def walk(destination: str) -> Walk:
    """Walk once; whoever asks again is told how far it came."""
    first = first_world(DESTINATIONS[destination])
    known, depth = walk_breadth(first)
    for seed in range(PATHS):
        walk_path(first, seed)
    print(f"{destination}: {known} states, {depth} steps deep, {PATHS} paths of {STEPS} steps")
    return Walk(states=known, depth=depth)


def walk_breadth(first: World) -> tuple[int, int]:
    """Visit every world within reach, nearest first; return how many, and how many steps away."""
    known = {first.key()}
    queue: deque[tuple[World, tuple[Step, ...]]] = deque([(first, ())])
    depth = 0
    while queue and len(known) < STATES:
        world, past = queue.popleft()
        depth = len(past)
        for step in steps(world):
            after = visited(world, past, step)
            key = after.key()
            if key not in known:
                known.add(key)
                checked(after, (*past, step), to_the_end=len(known) % 8 == 0)
                queue.append((after, (*past, step)))
    return len(known), depth


def walk_path(first: World, seed: int) -> None:
    """Go down the one path that ``seed`` draws."""
    draw = random.Random(seed)
    world = visited(first, (), ("enable",))
    past: tuple[Step, ...] = (("enable",),)
    for _ in range(STEPS):
        step = draw.choice(list(steps(world)))
        if step[0] in ("abandon", "pause") and draw.random() < 0.9:
            continue  # Little can follow these, so they are drawn seldom.
        world = visited(world, past, step)
        past = (*past, step)
        checked(world, past, to_the_end=False)
    checked(world, past, to_the_end=True)


def visited(world: World, past: tuple[Step, ...], step: Step) -> World:
    try:
        after = stepped(world, step)
    except (AssertionError, ValueError, LookupError) as error:
        raise AssertionError(f"{error}: {told((*past, step))}") from error
    return after


def checked(world: World, past: tuple[Step, ...], *, to_the_end: bool) -> None:
    try:
        check_world(world)
        if to_the_end:
            carry_on(world)
    except (AssertionError, ProblemError, ValueError, LookupError) as error:
        raise AssertionError(f"{error}: {told(past)}") from error


def told(past: tuple[Step, ...]) -> str:
    return " > ".join(" ".join(str(word) for word in step) for step in past)


@pytest.mark.parametrize("destination", DESTINATIONS)
def test_no_history_has_a_second_effect_or_an_end_without_a_way_on(destination: str) -> None:
    assert walk(destination).states >= STATES


def test_whatever_must_sometimes_happen_did() -> None:
    for destination in DESTINATIONS:
        walk(destination)
    assert [each for each in SOMETIMES if not seen[each]] == []
