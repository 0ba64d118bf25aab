"""Group commit: who leads, who waits, and what becomes of those who leave."""

import os
import threading
from collections.abc import Sequence
from functools import partial

import pytest

from onceward.ports import Task
from onceward.system import ThreadSpawner
from onceward_controller.vault.sqlite.group_commit import GroupCommit, _Ticket
from onceward_controller.vault.store import (
    ConflictError,
    OutcomeUnknownError,
    RefusedError,
    StoreError,
)
from tests.support.interrupts import InterruptedOnceError, one_interrupt_when


class Disk:
    """Commits what it is given, keeps the batches, and can be held up or made to fail."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.rests = 0
        self.is_open = threading.Event()
        self.is_open.set()
        self.entered = threading.Event()
        self.interrupts = 0

    def commit(self, writes: Sequence[str]) -> Sequence[StoreError | None]:
        self.entered.set()
        self.is_open.wait()
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        self.batches.append(list(writes))
        return [ConflictError(write) if write == "taken" else None for write in writes]

    def rest(self) -> None:
        self.rests += 1


class Callers:
    """Threads that submit, and what each was told."""

    def __init__(self, group: GroupCommit[str]) -> None:
        self._group = group
        self._tasks: list[Task] = []
        self.told: dict[str, str] = {}

    def submit(self, *writes: str) -> None:
        spawner = ThreadSpawner()
        self._tasks += [spawner.spawn("caller", partial(self._submit, write)) for write in writes]

    def join(self) -> None:
        for task in self._tasks:
            task.join()

    def _submit(self, write: str) -> None:
        try:
            self._group.submit(write)
            self.told[write] = "committed"
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test names it
            self.told[write] = type(error).__name__


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def group(disk: Disk) -> GroupCommit[str]:
    return GroupCommit(disk.commit, disk.rest)


def hold_up(disk: Disk, group: GroupCommit[str], first: str, *rest: str) -> Callers:
    """Let ``first`` lead and wait for the disk, and ``rest`` gather behind it."""
    disk.is_open.clear()
    callers = Callers(group)
    callers.submit(first)
    disk.entered.wait()
    callers.submit(*rest)
    wait_for_waiting(group, len(rest))
    return callers


def wait_for_waiting(group: GroupCommit[str], count: int) -> None:
    while group.waiting < count:
        os.sched_yield()


def test_one_caller_commits_alone_and_at_once(disk: Disk, group: GroupCommit[str]) -> None:
    group.submit("a")
    group.submit("b")

    assert disk.batches == [["a"], ["b"]]
    assert disk.rests == 2


def test_those_who_wait_for_a_commit_leave_together_in_the_next(
    disk: Disk, group: GroupCommit[str]
) -> None:
    callers = hold_up(disk, group, "first", "a", "b", "c")
    disk.is_open.set()
    callers.join()

    assert disk.batches[0] == ["first"]
    assert sorted(disk.batches[1]) == ["a", "b", "c"]
    assert len(disk.batches) == 2


def test_each_caller_is_told_of_its_own_write(disk: Disk, group: GroupCommit[str]) -> None:
    callers = hold_up(disk, group, "first", "a", "taken", "c")
    disk.is_open.set()
    callers.join()

    assert callers.told == {
        "first": "committed",
        "a": "committed",
        "taken": "ConflictError",
        "c": "committed",
    }


def test_an_interrupted_leader_leaves_nobody_waiting(disk: Disk, group: GroupCommit[str]) -> None:
    callers = hold_up(disk, group, "first", "a", "b")
    disk.interrupts = 2
    disk.is_open.set()
    callers.join()
    group.submit("later")

    # The second batch was interrupted under one of its callers; the other cannot know more.
    assert callers.told["first"] == "KeyboardInterrupt"
    assert sorted([callers.told["a"], callers.told["b"]]) == [
        "KeyboardInterrupt",
        OutcomeUnknownError.__name__,
    ]
    assert disk.batches == [["later"]]


def test_a_caller_interrupted_while_it_waits_takes_its_write_out(
    disk: Disk, group: GroupCommit[str]
) -> None:
    callers = hold_up(disk, group, "first")
    with one_interrupt_when(lambda: group.waiting == 1), pytest.raises(InterruptedOnceError):
        group.submit("mine")
    assert group.waiting == 0
    disk.is_open.set()
    callers.join()
    group.submit("later")

    assert disk.batches == [["first"], ["later"]]


def test_one_who_leaves_when_called_to_lead_passes_the_lead_on(
    disk: Disk, group: GroupCommit[str]
) -> None:
    gone = _Ticket("gone")
    group._enqueue(gone)
    callers = Callers(group)
    callers.submit("a")
    wait_for_waiting(group, 2)
    group._leave(gone)
    callers.join()

    assert disk.batches == [["a"]]


def test_closing_waits_for_what_was_accepted_and_accepts_no_more(
    disk: Disk, group: GroupCommit[str]
) -> None:
    callers = hold_up(disk, group, "first", "a")
    closing = ThreadSpawner().spawn("closing", group.close)
    disk.is_open.set()
    assert closing.join()
    callers.join()

    assert disk.batches == [["first"], ["a"]]
    with pytest.raises(RefusedError):
        group.submit("late")
