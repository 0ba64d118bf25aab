"""Taking back what was licensed by a clock that its own write showed to be wrong.

A host that was frozen, boot time and all, believes that no time has passed, and nothing contradicts
it before the store answers. If the first answer is that to a grant's create, the grant is durable
and its lease is over for everybody else, while its holder would count on it: nobody is told of it,
and the log says that the call was never made.
"""

from collections.abc import Sequence

import msgspec

from onceward.sealing import IntegrityError
from onceward.wire.decisions import StopReason
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward_controller.protocol import reasons
from onceward_controller.protocol.answers import Answer, Extended, Filed, Grant, Stop
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.events import Granted, Released
from onceward_controller.vault.body import Entry

Refusal = ProblemError | IntegrityError
"""How one command of many fails without the others."""


def releases(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries that take back every grant of ``entries``."""
    taken = (
        Entry(
            actor=entry.actor,
            command="release",
            events=tuple(
                Released(at=event.at, number=event.number)
                for event in entry.events
                if isinstance(event, Granted)
            ),
        )
        for entry in entries
    )
    return tuple(entry for entry in taken if entry.events)


def retracted(answer: Answer | Refusal, moment: Moment) -> Answer | Refusal:
    """Return what to say instead of ``answer``: a receipt stays filed, and nothing is licensed."""
    match answer:
        case Grant(at=at):
            return Stop(at=at, reason=StopReason.CLOCK_UNSAFE, detail=reasons.clock_unsafe(moment))
        case Filed(then=Grant(at=at)):
            stop = Stop(at=at, reason=StopReason.CLOCK_UNSAFE, detail=reasons.clock_unsafe(moment))
            return msgspec.structs.replace(answer, then=stop)
        case Extended():
            return problem(
                ProblemCode.CLOCK_UNSAFE,
                "the clocks disagree; the lease is not extended",
                store_ms=moment.store_ms,
                local_ms=moment.local_ms,
            )
        case _:
            return answer
