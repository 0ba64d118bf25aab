"""One workflow, everything that is known: what ``workflows show`` prints.

What a person must decide comes last, where the eye is when the prompt returns.
"""

from rich.console import Group, RenderableType
from rich.text import Text

from onceward.wire.decisions import Mode
from onceward.wire.messages import AttemptView, OperationStatus, OperationView, WorkflowView
from onceward.wire.receipts import Assurance, Outcome
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.terminal import moments, sheet, words
from onceward_controller.cli.workflows import choices

_ASSURANCES = {
    Assurance.HOST_REPORTED: "reported by the tool",
    Assurance.OPERATOR_ATTESTED: "attested by an operator",
}
_OUTCOMES = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.NOT_EXECUTED: "not executed",
    Outcome.UNKNOWN: "unknown",
}
_QUERY_OUTCOMES = {
    Outcome.SUCCEEDED: "found it",
    Outcome.NOT_EXECUTED: "did not find it",
    Outcome.UNKNOWN: "could not tell",
}
_ALARMING = frozenset({OperationStatus.UNCERTAIN, OperationStatus.BLOCKED})


def draw(view: WorkflowView, invocation: Invocation, *, now_ms: int) -> Group:
    """Return the whole sheet."""
    waiting = words.needs_decision(view)
    parts: list[RenderableType] = [
        sheet.text(view.id if not view.label else f"{view.id}  {view.label}", sheet.HEADING),
        sheet.text(words.sentence(view), sheet.ALARM if waiting else ""),
        "",
        _identity(view, now_ms=now_ms),
        sheet.heading("Operations"),
        _operations(view),
    ]
    if any(operation.attempts for operation in view.operations):
        parts += [sheet.heading("Attempts"), _attempts(view, now_ms=now_ms)]
    if any(operation.receipt for operation in view.operations):
        parts += [sheet.heading("Receipts"), _receipts(view)]
    for operation in waiting:
        parts += _decision(view, operation, invocation, now_ms=now_ms)
    return Group(*parts)


def _identity(view: WorkflowView, *, now_ms: int) -> RenderableType:
    created = (
        f"{moments.clock(view.created_ms)} ({moments.distance(view.created_ms, now_ms=now_ms)})"
    )
    return sheet.facts(
        [
            ("key", view.key),
            ("workspace", view.workspace),
            ("tags", ", ".join(view.tags)),
            ("status", f"{view.status.value}, revision {view.revision}"),
            ("created", created),
        ]
    )


def _operations(view: WorkflowView) -> RenderableType:
    return sheet.table(
        ("operation", "state", "guarantee", "if a worker asks now"),
        [
            (
                operation.name,
                _state(operation),
                operation.guarantee,
                words.NEXT.get(operation.next, operation.next),
            )
            for operation in view.operations
        ],
    )


def _state(operation: OperationView) -> Text:
    word = operation.status.value.replace("_", " ")
    style = sheet.ALARM if operation.status in _ALARMING else ""
    return sheet.text(word, style)


def _attempts(view: WorkflowView, *, now_ms: int) -> RenderableType:
    return sheet.table(
        ("operation", "#", "mode", "granted", "what became of it"),
        [
            (
                operation.name,
                str(attempt.number),
                attempt.mode.value,
                moments.clock(attempt.granted_ms),
                _came_to(operation, attempt, now_ms=now_ms),
            )
            for operation in view.operations
            for attempt in operation.attempts
        ],
        keep=4,
    )


def _came_to(operation: OperationView, attempt: AttemptView, *, now_ms: int) -> str:
    renewed = f", renewed {attempt.renewals}x" if attempt.renewals else ""
    if attempt.released:
        return "handed back before the call"
    if attempt.outcome is None:
        until = moments.distance(attempt.lease_until_ms, now_ms=now_ms)
        is_live = operation.status is OperationStatus.IN_FLIGHT and now_ms < attempt.lease_until_ms
        if is_live:
            return f"running, lease ends {until}{renewed}"
        return f"never reported; lease ended {until}{renewed}"
    outcomes = _QUERY_OUTCOMES if attempt.mode is Mode.QUERY else _OUTCOMES
    effect = f", effect {attempt.effect_id}" if attempt.effect_id else ""
    evidence = " (evidence only)" if attempt.standing == "evidence" else ""
    reason = f": {attempt.reason}" if attempt.reason else ""
    return f"{outcomes[attempt.outcome]}{effect}{evidence}{renewed}{reason}"


def _receipts(view: WorkflowView) -> RenderableType:
    rows = []
    for operation in view.operations:
        receipt = operation.receipt
        if receipt is None:
            continue
        said = _ASSURANCES[operation.assurance] if operation.assurance else ""
        effect = f"effect {receipt.effect_id}" if receipt.effect_id else ""
        result = sheet.value(receipt.result) if receipt.result is not None else ""
        if receipt.result_payload is not None:
            result = f"a result of {receipt.result_payload.size:,} bytes, kept apart"
        if receipt.result_omitted is not None:
            result = f"a result of {receipt.result_omitted.size:,} bytes, too large to keep"
        told = "\n".join(part for part in (", ".join(filter(None, (said, effect))), result) if part)
        rows.append(
            (operation.name, Text("\n").join(sheet.text(line) for line in told.split("\n")))
        )
    return sheet.table(("operation", "what was recorded"), rows)


def _decision(
    view: WorkflowView, operation: OperationView, invocation: Invocation, *, now_ms: int
) -> list[RenderableType]:
    parts: list[RenderableType] = [
        sheet.heading(f"Decide: {operation.name}"),
        sheet.indented(sheet.facts(described(operation)), "", sheet.text(operation.detail)),
    ]
    if operation.double_effect_suspected:
        parts.append(
            sheet.indented(sheet.text("It may have happened twice: two attempts.", sheet.ALARM))
        )
    for choice in choices.of(view, operation, invocation, now_ms=now_ms):
        parts += [
            "",
            sheet.indented(sheet.text(choice.claim, sheet.HEADING), sheet.text(choice.consequence)),
            sheet.command(choice.command),
        ]
    return parts


def described(operation: OperationView) -> list[tuple[str, str]]:
    """Return what the operation does, to whom, as its definition says."""
    payload = operation.arguments_payload
    arguments = sheet.value(operation.arguments)
    if payload is not None:
        arguments = f"{payload.size:,} bytes, kept apart: sha256 {payload.sha256}"
    return [
        ("tool", f"{operation.tool}, version {operation.version}"),
        ("destination", operation.destination or "not declared"),
        ("arguments", arguments),
        ("operation id", operation.operation_id),
    ]
