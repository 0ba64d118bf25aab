"""Everything that is so: a workflow, a clock, and what became of every call.

The destination lies in wait for the protocol, within what its tool declares:

    a call may land at any moment before its lease ended + max_in_flight + the clocks' error
    a query saw what was there when it was granted, or sees what is there now, whenever it reports
    a key is enforced from the first grant on for as long as declared, and not 1 ms longer

Workers die, come late and hand in what they know in any order, but none lies: who says success has
landed, who says not executed or gives back never will. People do not lie either.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from onceward.wire import limits, messages
from onceward.wire.decisions import Mode
from onceward.wire.definitions import OperationDefinition
from onceward.wire.messages import WorkflowStatus
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import commands, events
from onceward_controller.protocol.answers import Transition
from onceward_controller.protocol.attempt import Attempt
from onceward_controller.protocol.clockguard import Moment, moment
from onceward_controller.protocol.decide import needs
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.workflow import Workflow, close, evolve, settled_by
from tests.support.protocol import (
    MARGIN_MS,
    NAMING,
    START_MS,
    complete,
    draft,
    reading,
    request_of,
)

RENEWALS = 2
"""How often one attempt is renewed here."""

MAY_LAND, LANDED, NEVER = 0, 1, 2


class Call(Struct, frozen=True, array_like=True):
    """What became of the call of one attempt.

    Attributes:
        fate: 0 it may still land, 1 it landed, 2 it never will.
        effect: Which effect it brought about or met, 0 for none.
        saw: For a query: how many effects there were when it was granted.
    """

    fate: int = 0
    effect: int = 0
    saw: int = 0


class World(Struct, frozen=True):
    """Everything that is so, known to anybody or not.

    Attributes:
        calls: By operation and attempt.
        effects: How many the destination really has, by operation.
        archive: Records of final operations, as their revisions carry them.
    """

    workflow: Workflow
    now_ms: int
    calls: tuple[tuple[Call, ...], ...]
    effects: tuple[int, ...]
    archive: dict[int, Operation]

    def key(self) -> bytes:
        """Return bytes that differ from those of every other state."""
        return msgspec.msgpack.encode(
            (
                self.workflow.progress,
                self.now_ms,
                self.calls,
                self.effects,
                self.archive,
            )
        )

    def operation(self, at: int) -> Operation:
        return self.archive.get(at) or self.workflow.operation(at)

    def definition(self, at: int) -> OperationDefinition:
        return self.workflow.plan.definition(at)

    def lands_before_ms(self, at: int, attempt: Attempt) -> int:
        """Return from when on the call of ``attempt`` lands no more."""
        return attempt.lease_until_ms + self.definition(at).max_in_flight_ms + MARGIN_MS

    @property
    def indexes(self) -> range:
        return range(len(self.effects))


Step = tuple[str | int, ...]
"""What somebody does, in words; ``command_of`` reads them."""


def first_world(operations: tuple[OperationDefinition, ...]) -> World:
    """Return the world in which nothing has been done yet."""
    return World(
        workflow=draft(*operations),
        now_ms=START_MS,
        calls=((),) * len(operations),
        effects=(0,) * len(operations),
        archive={},
    )


# The destination and the clock.


def landed(world: World, at: int, number: int) -> World:
    """The call of attempt ``number`` takes effect now, unless a living key says that it has."""
    definition = world.definition(at)
    effect = world.effects[at] + 1
    keeps_ms = definition.capability.idempotency_ms
    first_ms = world.operation(at).attempts[0].granted_ms
    if keeps_ms is not None and world.effects[at] and world.now_ms < first_ms + keeps_ms:
        effect = world.effects[at]
    return called(world, at, number, Call(fate=LANDED, effect=effect), effects=effect)


def called(world: World, at: int, number: int, call: Call, *, effects: int | None = None) -> World:
    calls = list(world.calls)
    of_one = list(calls[at])
    of_one[number - 1 : number] = [call]
    calls[at] = tuple(of_one)
    totals = list(world.effects)
    totals[at] = world.effects[at] if effects is None else effects
    return msgspec.structs.replace(world, calls=tuple(calls), effects=tuple(totals))


def clocked(world: World, now_ms: int) -> World:
    """Move the clock; what did not land in time never will."""
    world = msgspec.structs.replace(world, now_ms=now_ms)
    for at in world.indexes:
        for attempt in world.operation(at).attempts:
            call = world.calls[at][attempt.number - 1]
            if call.fate == MAY_LAND and now_ms >= world.lands_before_ms(at, attempt):
                world = called(world, at, attempt.number, msgspec.structs.replace(call, fate=NEVER))
    return world


def boundaries(world: World) -> Iterator[int]:
    """Yield the moments at which an answer may change, and the last ms before each."""
    moments: set[int] = set()
    for at in world.indexes:
        definition, operation = world.definition(at), world.operation(at)
        if not operation.attempts or operation.is_final:
            continue
        last = operation.attempts[-1]
        moments |= {last.lease_until_ms, last.lease_until_ms + MARGIN_MS}
        effects = [each for each in operation.attempts if each.is_effect]
        moments.add(max(world.lands_before_ms(at, each) for each in effects))
        if definition.capability.idempotency_ms is not None:
            first_ms = operation.attempts[0].granted_ms
            kept_ms = first_ms + definition.capability.idempotency_ms
            in_flight_ms = definition.max_in_flight_ms
            moments.add(kept_ms - definition.lease_ms - in_flight_ms - limits.REPEAT_MARGIN_MS)
        if last.report is not None:
            moments |= {last.report.at_ms + 1_000, last.report.at_ms + 2_000}
    for each in sorted(moments):
        for now_ms in (each - 1, each):
            if now_ms > world.now_ms:
                yield now_ms


# Commands.


def now_of(world: World, *, safe: bool = True) -> Moment:
    local_ms = world.now_ms if safe else world.now_ms + limits.DAY_MS
    return moment(
        reading(world.now_ms, local_ms=local_ms),
        high_water_ms=world.workflow.progress.high_water_ms,
    )


def at_hand(world: World, command: commands.Command) -> Workflow:
    workflow = world.workflow
    for at in needs(workflow, command):
        workflow = workflow.thawed(world.archive[at])
    return workflow


def written(world: World, command: commands.Command, transition: Transition) -> World:
    """Return the world once what ``command`` changes is durable, as one revision."""
    if not transition.events:
        return world
    now = now_of(world)
    stamp = Stamp(revision=world.workflow.revision + 1, ms=now.ms, safe=now.safe)
    workflow = at_hand(world, command)
    calls = list(world.calls)
    for event in transition.events:
        workflow = evolve(workflow, event, stamp)
        if isinstance(event, events.Granted):
            calls[event.at] = (*calls[event.at], new_call(world, event))
    settled = {operation.at: operation for operation in settled_by(workflow, stamp.revision)}
    return World(
        workflow=close(workflow, transition.events, stamp),
        now_ms=world.now_ms,
        calls=tuple(calls),
        effects=world.effects,
        archive={**world.archive, **settled},
    )


def new_call(world: World, event: events.Granted) -> Call:
    if event.mode is Mode.QUERY:
        return Call(fate=NEVER, saw=world.effects[event.at])
    return Call()


def asks(worker: str, operation: str | None = None) -> commands.Begin:
    return commands.Begin(messages.Begin(request_id=request_of(worker), operation=operation))


def reports(
    world: World,
    at: int,
    attempt: Attempt,
    outcome: Outcome,
    effect: int,
    *,
    then: messages.Begin | None = None,
) -> commands.Complete:
    return complete(
        world.workflow,
        at,
        attempt.number,
        outcome,
        worker=attempt.request_id.removeprefix("request-of-"),
        effect_id=f"effect-{effect}" if effect else None,
        then_begin=then,
    )


def held(world: World, at: int, attempt: Attempt) -> tuple[str, int, str]:
    operation_id = world.workflow.plan.operation_id(at, NAMING)
    token = NAMING.lease_token(operation_id, attempt.number, attempt.request_id)
    return world.definition(at).name, attempt.number, token


def renewal(world: World, at: int, attempt: Attempt) -> commands.Renew:
    name, number, token = held(world, at, attempt)
    return commands.Renew(name, messages.Renew(number, token))


def giving_back(world: World, at: int, attempt: Attempt) -> commands.Release:
    name, number, token = held(world, at, attempt)
    return commands.Release(name, messages.Release(number, token))


def word(world: World, at: int) -> commands.Resolve:
    """Return what a person who looks at the destination says."""
    found = world.effects[at] > 0
    body = messages.Resolve(
        outcome=Outcome.SUCCEEDED if found else Outcome.NOT_EXECUTED,
        evidence="I looked",
        revision=world.workflow.revision,
        effect_id="effect-1" if found else None,
    )
    return commands.Resolve(world.definition(at).name, body, receipt=b"attested")


def giving_up(world: World, operation: str | None) -> commands.Abandon:
    return commands.Abandon(
        messages.Abandon(evidence="no", revision=world.workflow.revision, operation=operation)
    )


def truths(world: World, at: int, attempt: Attempt) -> Iterator[tuple[Outcome, int]]:
    """Yield what the holder of ``attempt`` may say without lying, and of which effect."""
    call = world.calls[at][attempt.number - 1]
    yield Outcome.UNKNOWN, 0
    if attempt.mode is Mode.QUERY:
        if world.effects[at]:
            yield Outcome.SUCCEEDED, 1
        if call.saw == 0:
            yield Outcome.NOT_EXECUTED, 0
        return
    if call.fate == LANDED:
        yield Outcome.SUCCEEDED, call.effect
    else:
        yield Outcome.NOT_EXECUTED, 0


# All that anybody can do.


def steps(world: World) -> Iterator[Step]:
    """Yield all that anybody can do, as words that ``stepped`` understands."""
    known = any(world.calls)
    for worker in ("ann", "bob") if known else ("ann",):
        yield ("begin", worker)
    if len(world.effects) > 1:
        yield ("begin", "bob", "b")
    for at in world.indexes:
        operation = world.operation(at)
        for attempt in operation.attempts:
            call = world.calls[at][attempt.number - 1]
            if attempt.is_effect and call.fate == MAY_LAND:
                yield ("land", at, attempt.number)
            if attempt.report is None:
                for outcome, effect in truths(world, at, attempt):
                    yield ("report", at, attempt.number, outcome.value, effect)
                    if outcome is not Outcome.UNKNOWN:
                        yield ("report", at, attempt.number, outcome.value, effect, "advance")
            if not attempt.has_ended and call.fate != LANDED:
                yield ("release", at, attempt.number)
            if not attempt.has_ended and attempt.renewals < RENEWALS:
                yield ("renew", at, attempt.number)
        if not operation.is_final and known:
            yield ("resolve", at)
    if known:
        yield ("pause",)
        yield ("abandon", "a")
        yield ("abandon",)
    if world.workflow.progress.switch is not WorkflowStatus.ENABLED:
        yield ("enable",)
    for now_ms in boundaries(world):
        yield ("clock", now_ms)


def command_of(world: World, step: Step) -> commands.Command:
    """Return the command that ``step`` says in words."""
    match step:
        case ("begin", str(worker)):
            return asks(worker)
        case ("begin", str(worker), str(operation)):
            return asks(worker, operation)
        case ("report", int(at), int(number), str(outcome), int(effect), *advance):
            attempt = world.operation(at).attempts[number - 1]
            then = messages.Begin(request_id=attempt.request_id) if advance else None
            return reports(world, at, attempt, Outcome(outcome), effect, then=then)
        case ("release", int(at), int(number)):
            return giving_back(world, at, world.operation(at).attempts[number - 1])
        case ("renew", int(at), int(number)):
            return renewal(world, at, world.operation(at).attempts[number - 1])
        case ("resolve", int(at)):
            return word(world, at)
        case ("pause",):
            return commands.Pause()
        case ("enable",):
            return commands.Enable()
        case ("abandon", str(operation)):
            return giving_up(world, operation)
        case ("abandon",):
            return giving_up(world, None)
        case _:
            raise AssertionError(f"no such step: {step}")
