"""A walk through every short history of one and two operations, against a destination that lies
in wait.

The world is a workflow, a clock, and for each attempt what became of its call: it may still land,
has landed, or never will. Nothing else is assumed of the destination but what its tool declares:

    a call may land at any moment before its lease ended + max_in_flight + the clocks' error
    a query saw what was there when it was granted, or sees what is there now, whenever it reports
    a key is enforced from the first grant on for as long as declared, and not 1 ms longer

Workers die, come late and hand in what they know in any order, but none lies: who says success
has landed, who says not executed or gives back never will. People do not lie either. Then no
history may have a second effect, whatever the capability.

First breadth first, as far as the budget goes, with every rule checked at every step; then down
seeded paths that are longer than breadth can reach. ``ONCEWARD_EXPLORE_STATES`` sets the budget
of states for each destination.
"""

import os
import random
from collections import Counter, deque
from collections.abc import Iterator

import msgspec
import pytest
from msgspec import Struct
from onceward.wire import limits, messages
from onceward.wire.decisions import Mode, StopReason
from onceward.wire.definitions import OperationDefinition, Retry
from onceward.wire.messages import Standing, WorkflowStatus
from onceward.wire.problems import ProblemCode, ProblemError
from onceward.wire.receipts import Outcome
from tests.support.protocol import MARGIN_MS, NAMING, START_MS, complete, draft, request_of, tool

from onceward_controller.protocol import commands, events
from onceward_controller.protocol.answers import Done, Filed, Grant, Reuse, Stop, Transition, Wait
from onceward_controller.protocol.clockguard import Moment, moment
from onceward_controller.protocol.decide import decide, needs
from onceward_controller.protocol.operation import Attempt, Operation
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.rows import row
from onceward_controller.protocol.workflow import Workflow, close, evolve, settled_by
from tests.support.protocol import reading

STATES = int(os.environ.get("ONCEWARD_EXPLORE_STATES", "2500"))
"""Distinct states for each of the destinations; breadth first."""
PATHS = max(8, STATES // 25)
"""Long seeded paths after that, of ``STEPS`` steps each."""
STEPS = 24
RENEWALS = 2
KEY_MS = 8 * limits.MINUTE_MS
ONCE_MORE = Retry(attempts=2, first_ms=1_000, factor=2.0, cap_ms=60_000)

DESTINATIONS: dict[str, tuple[OperationDefinition, ...]] = {
    "none": (tool("a"),),
    "none, retried": (tool("a", retry=ONCE_MORE),),
    "query": (tool("a", query=True),),
    "query, retried": (tool("a", query=True, retry=ONCE_MORE),),
    "idempotency": (tool("a", idempotency_ms=KEY_MS),),
    "both": (tool("a", query=True, idempotency_ms=KEY_MS),),
    "none, then query": (tool("a"), tool("b", query=True)),
    "both, then idempotency": (
        tool("a", query=True, idempotency_ms=KEY_MS, retry=ONCE_MORE),
        tool("b", idempotency_ms=KEY_MS),
    ),
    "none beside query": (tool("a", after=()), tool("b", query=True, after=())),
}

seen = Counter[str]()
"""How often each thing that must sometimes happen did, over all destinations."""

SOMETIMES = (
    *(f"granted {mode}" for mode in Mode),
    "reuse",
    "done",
    "wait attempt_in_progress",
    "wait predecessor_running",
    "wait backing_off",
    "wait absence_uncertain",
    *(
        f"stop {reason}"
        for reason in StopReason
        if reason
        not in (
            # Reached by counting, in the unit tests; and nobody here lacks a tool.
            StopReason.ATTEMPT_LIMIT,
            StopReason.REVISION_LIMIT,
            StopReason.UNKNOWN_TOOL,
        )
    ),
    "the same grant again",
    "takeover after expiry",
    "execute after an absence",
    "execute after a retry",
    "execute after a release",
    "execute after an attestation",
    "repeat after a repeat",
    "late receipt accepted",
    "superseded receipt kept",
    "superseded success blocks",
    "evidence after abandonment",
    "evidence after attestation",
    "second effect suspected",
    "renewed",
    "renewal refused",
    "release refused",
    "release of a superseded attempt refused",
    "a receipt while a query runs",
    "conclusive absence",
    "inconclusive absence",
    "an absence that was superseded",
    "attested succeeded",
    "attested not executed",
    "too early to attest",
    "lease too live for a person",
    "call landed after its lease",
    "call landed after another grant",
    "key deduplicated",
    "carried on to the end",
    "carried on to a person",
    "carried on by a person",
)


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


MAY_LAND, LANDED, NEVER = 0, 1, 2


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


Step = tuple[str, ...] | tuple[str | int, ...]


def first_world(operations: tuple[OperationDefinition, ...]) -> World:
    nothing = World(
        workflow=draft(*operations),
        now_ms=START_MS,
        calls=((),) * len(operations),
        effects=(0,) * len(operations),
        archive={},
    )
    return commanded(nothing, commands.Enable())[0]


# The destination and the clock.


def landed(world: World, at: int, number: int) -> World:
    """The call of attempt ``number`` takes effect now, unless a living key says that it has."""
    attempt = world.operation(at).attempts[number - 1]
    definition = world.definition(at)
    effect, effects = world.effects[at] + 1, world.effects[at] + 1
    keeps_ms = definition.capability.idempotency_ms
    first_ms = world.operation(at).attempts[0].granted_ms
    if keeps_ms is not None and world.effects[at] and world.now_ms < first_ms + keeps_ms:
        effect = effects = world.effects[at]
        seen["key deduplicated"] += 1
    if world.now_ms >= attempt.lease_until_ms:
        seen["call landed after its lease"] += 1
    if number < len(world.operation(at).attempts):
        seen["call landed after another grant"] += 1
    return called(world, at, number, Call(fate=LANDED, effect=effect), effects=effects)


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


def decided(world: World, command: commands.Command, *, safe: bool = True) -> Transition:
    """Decide twice: the same answer, and nothing that went in has changed."""
    workflow = at_hand(world, command)
    before = msgspec.msgpack.encode((workflow.progress, workflow.records))
    now = now_of(world, safe=safe)
    try:
        transition = decide(workflow, command, now, NAMING)
    except ProblemError as error:
        with pytest.raises(ProblemError) as again:
            decide(workflow, command, now, NAMING)
        assert (again.value.code, again.value.more) == (error.code, error.more)
        assert msgspec.msgpack.encode((workflow.progress, workflow.records)) == before
        raise
    assert decide(workflow, command, now, NAMING) == transition
    assert msgspec.msgpack.encode((workflow.progress, workflow.records)) == before
    return transition


def commanded(world: World, command: commands.Command) -> tuple[World, Transition]:
    """Decide and write, as one revision."""
    transition = decided(world, command)
    if not transition.events:
        return world, transition
    now = now_of(world)
    before = world.workflow
    stamp = Stamp(revision=before.revision + 1, ms=now.ms, safe=now.safe)
    workflow = at_hand(world, command)
    calls = list(world.calls)
    for event in transition.events:
        workflow = evolve(workflow, event, stamp)
        if isinstance(event, events.Granted):
            calls[event.at] = (*calls[event.at], new_call(world, event))
    archive = {
        **world.archive,
        **{operation.at: operation for operation in settled_by(workflow, stamp.revision)},
    }
    workflow = close(workflow, transition.events, stamp)
    after = World(
        workflow=workflow,
        now_ms=world.now_ms,
        calls=tuple(calls),
        effects=world.effects,
        archive=archive,
    )
    check_step(world, after, transition)
    return after, transition


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


# Every step from a world.


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
    if world.workflow.progress.switch is WorkflowStatus.PAUSED:
        yield ("enable",)
    for now_ms in boundaries(world):
        yield ("clock", now_ms)


def stepped(world: World, step: Step) -> World:
    """Take a step; a refusal changes nothing."""
    match step:
        case ("clock", int(now_ms)):
            return clocked(world, now_ms)
        case ("land", int(at), int(number)):
            return landed(world, at, number)
    command = command_of(world, step)
    try:
        after, transition = commanded(world, command)
    except ProblemError as error:
        check_refusal(world, command, error)
        return world
    match step:
        case ("report", int(at), int(number), str(outcome), int(_), *_):
            if outcome == Outcome.NOT_EXECUTED.value:
                # Who says so has given the call up.
                call = world.calls[at][number - 1]
                after = called(after, at, number, msgspec.structs.replace(call, fate=NEVER))
        case ("release", int(at), int(number)):
            call = world.calls[at][number - 1]
            after = called(after, at, number, msgspec.structs.replace(call, fate=NEVER))
    if isinstance(command, commands.Complete):
        check_receipt(world, after, command, transition)
    return after


def command_of(world: World, step: Step) -> commands.Command:
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
    raise AssertionError(f"no such step: {step}")


# What must hold.


def check_step(before: World, after: World, transition: Transition) -> None:
    """Check one transition against what was so before it."""
    for event in transition.events:
        if isinstance(event, events.Granted):
            check_grant(before, after, event)
    count_verdict(before, transition)
    for at in before.indexes:
        was, now = before.operation(at), after.operation(at)
        if was.settlement is not None:
            assert now.settlement == was.settlement, "a success was replaced"
        if was.abandoned:
            assert now.abandoned, "an abandoned operation came back"
            assert now.settlement is None, "an abandoned operation succeeded"
            assert len(now.attempts) == len(was.attempts), "an abandoned operation ran"
        for old, new in zip(was.attempts, now.attempts, strict=False):
            if old.report is not None:
                assert new.report is not None, "a receipt was lost"
                assert new.report.sha256 == old.report.sha256, "a receipt was replaced"
                assert new.report.accepted is old.report.accepted, "a receipt changed its standing"
    row(after.workflow, now_ms=after.now_ms)


def check_grant(before: World, after: World, event: events.Granted) -> None:
    operation, now_ms = before.operation(event.at), before.now_ms
    # The transition may carry a receipt before the grant: judge by what stood after it.
    so_far = after.operation(event.at).attempts[: event.number - 1]
    assert event.number == len(operation.attempts) + 1, "attempt numbers do not rise by one"
    assert before.workflow.progress.switch is WorkflowStatus.ENABLED, "granted while not enabled"
    for earlier in so_far:
        over = earlier.has_ended or earlier.number <= after.operation(event.at).closed_through
        assert over or now_ms >= earlier.lease_until_ms + MARGIN_MS, "two leases live at once"
    for predecessor in before.workflow.plan.predecessors[event.at]:
        settled = after.operation(predecessor).settlement
        assert settled is not None, "a dependant started early"
    definition = before.definition(event.at)
    doubt = [each for each in so_far if after.operation(event.at).is_unknown(each)]
    if event.mode is Mode.EXECUTE:
        assert not doubt, "executed again while an earlier outcome was unknown"
    else:
        assert doubt, "looked up or repeated what nobody doubts"
    if event.mode is Mode.REPEAT:
        retention_ms = definition.capability.idempotency_ms
        assert retention_ms is not None, "repeated without a key"
        lands_ms = event.lease_until_ms + definition.max_in_flight_ms + limits.REPEAT_MARGIN_MS
        assert lands_ms < so_far[0].granted_ms + retention_ms, "repeated under a dying key"
        assert event.call_before_ms <= event.lease_until_ms
    if event.mode is Mode.QUERY:
        assert definition.capability.query, "looked up what cannot be"
    count_grant(after.operation(event.at), event)


def count_grant(operation: Operation, event: events.Granted) -> None:
    seen[f"granted {event.mode}"] += 1
    if event.number == 1:
        return
    previous = operation.attempts[event.number - 2]
    if not previous.has_ended and previous.number > operation.closed_through:
        seen["takeover after expiry"] += 1
    if event.mode is Mode.EXECUTE:
        if previous.mode is Mode.QUERY and previous.accepted(Outcome.NOT_EXECUTED):
            seen["execute after an absence"] += 1
        if previous.is_effect and previous.accepted(Outcome.NOT_EXECUTED):
            seen["execute after a retry"] += 1
        if previous.released:
            seen["execute after a release"] += 1
        if operation.closed_through == previous.number:
            seen["execute after an attestation"] += 1
    if event.mode is Mode.REPEAT and previous.mode is Mode.REPEAT:
        seen["repeat after a repeat"] += 1


def count_verdict(before: World, transition: Transition) -> None:
    answer = transition.answer
    verdict = answer.then if isinstance(answer, Filed) else answer
    match verdict:
        case Grant(at=at, number=number) if not any(
            isinstance(event, events.Granted) for event in transition.events
        ):
            assert number == len(before.operation(at).attempts)
            seen["the same grant again"] += 1
        case Wait(reason=wait_reason, until_ms=until_ms):
            assert until_ms > before.now_ms, "told to wait for the past"
            seen[f"wait {wait_reason}"] += 1
        case Stop(reason=reason):
            seen[f"stop {reason}"] += 1
        case Reuse():
            seen["reuse"] += 1
        case Done():
            seen["done"] += 1
        case _:
            pass


def check_refusal(world: World, command: commands.Command, error: ProblemError) -> None:
    """Nothing is refused without reason: the reason is so in the world."""
    match command, error.code:
        case commands.Renew(), ProblemCode.LEASE_LOST | ProblemCode.PAUSED:
            seen["renewal refused"] += 1
        case commands.Renew(), ProblemCode.RENEWAL_LIMIT | ProblemCode.WORKFLOW_FINISHED:
            pass
        case commands.Release(), ProblemCode.LEASE_LOST:
            seen["release of a superseded attempt refused"] += 1
        case commands.Release(), ProblemCode.OPERATION_SETTLED:
            seen["release refused"] += 1
        case commands.Resolve(), ProblemCode.MAY_STILL_LAND:
            (at,) = (world.workflow.plan.index[command.operation],)
            lands = [
                world.lands_before_ms(at, each)
                for each in world.operation(at).attempts
                if each.is_effect
            ]
            assert max(lands) == error.more["allowed_from_ms"]
            assert world.now_ms < max(lands)
            seen["too early to attest"] += 1
        case commands.Resolve() | commands.Abandon(), ProblemCode.ATTEMPT_IN_PROGRESS:
            seen["lease too live for a person"] += 1
        case _, ProblemCode.WORKFLOW_FINISHED | ProblemCode.OPERATION_SETTLED:
            pass
        case _:
            raise AssertionError(f"refused: {command} {error.code}") from error


def check_receipt(
    before: World, after: World, command: commands.Complete, transition: Transition
) -> None:
    """Recompute by the words of the rules whether the receipt had to be accepted."""
    assert isinstance(transition.answer, Filed)
    at = before.workflow.plan.index[command.operation]
    operation = before.operation(at)
    attempt = operation.attempts[command.body.attempt - 1]
    is_given_up = before.workflow.progress.switch is WorkflowStatus.ABANDONED
    later = operation.attempts[attempt.number :]
    superseded = any(each.is_effect or attempt.mode is Mode.QUERY for each in later)
    is_closed = attempt.number <= operation.closed_through or attempt.released
    counts = not (superseded or is_closed or operation.is_final or is_given_up)
    expected = Standing.ACCEPTED if counts else Standing.EVIDENCE
    assert transition.answer.standing is expected, "a receipt was filed wrongly"
    now = after.operation(at)
    outcome = command.body.receipt.outcome
    if counts and outcome is Outcome.SUCCEEDED:
        assert now.settlement is not None, "an accepted success settled nothing"
        assert now.settlement.attempt == attempt.number
    if not counts:
        assert now.settlement == operation.settlement, "evidence completed something"
        if outcome is Outcome.SUCCEEDED and not now.is_final:
            assert now.is_blocked, "a success kept as evidence did not block"
    count_receipt(before, now, attempt, outcome, counts=counts, superseded=superseded)


def count_receipt(
    before: World,
    now: Operation,
    attempt: Attempt,
    outcome: Outcome,
    *,
    counts: bool,
    superseded: bool,
) -> None:
    operation = before.operation(now.at)
    if counts and before.now_ms >= attempt.lease_until_ms:
        seen["late receipt accepted"] += 1
    if counts and attempt.number < len(operation.attempts):
        seen["a receipt while a query runs"] += 1
    if superseded:
        seen["superseded receipt kept"] += 1
        if now.is_blocked and not operation.is_final:
            seen["superseded success blocks"] += 1
        if attempt.mode is Mode.QUERY and outcome is Outcome.NOT_EXECUTED:
            seen["an absence that was superseded"] += 1
    if operation.abandoned:
        seen["evidence after abandonment"] += 1
    if attempt.number <= operation.closed_through and not operation.abandoned:
        seen["evidence after attestation"] += 1
    if now.is_double_suspected:
        seen["second effect suspected"] += 1
    if attempt.mode is Mode.QUERY and counts and outcome is Outcome.NOT_EXECUTED:
        settled = now.settled_through > operation.settled_through
        seen["conclusive absence" if settled else "inconclusive absence"] += 1


def check_world(world: World) -> None:
    """Check what holds at every state, and what every further question would be told."""
    for at in world.indexes:
        assert world.effects[at] <= 1, "a second effect"
    for worker in ("ann", "bob", "eve"):
        unsafe = decided(world, asks(worker), safe=False)
        assert not unsafe.events or isinstance(unsafe.events[0], events.Halted)
        assert not isinstance(unsafe.answer, Grant), "granted with clocks apart"
    for at in world.indexes:
        operation, name = world.operation(at), world.definition(at).name
        if operation.settlement is not None:
            assert decided(world, asks("eve", name)).answer == Reuse(at=at), "a success was lost"
        for attempt in operation.attempts:
            if attempt.report is not None:
                check_filed(world, at, attempt)


def check_filed(world: World, at: int, attempt: Attempt) -> None:
    """The same receipt is accepted as it was, at no cost; another is a conflict."""
    assert attempt.report is not None
    effect = int((attempt.report.effect_id or "effect-0").removeprefix("effect-"))
    again = decided(world, reports(world, at, attempt, attempt.report.outcome, effect))
    standing = Standing.ACCEPTED if attempt.report.accepted else Standing.EVIDENCE
    assert again == Transition(events=(), answer=Filed(standing)), "the same receipt was not known"
    with pytest.raises(ProblemError) as refused:
        decided(world, reports(world, at, attempt, Outcome.SUCCEEDED, 7))
    assert refused.value.code is ProblemCode.RECEIPT_CONFLICT


FOR_A_PERSON = (
    StopReason.NEEDS_DECISION,
    StopReason.NOT_EXECUTED,
    StopReason.PREDECESSOR_NEEDS_DECISION,
)


def carry_on(world: World) -> None:
    """Faults stop: one honest worker, and then one honest person, bring everything to an end.

    What is not stopped for a person is done within two leases and max_in_flight of the moment
    that the last lease of the past is over.
    """
    if world.workflow.progress.switch is WorkflowStatus.PAUSED and not world.workflow.is_over:
        world, _ = commanded(world, commands.Enable())
    leases = [each.lease_until_ms for at in world.indexes for each in world.operation(at).attempts]
    longest_ms = sum(
        2 * world.definition(at).lease_ms
        + world.definition(at).max_in_flight_ms
        + 2 * MARGIN_MS
        for at in world.indexes
    )
    until_ms = max([world.now_ms, *leases]) + longest_ms
    for _ in range(40):
        before_ms = world.now_ms
        world, transition = commanded(world, asks("eve"))
        match transition.answer:
            case Done():
                seen["carried on to the end"] += 1
                return
            case Grant() as grant:
                world = honest(world, grant)
            case Wait(until_ms=next_ms):
                assert before_ms < next_ms <= until_ms, "put off for too long"
                world = clocked(world, next_ms)
            case Stop(reason=StopReason.ABANDONED | StopReason.PREDECESSOR_STOPPED):
                assert any(world.operation(at).abandoned for at in world.indexes) or (
                    world.workflow.progress.switch is WorkflowStatus.ABANDONED
                )
                return
            case Stop(reason=reason) as stop:
                assert reason in FOR_A_PERSON, f"stopped for no person: {reason}"
                seen["carried on to a person"] += 1
                until_ms += longest_ms
                world = settled_by_person(world, stop.at)
            case _:
                raise AssertionError(f"unexpected: {transition.answer}")
    raise AssertionError("it never ends")


def honest(world: World, grant: Grant) -> World:
    """Do what the grant permits, and say what came of it."""
    attempt = world.operation(grant.at).attempts[grant.number - 1]
    if grant.mode is not Mode.QUERY and world.calls[grant.at][grant.number - 1].fate == MAY_LAND:
        world = landed(world, grant.at, grant.number)
    found = world.effects[grant.at]
    assert found <= 1, "a second effect"
    outcome = Outcome.SUCCEEDED if found else Outcome.NOT_EXECUTED
    after, _ = commanded(world, reports(world, grant.at, attempt, outcome, found))
    return after


def settled_by_person(world: World, at: int) -> World:
    for _ in range(3):
        try:
            after, _ = commanded(world, word(world, at))
        except ProblemError as error:
            assert error.code in (ProblemCode.MAY_STILL_LAND, ProblemCode.ATTEMPT_IN_PROGRESS)
            world = clocked(world, int(error.more["allowed_from_ms"]))
        else:
            seen["carried on by a person"] += 1
            return after
    raise AssertionError("a person may never say what happened")


# The walks.


def count_step(before: World, step: Step, after: World) -> None:
    if after is before:
        return
    match step:
        case ("renew", *_):
            seen["renewed"] += 1
        case ("resolve", int(at)):
            found = after.operation(at).settlement is not None
            seen["attested succeeded" if found else "attested not executed"] += 1
        case _:
            pass


def told(past: tuple[Step, ...]) -> str:
    return " > ".join(" ".join(str(word) for word in step) for step in past)


def walk_breadth(first: World, states_max: int) -> tuple[int, int, list[tuple[World, tuple[Step, ...]]]]:
    """Visit every world within reach, nearest first; return how many, how far, and the edge."""
    known = {first.key()}
    queue: deque[tuple[World, tuple[Step, ...]]] = deque([(first, ())])
    depth = 0
    while queue and len(known) < states_max:
        world, past = queue.popleft()
        depth = len(past)
        for step in steps(world):
            after = visited(world, past, step)
            key = after.key()
            if key not in known:
                known.add(key)
                checked(after, (*past, step), deep=len(known) % 8 == 0)
                queue.append((after, (*past, step)))
    return len(known), depth, list(queue)


def visited(world: World, past: tuple[Step, ...], step: Step) -> World:
    try:
        after = stepped(world, step)
    except (AssertionError, ValueError, LookupError) as error:
        raise AssertionError(f"{error}: {told((*past, step))}") from error
    count_step(world, step, after)
    return after


def checked(world: World, past: tuple[Step, ...], *, deep: bool) -> None:
    try:
        check_world(world)
        if deep:
            carry_on(world)
    except (AssertionError, ProblemError, ValueError, LookupError) as error:
        raise AssertionError(f"{error}: {told(past)}") from error


def walk_path(first: World, seed: int) -> None:
    """Go down one path, drawn by ``seed``."""
    draw = random.Random(seed)
    world: World = first
    past: tuple[Step, ...] = ()
    for _ in range(STEPS):
        choices = list(steps(world))
        # The two that end a path are drawn seldom.
        step = draw.choice(choices)
        if step[0] in ("abandon", "pause") and draw.random() < 0.9:
            continue
        world = visited(world, past, step)
        past = (*past, step)
        checked(world, past, deep=False)
    checked(world, past, deep=True)


@pytest.mark.parametrize("destination", DESTINATIONS)
def test_no_history_has_a_second_effect_or_an_end_without_a_way_on(
    destination: str, record_property: pytest.FixtureRequest
) -> None:
    first = first_world(DESTINATIONS[destination])
    states, depth, _ = walk_breadth(first, STATES)
    for seed in range(PATHS):
        walk_path(first, seed)
    print(f"{destination}: {states} states, {depth} steps deep, {PATHS} paths of {STEPS} steps")
    assert states >= min(STATES, 500)
    seen[f"walked {destination}"] += 1


def test_whatever_must_sometimes_happen_did() -> None:
    for destination, operations in DESTINATIONS.items():
        if not seen[f"walked {destination}"]:
            walk_breadth(first_world(operations), STATES)
            for seed in range(PATHS):
                walk_path(first_world(operations), seed)
    assert [each for each in SOMETIMES if not seen[each]] == []
