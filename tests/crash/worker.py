"""A worker process of one scenario: runs the workflow, or holds still at a point to be killed.

    python -m tests.crash.worker SCENARIO.json WORKFLOW POINT

Prints ``reached`` at its point; else the outcome as its last line.
"""

import sys
from datetime import timedelta
from pathlib import Path
from threading import Event

import msgspec

import onceward as ow
from onceward.embedded import EmbeddedController
from onceward.wire import messages
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward_controller.service.service import Service
from tests.crash.scenario import Hook, Scenario, hold_still

WAIT = timedelta(seconds=90)


class Observed(EmbeddedController):
    """A controller that tells when a receipt or a renewal of ``act`` has been acknowledged."""

    def __init__(self, service: Service, point: str) -> None:
        super().__init__(service, principal="worker")
        self._point = point
        self.renewed = Event()

    def complete(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Complete
    ) -> messages.Completed:
        completed = super().complete(workflow, operation, body)
        if self._point == "after receipt" and operation == "act":
            hold_still()
        return completed

    def renew(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Renew
    ) -> messages.Renewed:
        renewed = super().renew(workflow, operation, body)
        self.renewed.set()
        return renewed


def main() -> None:
    scenario_file, workflow, point = sys.argv[1:]
    scenario = msgspec.json.decode(Path(scenario_file).read_bytes(), type=Scenario)
    controller = Observed(scenario.service(), point)

    def wait_for_renewal() -> None:
        controller.renewed.wait()
        hold_still()

    before = Hook("act", hold_still) if point == "before effect" else Hook()
    after = Hook()
    if point == "after effect":
        after = Hook("act", hold_still)
    elif point == "during renewal":
        after = Hook("act", wait_for_renewal)
    with ow.Client.over(controller, workspace="crash") as client:
        try:
            results = client.run(workflow, [scenario.tool(before, after)], wait=WAIT)
        except ow.Stopped as stopped:
            print(f"stopped {stopped.reason} {stopped.operation}")
        else:
            print(f"done {len(results)}")


if __name__ == "__main__":
    main()
