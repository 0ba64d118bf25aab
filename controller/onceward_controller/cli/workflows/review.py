"""What a person sees before a workflow may run: what will be done, to whom, how surely."""

from rich.console import Group, RenderableType

from onceward.wire.messages import OperationView, WorkflowView
from onceward_controller.cli.terminal import moments, sheet
from onceward_controller.cli.workflows import sheet as workflow_sheet


def draw(view: WorkflowView) -> Group:
    """Return every operation with its tool, destination, arguments and guarantee."""
    parts: list[RenderableType] = [
        sheet.text(f"{view.id}  {view.label or view.key}", sheet.HEADING),
        sheet.text(f"definition {view.definition_digest}", sheet.FAINT),
    ]
    for number, operation in enumerate(view.operations, start=1):
        parts += [
            sheet.heading(f"{number}. {operation.name}"),
            sheet.indented(sheet.facts(_promises(operation))),
        ]
    return Group(*parts)


def _promises(operation: OperationView) -> list[tuple[str, str]]:
    timeout, lease = moments.duration(operation.timeout_ms), moments.duration(operation.lease_ms)
    return [
        *workflow_sheet.described(operation),
        ("can", _capability(operation)),
        ("guarantee", operation.guarantee),
        ("limits", f"one call takes at most {timeout}; a lease lasts {lease}"),
        ("after", ", ".join(operation.after)),
    ]


def _capability(operation: OperationView) -> str:
    capability = operation.capability
    can = ["ask its destination what happened"] if capability.query else []
    if capability.idempotency_ms is not None:
        kept = moments.duration(capability.idempotency_ms)
        can.append(f"repeat under one key for {kept}")
    return " and ".join(can) or "neither ask its destination nor repeat safely"
