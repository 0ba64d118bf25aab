"""A real process is killed at each point around its effect; what is recovered is what was promised.

For each capability, over SQLite and over an S3 server in a process of its own:

    killed before the effect     carried on, in the end exactly one effect
    killed after the effect      found, repeated under its key, or stopped for a person: one effect
    killed after the receipt     the receipt is given back: one effect; what was granted with it
                                 stands where a kill before its effect would leave it
    killed during a renewal      as after the effect

Every case starts real processes and then mostly waits for a lease to run out, so all of them run at
once, before the first is judged.
"""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from onceward.embedded import EmbeddedController
from onceward.system import SystemClock
from onceward.wire import messages
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.problems import ConflictError, ProblemCode
from onceward.wire.receipts import Assurance, Outcome
from onceward_controller import bootstrap
from tests.crash.scenario import CAPABILITIES, POINTS, Hook, Point, Scenario
from tests.support.s3_server import S3Server

STORES = ("sqlite", "s3")
AT_ONCE = 12
DEADLINE_S = 240


class Recovered(msgspec.Struct, frozen=True):
    """What one case came to.

    Attributes:
        said: The last line of the worker that came after the crash.
        was_there: Whether the effect had happened when the process was killed.
        decided: Whether a person had to say what happened.
        effects: How many effects ``act`` and ``after`` had in the end.
        view: The workflow in the end.
    """

    said: str
    was_there: bool
    decided: bool
    effects: tuple[int, int]
    view: messages.WorkflowView


Case = tuple[str, str, Point]


@pytest.fixture(scope="module")
def recovered(
    tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server
) -> Iterator[dict[Case, Future[Recovered]]]:
    cases: list[Case] = [
        (store, capability, point)
        for store in STORES
        for capability in CAPABILITIES
        for point in POINTS
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            case: pool.submit(_recover, tmp_path_factory.mktemp("crash"), case, s3_server)
            for case in cases
        }


@pytest.mark.timeout(DEADLINE_S)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("store", STORES)
def test_a_killed_worker_leaves_exactly_one_effect(
    recovered: dict[Case, Future[Recovered]], store: str, capability: str, point: Point
) -> None:
    came_to = recovered[store, capability, point].result()

    assert came_to.effects == (1, 1)
    assert came_to.view.status is messages.WorkflowStatus.COMPLETED
    assert came_to.was_there is (point != "before effect")
    act = came_to.view.operations[0]
    assert [attempt.number for attempt in act.attempts] == [*range(1, len(act.attempts) + 1)]
    if point == "after receipt":
        assert len(act.attempts) == 1
    # A person is asked where nobody else can know, and nowhere else.
    assert came_to.decided is (capability == "none")
    if came_to.decided:
        in_doubt = "after" if point == "after receipt" else "act"
        assert came_to.said == f"stopped needs_decision {in_doubt}"
    is_attested = came_to.decided and point in ("after effect", "during renewal")
    expected = Assurance.OPERATOR_ATTESTED if is_attested else Assurance.HOST_REPORTED
    assert act.assurance is expected


def _recover(folder: Path, case: Case, server: S3Server) -> Recovered:
    store, capability, point = case
    s3 = None
    if store == "s3":
        s3 = server.settings(f"crash/{capability}/{point.replace(' ', '-')}/")
    scenario = Scenario(folder=str(folder), capability=capability, s3=s3)
    opened = scenario.store()
    bootstrap.create_vault(opened, scenario.key_file)
    opened.close()
    file = folder / "scenario.json"
    file.write_bytes(msgspec.json.encode(scenario))
    controller = EmbeddedController(scenario.service(), principal="person")
    try:
        tool = scenario.tool(Hook(), Hook())
        operations = (
            tool.operation("act", {"name": "act"}),
            tool.operation("after", {"name": "after"}),
        )
        work = controller.create_workflow(
            WorkspaceName("crash"), messages.CreateWorkflow(key="work", operations=operations)
        )
        controller.enable(work.id)
        act, after = (each.operation_id for each in work.operations)
        destination = scenario.destination()

        _kill_at(file, work.id, point)
        was_there = destination.has(act)
        assert destination.count(after) == 0
        said = _run(file, work.id)
        decided = said.startswith("stopped")
        if decided:
            assert destination.count(after) == 0, "what depends on it has not started"
            name = said.split()[-1]
            happened = destination.has({"act": act, "after": after}[name])
            _decide(controller, work.id, OperationName(name), happened=happened)
            assert _run(file, work.id) == "done 2"
        return Recovered(
            said=said,
            was_there=was_there,
            decided=decided,
            effects=(destination.count(act), destination.count(after)),
            view=controller.workflow(work.id),
        )
    finally:
        controller.close()


def _kill_at(scenario: Path, workflow: str, point: Point) -> None:
    """Start a worker and SIGKILL it once it says that it has come to ``point``."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.worker", str(scenario), workflow, point],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "reached\n"
        finally:
            process.kill()


def _run(scenario: Path, workflow: str) -> str:
    command = [sys.executable, "-m", "tests.crash.worker", str(scenario), workflow, "never"]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=DEADLINE_S)
    return ended.stdout.splitlines()[-1]


def _decide(
    controller: EmbeddedController,
    workflow: WorkflowId,
    operation: OperationName,
    *,
    happened: bool,
) -> None:
    """Say what a person finds at the destination, as soon as they may say it."""
    clock = SystemClock()
    view = controller.workflow(workflow)
    body = messages.Resolve(
        outcome=Outcome.SUCCEEDED if happened else Outcome.NOT_EXECUTED,
        evidence="looked at the destination",
        revision=view.revision,
        effect_id="seen" if happened else None,
    )
    while (landed_ms := _refused_until_ms(controller, view.id, operation, body)) is not None:
        clock.sleep(landed_ms - clock.wall_ms())


def _refused_until_ms(
    controller: EmbeddedController,
    workflow: WorkflowId,
    operation: OperationName,
    body: messages.Resolve,
) -> int | None:
    """Resolve; or return from when that is allowed, because an issued call may still land."""
    try:
        controller.resolve(workflow, operation, body)
    except ConflictError as refusal:
        if refusal.code is not ProblemCode.MAY_STILL_LAND:
            raise
        return int(refusal.more["allowed_from_ms"])
    return None
