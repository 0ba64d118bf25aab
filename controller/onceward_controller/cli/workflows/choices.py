"""What a person can decide about an operation, with the consequence and the command of each.

The commands hold everything but what only the person knows. Those words stand as placeholders that
``resolve`` and ``abandon`` refuse, so that a command pasted unread decides nothing.
"""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from onceward.wire import limits
from onceward.wire.decisions import Mode
from onceward.wire.messages import OperationStatus, OperationView, WorkflowView
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.terminal import moments

EVIDENCE = "HOW YOU KNOW"
EFFECT = "ID AT THE DESTINATION"
PLACEHOLDERS = frozenset({EVIDENCE, EFFECT})


class Choice(Struct, frozen=True):
    """One thing that a person can say.

    Attributes:
        claim: What they say by it.
        consequence: What follows, also when they are wrong.
        command: What to type, one line for each element.
    """

    claim: str
    consequence: str
    command: tuple[str, ...]


def landed_by_ms(operation: OperationView) -> int:
    """Return when every call that was issued has landed; 0 when none was.

    The controller decides by its own record; this tells a person beforehand.
    """
    leases = [each.lease_until_ms for each in operation.attempts if each.mode is not Mode.QUERY]
    if not leases:
        return 0
    return max(leases) + operation.max_in_flight_ms + limits.CLOCK_ERROR_MS


def of(
    view: WorkflowView, operation: OperationView, invocation: Invocation, *, now_ms: int
) -> tuple[Choice, ...]:
    """Return what can be decided about ``operation``, the harmless first."""
    resolve = ("workflows", "resolve", view.id)
    on = ("--revision", str(view.revision))
    evidence = ("--evidence", EVIDENCE)
    number = len(operation.attempts) + 1
    return (
        Choice(
            "It happened.",
            "It counts as done, and what waits for it goes on.",
            _folded(
                invocation,
                resolve,
                (operation.name, "--succeeded"),
                ("--effect-id", EFFECT),
                (*evidence, *on),
            ),
        ),
        Choice(
            "It did not happen.",
            _contradiction(operation)
            + not_executed_consequence(number)
            + _not_yet(operation, now_ms=now_ms),
            _folded(invocation, resolve, (operation.name, "--not-executed"), (*evidence, *on)),
        ),
        Choice(
            "I cannot tell.",
            "Leave it as it is: nothing runs, nothing is lost, somebody else may know. Or give it "
            "up for good: it never runs again, nor does what waits for it.",
            _folded(
                invocation,
                ("workflows", "abandon", view.id),
                ("--operation", operation.name),
                (*evidence, *on),
            ),
        ),
    )


def not_executed_consequence(number: int) -> str:
    """Return what follows from saying that it did not happen."""
    return f"Attempt {number} may start. If you are wrong, it happens TWICE."


def _contradiction(operation: OperationView) -> str:
    return "An attempt SAID THAT IT DID. " if operation.status is OperationStatus.BLOCKED else ""


def _not_yet(operation: OperationView, *, now_ms: int) -> str:
    landed_ms = landed_by_ms(operation)
    if now_ms >= landed_ms:
        return ""
    when = f"{moments.clock(landed_ms)}, {moments.distance(landed_ms, now_ms=now_ms)}"
    return f" Refused until {when}: until then a call may still land."


def _folded(invocation: Invocation, first: Sequence[str], *rest: Sequence[str]) -> tuple[str, ...]:
    program = invocation.command()
    if program == "onceward":
        parts = [invocation.command(*first)]
    else:  # Where it is to be found takes a line of its own: with the id it would not fit.
        parts = [program, f"  {shlex.join(first)}"]
    parts += [f"  {shlex.join(each)}" for each in rest]
    return (*(f"{part} \\" for part in parts[:-1]), parts[-1])
