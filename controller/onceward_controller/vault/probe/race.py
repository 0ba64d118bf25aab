"""Many creates of one name at once: the question that tells put-if-absent from its imitations."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from onceward.ports import Spawner
from onceward_controller.vault.store import (
    ConflictError,
    OutcomeUnknownError,
    Store,
    StoreError,
)

_TRIES_MAX = 4

_GATE_S = 1.0
"""How long racers wait for each other, in seconds; a spawner may run them one after another."""


def race(store: Store, spawner: Spawner, name: str, bodies: Sequence[bytes]) -> Sequence[bytes]:
    """Create ``name`` once with each of ``bodies``, all together, and return those that won.

    Raises:
        StoreError: One of the creates neither won nor lost.
    """
    gate = threading.Barrier(len(bodies))
    won: dict[bytes, bool] = {}

    def run(body: bytes) -> None:
        # When somebody starts late the gate opens without him; a late racer must lose as well.
        with suppress(threading.BrokenBarrierError):
            gate.wait(_GATE_S)
        won[body] = claim(store, name, body)

    side_by_side(spawner, [partial(run, body) for body in bodies])
    return [body for body in bodies if won[body]]


def claim(store: Store, name: str, body: bytes) -> bool:
    """Create ``name`` and return whether this call did, however often the answer is lost.

    Sends the same bytes again after an unknown outcome, and tells its own write from another's by
    what is stored then: ``body`` must be nobody else's.

    Raises:
        OutcomeUnknownError: The answer was lost every time.
        UnavailableError: See ``Store.create``.
        RefusedError: See ``Store.create``.
    """
    answers_lost = 0
    while True:
        try:
            store.create(name, body)
        except OutcomeUnknownError:
            answers_lost += 1
            if answers_lost == _TRIES_MAX:
                raise
        except ConflictError:
            return answers_lost > 0 and _holds(store, name, body)
        else:
            return True


def insist(write: Callable[[], object]) -> None:
    """Make a write that may be repeated until its outcome is known.

    Raises:
        OutcomeUnknownError: The answer was lost every time.
    """
    for _ in range(_TRIES_MAX - 1):
        try:
            write()
        except OutcomeUnknownError:
            continue
        else:
            return
    write()


def side_by_side(spawner: Spawner, work: Sequence[Callable[[], None]]) -> None:
    """Run every piece of ``work`` on a thread of its own and return when all are over.

    Raises:
        StoreError: The first that any of them raised.
    """
    failures: list[StoreError] = []

    def run(piece: Callable[[], None]) -> None:
        try:
            piece()
        except StoreError as error:
            failures.append(error)

    tasks = [spawner.spawn("probe", partial(run, piece)) for piece in work]
    for task in tasks:
        task.join()
    if failures:
        raise failures[0]


def _holds(store: Store, name: str, body: bytes) -> bool:
    stored = store.get(name)
    return stored is not None and stored.body == body
