"""Many ask for one operation at once: one is granted it, whoever and wherever they are."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from onceward.system import SystemClock, SystemEntropy, ThreadSpawner
from onceward.wire.decisions import Decision, Execute, Wait, WaitReason
from onceward.wire.identifiers import WorkflowId
from onceward_controller.service.service import Service
from onceward_controller.vault.keys import keyring
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.probe.race import side_by_side
from onceward_controller.vault.s3 import connect
from onceward_controller.vault.sqlite import SqliteStore
from onceward_controller.vault.store import Store
from tests.support.services import (
    UNLOCKER,
    Agent,
    chain,
    cold_head,
    open_over,
    parallel,
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
