"""What a controller tells of operations that ran before this process asked."""

from onceward.wire import messages
from onceward.wire.capabilities import Capability
from onceward.wire.decisions import Reuse
from onceward.wire.identifiers import OperationName, WorkflowKey, WorkspaceName
from onceward.wire.messages import OperationStatus, OperationView
from onceward.wire.receipts import Assurance, Outcome, Receipt
from tests.support.scripted_controller import WORKFLOW, operation_id


def succeeded(name: str, result: object = None) -> Receipt:
    return Receipt(Outcome.SUCCEEDED, operation_id(name), result=result)


def reuse(name: str, result: object = None) -> Reuse:
    return Reuse(
        OperationName(name), operation_id(name), succeeded(name, result), Assurance.HOST_REPORTED
    )


def view(*names: str, status: OperationStatus, receipts: bool = False) -> messages.WorkflowView:
    return messages.WorkflowView(
        id=WORKFLOW,
        workspace=WorkspaceName("default"),
        key=WorkflowKey("k"),
        status=messages.WorkflowStatus.COMPLETED,
        revision=7,
        definition_digest="0" * 64,
        created_ms=0,
        operations=tuple(
            OperationView(
                name=OperationName(name),
                operation_id=operation_id(name),
                tool="upload",
                version="1",
                destination="",
                capability=Capability(),
                guarantee="at most once",
                timeout_ms=1,
                lease_ms=1,
                max_in_flight_ms=1,
                after=(),
                status=status,
                next="reuse",
                receipt=succeeded(name, f"seen {name}") if receipts else None,
            )
            for name in names
        ),
    )
