"""Sixteen clients on one workflow over HTTP: one grant at a time, each operation once."""

import threading
from pathlib import Path

from onceward.wire import messages
from onceward.wire.definitions import OperationDefinition
from onceward_controller.bootstrap import HOST, open_embedded_service
from tests.support.http_controller import RunningController, request, serving

CLIENTS = 16
OPERATIONS = 12


class Holders:
    """Counts who holds a grant right now, and the most that ever did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0
        self.grants: list[tuple[str, int]] = []

    def take(self, operation: str, attempt: int) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.grants.append((operation, attempt))

    def give(self) -> None:
        with self._lock:
            self._now -= 1


def work(controller: RunningController, workflow: str, name: int, holders: Holders) -> None:
    """Ask until all is done; run and report whatever is granted."""
    while True:
        decision = request(
            controller,
            "POST",
            f"/v1/workflows/{workflow}/begin",
            {"request_id": f"request-of-client-{name:02}"},
        ).json
        if decision["decision"] == "done":
            return
        if decision["decision"] != "execute":
            assert decision["decision"] == "wait", decision
            continue
        holders.take(decision["operation"], decision["attempt"])
        receipt = {
            "outcome": "confirmed_succeeded",
            "operation_id": decision["operation_id"],
        }
        holders.give()
        filed = request(
            controller,
            "POST",
            f"/v1/workflows/{workflow}/operations/{decision['operation']}/complete",
            {
                "attempt": decision["attempt"],
                "lease_token": decision["lease_token"],
                "receipt": receipt,
            },
        )
        assert filed.json["standing"] == "accepted"


def test_sixteen_clients_are_granted_one_operation_at_a_time_and_each_once(
    tmp_path: Path,
) -> None:
    names = [f"step-{at}" for at in range(OPERATIONS)]
    body = messages.CreateWorkflow(
        key="order-17",
        operations=tuple(OperationDefinition(name=name, tool="upload") for name in names),
    )
    holders = Holders()
    failures: list[BaseException] = []
    with serving(open_embedded_service(tmp_path / "vault")) as controller:
        workflow = controller.service.workflows.create(HOST, "docs", body).id
        controller.service.workflows.enable(HOST, workflow)

        def client(name: int) -> None:
            try:
                work(controller, workflow, name, holders)
            except BaseException as error:  # noqa: BLE001  # told by the test's own thread
                failures.append(error)

        threads = [threading.Thread(target=client, args=(name,)) for name in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert failures == []
    assert holders.most == 1
    assert holders.grants == [(name, 1) for name in names]


def test_of_sixteen_that_ask_at_once_one_is_granted(tmp_path: Path) -> None:
    body = messages.CreateWorkflow(
        key="order-17", operations=(OperationDefinition(name="upload", tool="upload"),)
    )
    decisions: list[str] = []
    start = threading.Barrier(CLIENTS)
    with serving(open_embedded_service(tmp_path / "vault")) as controller:
        workflow = controller.service.workflows.create(HOST, "docs", body).id
        controller.service.workflows.enable(HOST, workflow)

        def client(name: int) -> None:
            start.wait()
            asked = {"request_id": f"request-of-client-{name:02}"}
            path = f"/v1/workflows/{workflow}/begin"
            decisions.append(request(controller, "POST", path, asked).json["decision"])

        threads = [threading.Thread(target=client, args=(name,)) for name in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(decisions) == ["execute"] + ["wait"] * (CLIENTS - 1)
