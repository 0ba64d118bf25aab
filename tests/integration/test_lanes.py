"""Commands for one workflow that gather while a revision is written, and leave in the next."""

import os
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from onceward.system import ThreadSpawner
from onceward.wire.decisions import Execute, Stop, StopReason, Wait, WaitReason
from onceward.wire.identifiers import WorkflowId
from onceward.wire.problems import ProblemCode, ProblemError
from onceward_controller.protocol.commands import Command, Enable, Pause
from onceward_controller.service.service import Service
from onceward_controller.service.transact import COMMANDS_MAX, Settled, Transactor
from onceward_controller.vault import layout
from onceward_controller.vault.store import Store
from tests.support.interrupts import InterruptedOnceError, one_interrupt_when
from tests.support.services import (
    ADMIN,
    Agent,
    Site,
    chain,
    cold_head,
    open_over,
    parallel,
    state_of,
    warm_head,
)
from tests.support.stores import ForwardingStore


class Gate(ForwardingStore):
    """A store whose creates wait until somebody opens it."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.is_open = threading.Event()
        self.is_open.set()
        self.entered = threading.Event()
        self.creates = 0
        self.interrupted: set[int] = set()

    def create(self, name: str, body: bytes) -> int:
        self.entered.set()
        self.is_open.wait()
        self.creates += 1
        if self.creates in self.interrupted:
            raise KeyboardInterrupt
        return self._store.create(name, body)


Act = Callable[[], object]


class Queue:
    """Callers that arrive one after the other while a create is in flight."""

    def __init__(self, site: Site) -> None:
        self.gate = Gate(site.store)
        self.service = site.open(self.gate)
        self.told: dict[str, object] = {}
        self._threads: list[threading.Thread] = []

    @property
    def transactor(self) -> Transactor:
        return self.service.attempts._transactor

    def hold(self, workflow: WorkflowId, name: str, act: Act) -> None:
        """Let the create of ``act`` be in flight."""
        self.gate.entered.clear()
        self.gate.is_open.clear()
        self._start(name, act)
        self.gate.entered.wait()

    def add(self, workflow: WorkflowId, name: str, act: Act) -> None:
        lane = self.transactor._lanes[workflow]
        count = len(lane.waiting) + 1
        self._start(name, act)
        while len(lane.waiting) < count:
            os.sched_yield()

    def release(self) -> None:
        self.gate.is_open.set()
        for thread in self._threads:
            thread.join()

    def _start(self, name: str, act: Act) -> None:
        def run() -> None:
            try:
                self.told[name] = act()
            except ProblemError as error:
                self.told[name] = error.code
            except KeyboardInterrupt:
                self.told[name] = "interrupted"

        thread = threading.Thread(target=run, name=name)
        self._threads.append(thread)
        thread.start()


@pytest.fixture
def queue() -> Queue:
    return Queue(Site())


def asking(queue: Queue, workflow: WorkflowId, name: str, operation: str) -> Act:
    return partial(Agent(queue.service, name).ask, workflow, operation)


def test_commands_that_arrive_during_a_write_leave_in_one_revision(queue: Queue) -> None:
    workflow = Agent(queue.service).create("k", parallel(4))
    before, creates = warm_head(queue.service, workflow).tip.revision, queue.gate.creates

    queue.hold(workflow, "w-0", asking(queue, workflow, "w-0", "op-0"))
    for number in (1, 2, 3):
        name = f"w-{number}"
        queue.add(workflow, name, asking(queue, workflow, name, f"op-{number}"))
    queue.release()

    assert queue.gate.creates == creates + 2
    head = warm_head(queue.service, workflow)
    assert head.tip.revision == before + 2
    for number in range(4):
        grant = queue.told[f"w-{number}"]
        assert isinstance(grant, Execute)
        assert grant.operation == f"op-{number}"
        [attempt] = head.workflow.operation(number).attempts
        assert attempt.request_id == f"request-of-w-{number}"
    assert state_of(head) == state_of(cold_head(queue.service, workflow))


def test_each_caller_of_one_revision_gets_its_own_answer_and_a_refusal_disturbs_nobody(
    queue: Queue,
) -> None:
    ann = Agent(queue.service)
    workflow = ann.create("k", chain(2))

    queue.hold(workflow, "pause", partial(run, queue, workflow, Pause()))
    queue.add(workflow, "stopped", asking(queue, workflow, "early", "op-0"))
    queue.add(workflow, "no such", asking(queue, workflow, "lost", "op-99"))
    queue.add(workflow, "enabled", partial(ann.enable, workflow))
    queue.add(workflow, "granted", asking(queue, workflow, "quick", "op-0"))
    queue.add(workflow, "waiting", asking(queue, workflow, "slow", "op-0"))
    queue.add(workflow, "behind", asking(queue, workflow, "next", "op-1"))
    revision = warm_head(queue.service, workflow).tip.revision
    queue.release()

    assert isinstance(queue.told["stopped"], Stop)
    assert queue.told["stopped"].reason is StopReason.PAUSED
    assert queue.told["no such"] is ProblemCode.NOT_FOUND
    assert isinstance(queue.told["granted"], Execute)
    assert isinstance(queue.told["waiting"], Wait)
    assert queue.told["waiting"].reason is WaitReason.ATTEMPT_IN_PROGRESS
    assert isinstance(queue.told["behind"], Wait)
    assert queue.told["behind"].reason is WaitReason.PREDECESSOR_RUNNING
    head = warm_head(queue.service, workflow)
    assert head.tip.revision == revision + 2
    assert state_of(head) == state_of(cold_head(queue.service, workflow))


def run(queue: Queue, workflow: WorkflowId, command: Command) -> Settled:
    return queue.transactor.run(workflow, ADMIN, command)


def test_an_interrupt_reaches_the_thread_it_was_meant_for_and_the_others_are_told_of_doubt(
    queue: Queue,
) -> None:
    workflow = Agent(queue.service).create("k", parallel(4))
    queue.hold(workflow, "w-0", asking(queue, workflow, "w-0", "op-0"))
    for number in (1, 2, 3):
        name = f"w-{number}"
        queue.add(workflow, name, asking(queue, workflow, name, f"op-{number}"))
    queue.gate.interrupted = {queue.gate.creates + 2}
    queue.release()

    assert isinstance(queue.told.pop("w-0"), Execute)
    assert Counter(queue.told.values()) == {
        "interrupted": 1,
        ProblemCode.STORE_OUTCOME_UNKNOWN: 2,
    }
    for number in (1, 2, 3):
        again = asking(queue, workflow, f"w-{number}", f"op-{number}")()
        assert isinstance(again, Execute)
        assert again.attempt == 1


def test_one_who_is_interrupted_while_it_waits_takes_its_command_out(queue: Queue) -> None:
    workflow = Agent(queue.service).create("k", parallel(3))
    queue.hold(workflow, "w-0", asking(queue, workflow, "w-0", "op-0"))
    queue.add(workflow, "w-1", asking(queue, workflow, "w-1", "op-1"))
    lane = queue.transactor._lanes[workflow]

    with (
        one_interrupt_when(lambda: len(lane.waiting) == 2),
        pytest.raises(InterruptedOnceError),
    ):
        Agent(queue.service, "gone").ask(workflow, "op-2")
    queue.release()

    assert isinstance(queue.told["w-1"], Execute)
    assert cold_head(queue.service, workflow).workflow.operation(2).attempts == ()
    assert queue.transactor._lanes == {}


def test_more_commands_than_one_revision_takes_leave_in_the_next(queue: Queue) -> None:
    workflow = Agent(queue.service).create("k", parallel(COMMANDS_MAX + 7))
    creates = queue.gate.creates

    queue.hold(workflow, "w-0", asking(queue, workflow, "w-0", "op-0"))
    for number in range(1, COMMANDS_MAX + 7):
        name = f"w-{number}"
        queue.add(workflow, name, asking(queue, workflow, name, f"op-{number}"))
    queue.release()

    assert queue.gate.creates == creates + 3
    assert len(queue.told) == COMMANDS_MAX + 7
    assert all(isinstance(answer, Execute) for answer in queue.told.values())
    assert queue.transactor._lanes == {}


def test_a_damaged_record_is_the_failure_of_who_needs_it_and_of_nobody_else(queue: Queue) -> None:
    ann = Agent(queue.service)
    workflow = ann.create("k", chain(3))
    grant = ann.granted(workflow)
    ann.succeed(workflow, grant)
    settled = warm_head(queue.service, workflow).tip.revision
    log = queue.service.vault.naming.workflow_log(workflow)
    queue.gate.blank(layout.revision_name(log, settled))

    queue.hold(workflow, "pause", partial(ann.pause, workflow))
    queue.add(workflow, "again", partial(ann.succeed, workflow, grant))
    queue.add(workflow, "enable", partial(run, queue, workflow, Enable()))
    queue.add(workflow, "next", asking(queue, workflow, "next", "op-1"))
    queue.release()

    assert queue.told["again"] is ProblemCode.INTEGRITY
    assert isinstance(queue.told["next"], Execute)


def test_all_refused_together_write_nothing(queue: Queue) -> None:
    ann = Agent(queue.service)
    workflow = ann.create("k", chain(1))
    ann.granted(workflow)
    creates = queue.gate.creates

    queue.hold(workflow, "pause", partial(run, queue, workflow, Pause()))
    for number in range(4):
        queue.add(workflow, f"w-{number}", asking(queue, workflow, f"w-{number}", "op-0"))
    queue.release()

    assert queue.gate.creates == creates + 1
    assert {type(queue.told[f"w-{number}"]) for number in range(4)} == {Stop}


def test_a_lane_is_gone_once_nobody_uses_it(queue: Queue) -> None:
    ann = Agent(queue.service)
    workflow = ann.create("k", chain(2))
    queue.hold(workflow, "a", asking(queue, workflow, "a", "op-0"))
    queue.add(workflow, "b", asking(queue, workflow, "b", "op-0"))
    queue.release()

    assert queue.transactor._lanes == {}


def test_a_write_that_others_beat_is_decided_again_with_those_who_came_meanwhile(
    queue: Queue,
) -> None:
    ann = Agent(queue.service)
    elsewhere = Agent(open_beside(queue), "elsewhere")
    workflow = ann.create("k", chain(1))

    queue.hold(workflow, "here", asking(queue, workflow, "here", "op-0"))
    queue.add(workflow, "beside", asking(queue, workflow, "beside", "op-0"))
    assert isinstance(elsewhere.ask(workflow, "op-0"), Execute)
    queue.release()

    assert isinstance(queue.told["here"], Wait)
    assert isinstance(queue.told["beside"], Wait)
    assert len(cold_head(queue.service, workflow).workflow.operation(0).attempts) == 1


def open_beside(queue: Queue) -> Service:
    vault = queue.service.vault
    return open_over(
        queue.gate._store,
        clock=vault.desk.clock,
        entropy=vault.desk.entropy,
        spawner=ThreadSpawner(),
    )
