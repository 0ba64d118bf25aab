"""Stores for tests: one that counts, one that lies and one that fails when told to.

Each stands in front of a store that keeps the port's promises, so that whatever is wrong with the
whole is what the decorator does. ``ForwardingStore`` does nothing: a double of one test file says
only what it does otherwise.
"""

import enum
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TypeVar

from onceward_controller.vault.store import (
    PAGE_NAMES_MAX,
    ConflictError,
    Page,
    Store,
    Stored,
    StoreError,
)

Verb = Literal["create", "get", "list", "put", "blank", "delete"]
Answer = TypeVar("Answer")


class ForwardingStore:
    """Hands every call on."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, name: str, body: bytes) -> int:
        return self._store.create(name, body)

    def get(self, name: str) -> Stored | None:
        return self._store.get(name)

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        return self._store.list(prefix, after=after, limit=limit)

    def put(self, name: str, body: bytes) -> int:
        return self._store.put(name, body)

    def blank(self, name: str) -> None:
        self._store.blank(name)

    def delete(self, name: str) -> None:
        self._store.delete(name)

    def close(self) -> None:
        self._store.close()


class CountingStore:
    """Counts the calls and the bytes they carry."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.calls: Counter[Verb] = Counter()
        self.bytes_written = 0

    def reset(self) -> None:
        self.calls.clear()
        self.bytes_written = 0

    def create(self, name: str, body: bytes) -> int:
        self.calls["create"] += 1
        self.bytes_written += len(body)
        return self._store.create(name, body)

    def get(self, name: str) -> Stored | None:
        self.calls["get"] += 1
        return self._store.get(name)

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        self.calls["list"] += 1
        return self._store.list(prefix, after=after, limit=limit)

    def put(self, name: str, body: bytes) -> int:
        self.calls["put"] += 1
        self.bytes_written += len(body)
        return self._store.put(name, body)

    def blank(self, name: str) -> None:
        self.calls["blank"] += 1
        self._store.blank(name)

    def delete(self, name: str) -> None:
        self.calls["delete"] += 1
        self._store.delete(name)

    def close(self) -> None:
        self._store.close()


class FaultyStore:
    """Fails the calls that were scripted, and lets every other through."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._script: dict[Verb, deque[tuple[StoreError | None, bool]]] = {}

    def fail(
        self, verb: Verb, error: StoreError, *, after_effect: bool, calls_before: int = 0
    ) -> None:
        """Make a coming call of ``verb`` raise ``error``, before or after it took effect.

        Args:
            verb: Which method.
            error: What it raises.
            after_effect: Whether the store behind does the work first (a lost reply).
            calls_before: How many further calls of ``verb`` go through first.
        """
        script = self._script.setdefault(verb, deque())
        script.extend([(None, False)] * calls_before)
        script.append((error, after_effect))

    def create(self, name: str, body: bytes) -> int:
        return self._perform("create", lambda: self._store.create(name, body))

    def get(self, name: str) -> Stored | None:
        return self._perform("get", lambda: self._store.get(name))

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        return self._perform("list", lambda: self._store.list(prefix, after=after, limit=limit))

    def put(self, name: str, body: bytes) -> int:
        return self._perform("put", lambda: self._store.put(name, body))

    def blank(self, name: str) -> None:
        self._perform("blank", lambda: self._store.blank(name))

    def delete(self, name: str) -> None:
        self._perform("delete", lambda: self._store.delete(name))

    def close(self) -> None:
        self._store.close()

    def _perform(self, verb: Verb, call: Callable[[], Answer]) -> Answer:
        script = self._script.get(verb)
        error, after_effect = script.popleft() if script else (None, False)
        if error is None:
            return call()
        if after_effect:
            with suppress(StoreError):
                call()
        raise error


class Lie(enum.Enum):
    """What a store may promise and not do."""

    EVERY_RACER_WINS = "creates of a name succeed until somebody reads it"
    SECOND_CREATE_OVERWRITES = "a create of a name that was read replaces the object"
    SECOND_CREATE_SUCCEEDS = "a create of a name that was read says yes and writes nothing"
    CONFLICT_REPLACES = "a create that conflicts replaces the object all the same"
    RACERS_SWAP = "the object holds what a loser wrote"
    LISTS_LATE = "a listing does not show the newest object"
    LISTS_DISORDERLY = "a listing is sorted as some directories are, letters before digits"
    IGNORES_AFTER = "every page is the first page"
    IGNORES_LIMIT = "every page holds everything"
    GIVES_NO_TIME = "answers say that it is 1970"
    RUNS_BACKWARDS = "each answer is a minute earlier than the last"
    BLANK_FREES_THE_NAME = "a blanked object is deleted"
    BLANK_HIDES_THE_NAME = "a blanked object is not listed"
    BLANK_KEEPS_THE_CONTENT = "a blanked object reads as before"
    DELETE_DOES_NOTHING = "a deleted object is still there"
    DELETE_IS_NOT_IDEMPOTENT = "deleting what is gone is an error"


class LyingStore:
    """Tells one lie."""

    def __init__(self, store: Store, lie: Lie) -> None:
        self._store = store
        self._lie = lie
        self._read: set[str] = set()
        self._blanked: set[str] = set()
        self._newest = ""
        self._minutes_lost = 0

    def create(self, name: str, body: bytes) -> int:
        self._newest = name
        racing = name not in self._read
        try:
            return self._told(self._store.create(name, body))
        except ConflictError:
            if self._lie is Lie.EVERY_RACER_WINS and racing:
                return self._store.put(name, body)
            if self._lie is Lie.SECOND_CREATE_OVERWRITES and not racing:
                return self._store.put(name, body)
            if self._lie is Lie.SECOND_CREATE_SUCCEEDS and not racing:
                return self._store.list(name, limit=1).time_ms
            if self._lie is (Lie.RACERS_SWAP if racing else Lie.CONFLICT_REPLACES):
                self._store.put(name, body)
            raise

    def get(self, name: str) -> Stored | None:
        self._read.add(name)
        stored = self._store.get(name)
        return None if stored is None else Stored(stored.body, self._told(stored.time_ms))

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        if self._lie is Lie.IGNORES_AFTER:
            after = ""
        if self._lie is Lie.IGNORES_LIMIT:
            limit = PAGE_NAMES_MAX
        page = self._store.list(prefix, after=after, limit=limit)
        names = page.names
        if self._lie is Lie.LISTS_LATE:
            names = tuple(name for name in names if name != self._newest)
        if self._lie is Lie.BLANK_HIDES_THE_NAME:
            names = tuple(name for name in names if name not in self._blanked)
        if self._lie is Lie.LISTS_DISORDERLY:
            names = tuple(sorted(names, key=lambda name: name.translate(_LETTERS_FIRST)))
        return Page(names, self._told(page.time_ms), more=page.more)

    def put(self, name: str, body: bytes) -> int:
        return self._told(self._store.put(name, body))

    def blank(self, name: str) -> None:
        self._blanked.add(name)
        if self._lie is Lie.BLANK_FREES_THE_NAME:
            self._store.delete(name)
        elif self._lie is not Lie.BLANK_KEEPS_THE_CONTENT:
            self._store.blank(name)

    def delete(self, name: str) -> None:
        if self._lie is Lie.DELETE_IS_NOT_IDEMPOTENT and self._store.get(name) is None:
            raise ConflictError("there is nothing to delete")
        if self._lie is not Lie.DELETE_DOES_NOTHING:
            self._store.delete(name)

    def close(self) -> None:
        self._store.close()

    def _told(self, time_ms: int) -> int:
        if self._lie is Lie.GIVES_NO_TIME:
            return 0
        if self._lie is Lie.RUNS_BACKWARDS:
            self._minutes_lost += 1
            return time_ms - self._minutes_lost * 60_000
        return time_ms


_LETTERS_FIRST = {ord(digit): chr(ord("{") + int(digit)) for digit in "0123456789"}
