"""Why an operation does not run, in sentences for the person who has to act."""

from onceward.wire.decisions import StopReason
from onceward.wire.definitions import OperationDefinition
from onceward.wire.messages import ToolOffer
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.attempt import Attempt
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.operation import Operation

WORKFLOW_ABANDONED = "the workflow was abandoned; nothing of it runs again"
OPERATION_ABANDONED = "the operation was abandoned; it never runs again"
NOT_ENABLED = "nobody has enabled the workflow yet: review it, then enable it"
PAUSED = "the workflow is paused: enable it to go on"
BLOCKED = (
    "an attempt that was already replaced reported success afterwards: "
    "look at the destination, then resolve"
)
REVISION_LIMIT = "the workflow has used up its revisions: settle what is open, start a new one"


def unknown_tool(definition: OperationDefinition) -> str:
    """Return why a caller without the tool gets no grant."""
    offer = ToolOffer(definition.tool, definition.version)
    return f"the caller does not offer the tool: tool=`{offer.name}` version=`{offer.version}`"


def refused(operation: Operation) -> str:
    """Return why an operation is not executed for good."""
    last = operation.last_effect
    return (
        f"the tool reported that it did not happen, {operation.refusals} of "
        f"{operation.refusals} permitted times{_why(last)}: "
        "resolve it as not executed for one more attempt"
    )


def clock_unsafe(moment: Moment) -> str:
    """Return both times, and what to do about them."""
    return (
        "this host's clock and the store's disagree, or the workflow has seen a later time: "
        f"store_ms=`{moment.store_ms}` local_ms=`{moment.local_ms}`; correct the clock"
    )


def predecessor(reason: StopReason, name: str) -> str:
    """Return what stands in the way, by name."""
    if reason is StopReason.PREDECESSOR_STOPPED:
        return f"it waits for `{name}`, which was abandoned"
    return f"it waits for `{name}`, which waits for a person"


def attempt_limit(operation: Operation) -> str:
    """Return that the attempts are used up, and who can admit one more."""
    return (
        f"all {operation.attempts_max} attempts are used up: "
        "resolve it; an answer of not executed admits one more"
    )


def uncertain(operation: Operation, definition: OperationDefinition) -> str:
    """Return what is known of an effect whose outcome is not, and the way out."""
    effect = operation.last_effect
    if effect is None:
        raise AssertionError("only an attempt at the effect makes an operation uncertain")
    said = (
        f"reported that it cannot tell{_why(effect)}"
        if effect.accepted(Outcome.UNKNOWN)
        else "was licensed and never reported"
    )
    capability = definition.capability
    ways = []
    if not capability.query:
        ways.append("the tool cannot ask its destination")
    elif operation.attempts[-1].accepted(Outcome.UNKNOWN):
        ways.append(f"the destination could not tell{_why(operation.attempts[-1])}")
    if capability.idempotency_ms is None:
        ways.append("it has no idempotency key")
    else:
        ways.append("its idempotency key no longer lives long enough")
    return (
        f"attempt {effect.number} ({effect.mode}) {said}: it may have happened; "
        f"{' and '.join(ways)}. Look at the destination, then resolve"
    )


def _why(attempt: Attempt | None) -> str:
    report = None if attempt is None else attempt.report
    return f" ({report.reason})" if report is not None and report.reason else ""
