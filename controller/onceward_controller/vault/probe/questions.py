"""The questions of the probe: each makes objects, looks, and says what it saw (``vault.probe``)."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from onceward.ports import Spawner
from onceward_controller.vault.probe.race import claim, insist, race, side_by_side
from onceward_controller.vault.store import RefusedError, Store, StoreError

_CHARACTERS = "0123456789abcdefghijklmnopqrstuv"
"""What names are made of, besides ``/``; in byte order."""

_PAGE_NAMES = 7
_TIME_MIN_MS = 1_577_836_800_000
"""2020: before that, nothing of ours existed."""

_TIME_MAX_MS = 4_102_444_800_000
"""2100: a clock beyond it is broken, and so will be every lease it judges."""

_STEP_BACK_MAX_MS = 5_000
"""Hosts of one store disagree a little; by more than this, leases are not safe."""


class BrokenPromiseError(Exception):
    """What the store did instead."""


class Examination:
    """The questions, and what was made in asking them.

    Each returns what it saw and raises ``BrokenPromiseError`` when the store did something else;
    errors of the store that say nothing about its promises pass through.
    """

    def __init__(self, store: Store, mark: str, spawner: Spawner, racers: int) -> None:
        self._store = store
        self._spawner = spawner
        self._racers = racers
        self._folder = f"probe/{mark}/"
        self._races: list[str] = []
        self._sorted = sorted(
            f"{self._folder}names/{name}"
            for name in [f"{character}/0" for character in _CHARACTERS] + ["00/0", "0/v", "v0/v"]
        )
        self._times_ms: list[int] = []

    def race(self, rounds: int) -> str:
        """Race for fresh names and demand one winner each, whose bytes are then there."""
        bodies = [f"racer {racer}".encode() for racer in range(self._racers)]
        for number in range(rounds):
            name = f"{self._folder}race/{number:04}"
            self._races.append(name)
            winners = race(self._store, self._spawner, name, bodies)
            if len(winners) != 1:
                raise BrokenPromiseError(
                    f"{len(winners)} of {len(bodies)} creates of one name succeeded"
                )
            if self._body(name) != winners[0]:
                raise BrokenPromiseError("the object is not what its one winner wrote")
        return f"one winner in each of {rounds} races of {self._racers}"

    def again(self) -> str:
        """Create a name that was read, and demand a conflict that changes nothing."""
        name = self._races[0]
        before = self._body(name)
        if claim(self._store, name, b"second"):
            raise BrokenPromiseError("a second create of a name succeeded")
        if self._body(name) != before:
            raise BrokenPromiseError("a create that conflicted replaced the object")
        return "a second create conflicts and changes nothing"

    def listing(self) -> str:
        """Create names of every character and list them at once."""
        self._stripe(self._sorted, lambda name: claim(self._store, name, name.encode()))
        try:
            page = self._store.list(f"{self._folder}names/")
        except RefusedError as error:
            raise BrokenPromiseError(str(error)) from error
        self._times_ms.append(page.time_ms)
        missing = set(self._sorted).difference(page.names)
        if missing:
            raise BrokenPromiseError(f"{len(missing)} fresh objects are missing from a listing")
        if list(page.names) != self._sorted:
            raise BrokenPromiseError("a listing is not in byte order")
        return f"{len(page.names)} fresh objects at once and in byte order"

    def paging(self) -> str:
        """Walk the same names page by page."""
        seen: list[str] = []
        pages, more = 0, True
        while more:
            after = seen[-1] if seen else ""
            try:
                page = self._store.list(f"{self._folder}names/", after=after, limit=_PAGE_NAMES)
            except RefusedError as error:
                raise BrokenPromiseError(str(error)) from error
            if len(page.names) > _PAGE_NAMES:
                raise BrokenPromiseError("a page is longer than asked for")
            if not page.names or page.names[0] <= after:
                raise BrokenPromiseError("a page does not begin behind the last")
            seen.extend(page.names)
            pages, more = pages + 1, page.more
        if seen != self._sorted:
            raise BrokenPromiseError("the pages together are not the listing")
        return f"{pages} pages make the listing"

    def blank(self) -> str:
        """Blank an object and try to take its name."""
        name = self._sorted[0]
        insist(lambda: self._store.blank(name))
        if self._body(name) != b"":
            raise BrokenPromiseError("a blanked object does not read as empty")
        if claim(self._store, name, b"second"):
            raise BrokenPromiseError("a blanked name could be taken again")
        if name not in self._store.list(name).names:
            raise BrokenPromiseError("a blanked name is missing from a listing")
        return "the content goes and the name stays taken"

    def delete(self) -> str:
        """Delete an object twice."""
        name = self._sorted[-1]
        try:
            insist(lambda: self._store.delete(name))
            if self._store.get(name) is not None or name in self._store.list(name).names:
                raise BrokenPromiseError("a deleted object is still there")
            insist(lambda: self._store.delete(name))
        except StoreError as error:
            raise BrokenPromiseError(f"deleting failed: {error}") from error
        return "the object goes, and deleting it again is no error"

    def time(self) -> str:
        """Judge the times of all answers so far."""
        latest_ms = 0
        for time_ms in self._times_ms:
            if not _TIME_MIN_MS <= time_ms <= _TIME_MAX_MS:
                raise BrokenPromiseError(f"an answer gives an impossible time: time_ms=`{time_ms}`")
            if time_ms < latest_ms - _STEP_BACK_MAX_MS:
                back_ms = latest_ms - time_ms
                raise BrokenPromiseError(f"time ran backwards: by_ms=`{back_ms}`")
            latest_ms = max(latest_ms, time_ms)
        return f"{len(self._times_ms)} answers in order: time_ms=`{latest_ms}`"

    def clean_up(self) -> None:
        """Remove what was made, as far as the store lets us."""
        self._stripe(self._races + self._sorted, self._remove)

    def _remove(self, name: str) -> None:
        # What cannot be removed stays behind in a folder that nobody looks into.
        with suppress(StoreError):
            self._store.delete(name)

    def _body(self, name: str) -> bytes | None:
        stored = self._store.get(name)
        if stored is None:
            return None
        self._times_ms.append(stored.time_ms)
        return stored.body

    def _stripe(self, names: list[str], work: Callable[[str], object]) -> None:
        def run(first: int) -> None:
            for name in names[first :: self._racers]:
                work(name)

        side_by_side(self._spawner, [partial(run, first) for first in range(self._racers)])
