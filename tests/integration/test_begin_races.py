"""Many ask for one operation at once: one is granted it, whoever and wherever they are."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from onceward.system import SystemClock, SystemEntropy, ThreadSpawner
from onceward.wire.decisions import Decision, Execute, Stop, StopReason, Wait, WaitReason
from onceward.wire.identifiers import WorkflowId
from onceward.wire.problems import ProblemCode, ProblemError
from onceward_controller.protocol.commands import Command, Enable, Pause
from onceward_controller.service.service import Service
from onceward_controller.service.transact import COMMANDS_MAX, Settled, Transactor
from onceward_controller.vault import layout
from onceward_controller.vault.keys import keyring
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.probe.race import side_by_side
from onceward_controller.vault.s3 import connect
from onceward_controller.vault.sqlite import SqliteStore
from onceward_controller.vault.store import PAGE_NAMES_MAX, Page, Store, Stored
from tests.support.services import (
    ADMIN,
    UNLOCKER,
    Agent,
    Site,
    chain,
    cold_head,
    open_over,
    parallel,
    state_of,
    warm_head,
)

REPOSITORY = Path(__file__).parents[2]
RACERS = 8
CLOCK = SystemClock()


@pytest.fixture(params=["memory", "sqlite", "s3-seaweedfs"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = _open(request.param, request, tmp_path)
    keyring.create(opened, UNLOCKER, CLOCK, SystemEntropy())
    yield opened
    opened.close()


def _open(kind: str, request: pytest.FixtureRequest, folder: Path) -> Store:
    match kind:
        case "memory":
            return MemoryStore(CLOCK)
        case "sqlite":
            return SqliteStore(folder / "vault.db", CLOCK)
        case _:
            server = request.getfixturevalue("s3_server")
            return connect(server.settings(request.getfixturevalue("s3_prefix")))


def replica(store: Store) -> Service:
    return open_over(
        store, clock=CLOCK, entropy=SystemEntropy(), spawner=ThreadSpawner(), reads_at_once=8
    )


class Racers:
    """Agents that ask for one operation together, and what each was answered."""

    def __init__(self, services: list[Service]) -> None:
        self.agents = [
            Agent(services[number % len(services)], f"racer-{number}") for number in range(RACERS)
        ]
        self.answers: dict[str, Decision] = {}

    def run(self, workflow: WorkflowId) -> None:
        gate = threading.Barrier(RACERS)

        def ask(agent: Agent) -> None:
            gate.wait()
            self.answers[agent.name] = agent.ask(workflow, "op-0")

        side_by_side(ThreadSpawner(), [partial(ask, agent) for agent in self.agents])

    @property
    def granted(self) -> list[str]:
        return [name for name, answer in self.answers.items() if isinstance(answer, Execute)]


@pytest.mark.parametrize("replicas", [1, 2, RACERS], ids="replicas={}".format)
def test_of_eight_who_ask_at_once_one_is_granted_and_the_others_wait(
    store: Store, replicas: int
) -> None:
    services = [replica(store) for _ in range(replicas)]
    for round_ in range(3):
        workflow = Agent(services[0]).create(f"round-{round_}", chain(1))
        racers = Racers(services)
        racers.run(workflow)

        assert len(racers.granted) == 1
        waits = [answer for answer in racers.answers.values() if isinstance(answer, Wait)]
        assert len(waits) == RACERS - 1
        assert {wait.reason for wait in waits} == {WaitReason.ATTEMPT_IN_PROGRESS}
        [attempt] = cold_head(services[0], workflow).workflow.operation(0).attempts
        assert attempt.request_id == f"request-of-{racers.granted[0]}"
    for service in services:
        service.rows.flush()


def test_each_of_eight_who_ask_for_the_next_gets_another_operation(store: Store) -> None:
    services = [replica(store) for _ in range(2)]
    workflow = Agent(services[0]).create("k", parallel(RACERS))
    racers = Racers(services)

    def ask(agent: Agent) -> None:
        racers.answers[agent.name] = agent.ask(workflow)

    side_by_side(ThreadSpawner(), [partial(ask, agent) for agent in racers.agents])

    granted = [answer for answer in racers.answers.values() if isinstance(answer, Execute)]
    assert {grant.operation for grant in granted} == {f"op-{number}" for number in range(RACERS)}
    assert all(grant.attempt == 1 for grant in granted)
    for service in services:
        service.rows.flush()


def test_eight_who_create_one_workflow_at_once_have_one(store: Store) -> None:
    services = [replica(store) for _ in range(RACERS)]
    made: set[tuple[str, int]] = set()

    def create(number: int) -> None:
        agent = Agent(services[number], f"racer-{number}")
        workflow = agent.create("k", chain(2))
        made.add((workflow, cold_head(services[number], workflow).workflow.revision))

    side_by_side(ThreadSpawner(), [partial(create, number) for number in range(RACERS)])

    # Created once, enabled once, however many asked for both.
    assert {workflow for workflow, _ in made} == {next(iter(made))[0]}
    assert {revision for _, revision in made} == {2}
    for service in services:
        service.rows.flush()


# ---------------------------------------------------------------------------------- processes


@contextmanager
def processes(folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    with ExitStack() as stack:
        running: list[subprocess.Popen[str]] = []
        for number in range(RACERS):
            command = [sys.executable, "-m", "tests.support.services", str(folder), f"p-{number}"]
            process = stack.enter_context(
                subprocess.Popen(
                    command,
                    cwd=REPOSITORY,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            running.append(process)
        yield running


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_eight_processes_on_one_file_one_is_granted_and_the_others_wait(
    tmp_path: Path,
) -> None:
    # The vault does not exist either: they race to make it, its key, its workflow, and the grant.
    with processes(tmp_path / "vault") as running:
        assert [hear(process) for process in running] == ["ready"] * RACERS
        for round_ in range(5):
            for process in running:
                assert process.stdin is not None
                process.stdin.write(f"round-{round_}\n")
                process.stdin.flush()
            answers = Counter(hear(process) for process in running)
            assert answers == {"Execute": 1, "Wait": RACERS - 1}


# --------------------------------------------------------------------------------- group commit


class Gate:
    """A store whose creates wait until somebody opens it."""

    def __init__(self, store: Store) -> None:
        self._store = store
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
