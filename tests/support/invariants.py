"""What must hold at every step and in every state, whatever anybody does.

Each check recomputes a rule from its words, from the records alone, and not by asking the code
that decides. ``seen`` counts what must happen sometimes: a rule that never had anything to do has
not been checked.
"""

from collections import Counter

import msgspec
import pytest

from onceward.wire import limits
from onceward.wire.decisions import Mode, StopReason
from onceward.wire.messages import Standing, WorkflowStatus
from onceward.wire.problems import ProblemCode, ProblemError
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import commands, events
from onceward_controller.protocol.answers import (
    Done,
    Filed,
    Grant,
    Reuse,
    Stop,
    Transition,
    Wait,
)
from onceward_controller.protocol.attempt import Attempt
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.decide import decide
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.rows import row
from onceward_controller.protocol.workflow import Workflow
from tests.support.protocol import MARGIN_MS, NAMING
from tests.support.world import (
    MAY_LAND,
    NEVER,
    Step,
    World,
    asks,
    at_hand,
    called,
    clocked,
    command_of,
    landed,
    now_of,
    reports,
    word,
    written,
)

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


def decided(world: World, command: commands.Command, *, safe: bool = True) -> Transition:
    """Decide twice: the same answer, and nothing that went in has changed."""
    workflow = at_hand(world, command)
    before = msgspec.msgpack.encode((workflow.progress, workflow.records))
    now = now_of(world, safe=safe)
    first, again = (outcome_of(workflow, command, now) for _ in range(2))
    assert msgspec.msgpack.encode((workflow.progress, workflow.records)) == before
    if isinstance(first, ProblemError):
        assert isinstance(again, ProblemError)
        assert (again.code, again.more) == (first.code, first.more)
        raise first
    assert again == first
    return first


def outcome_of(
    workflow: Workflow, command: commands.Command, now: Moment
) -> Transition | ProblemError:
    try:
        return decide(workflow, command, now, NAMING)
    except ProblemError as error:
        return error


def commanded(world: World, command: commands.Command) -> tuple[World, Transition]:
    """Decide, write and check."""
    transition = decided(world, command)
    after = written(world, command, transition)
    check_step(world, after, transition)
    return after, transition


def stepped(world: World, step: Step) -> World:
    """Take a step; a refusal changes nothing."""
    after = _stepped(world, step)
    if after is not world:
        count_step(step, after)
    return after


def _stepped(world: World, step: Step) -> World:
    match step:
        case ("clock", int(now_ms)):
            return clocked(world, now_ms)
        case ("land", int(at), int(number)):
            after = landed(world, at, number)
            count_landing(world, after, at, number)
            return after
        case _:
            pass
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
        case _:
            pass
    if isinstance(command, commands.Complete):
        check_receipt(world, after, command, transition)
    return after


# One step.


def check_step(before: World, after: World, transition: Transition) -> None:
    """Check one transition against what was so before it."""
    for event in transition.events:
        if isinstance(event, events.Granted):
            check_grant(before, after, event)
        if isinstance(event, events.Renewed):
            check_renewal(before, event)
        if isinstance(event, events.Abandoned | events.Attested):
            indexes = before.indexes if event.at is None else (event.at,)
            assert not any(is_held(before, at) for at in indexes), "a person overtook a live lease"
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


def is_held(world: World, at: int) -> bool:
    last = world.operation(at).last
    return (
        last is not None
        and not world.operation(at).is_final
        and not last.has_ended
        and last.number > world.operation(at).closed_through
        and world.now_ms < last.lease_until_ms + MARGIN_MS
    )


def check_renewal(before: World, event: events.Renewed) -> None:
    definition, operation = before.definition(event.at), before.operation(event.at)
    attempt = operation.attempts[event.number - 1]
    assert event.number == len(operation.attempts), "renewed a lease that another has"
    assert before.now_ms < attempt.lease_until_ms < event.lease_until_ms, "renewed a dead lease"
    assert before.workflow.progress.switch is WorkflowStatus.ENABLED, "renewed while not enabled"
    if attempt.mode is Mode.REPEAT:
        retention_ms = definition.capability.idempotency_ms
        assert retention_ms is not None
        lands_ms = event.lease_until_ms + definition.max_in_flight_ms + limits.REPEAT_MARGIN_MS
        first_ms = operation.attempts[0].granted_ms
        assert lands_ms <= first_ms + retention_ms, "renewed beyond the life of the key"


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


def count_landing(before: World, after: World, at: int, number: int) -> None:
    attempts = before.operation(at).attempts
    if before.effects[at] == after.effects[at]:
        seen["key deduplicated"] += 1
    if before.now_ms >= attempts[number - 1].lease_until_ms:
        seen["call landed after its lease"] += 1
    if number < len(attempts):
        seen["call landed after another grant"] += 1


def count_step(step: Step, after: World) -> None:
    match step:
        case ("renew", *_):
            seen["renewed"] += 1
        case ("resolve", int(at)):
            found = after.operation(at).settlement is not None
            seen["attested succeeded" if found else "attested not executed"] += 1
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


# One state.


def check_world(world: World) -> None:
    """Check what holds at every state, and what every further question would be told."""
    for at in world.indexes:
        assert world.effects[at] <= 1, "a second effect"
    for worker in ("ann", "bob", "eve"):
        unsafe = decided(world, asks(worker), safe=False)
        count_verdict(world, unsafe)
        assert not unsafe.events or isinstance(unsafe.events[0], events.Noticed)
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
    if world.workflow.progress.switch is not WorkflowStatus.ENABLED and not world.workflow.is_over:
        world, _ = commanded(world, commands.Enable())
    leases = [each.lease_until_ms for at in world.indexes for each in world.operation(at).attempts]
    longest_ms = sum(
        2 * world.definition(at).lease_ms + world.definition(at).max_in_flight_ms + 2 * MARGIN_MS
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
    """Let a person say what happened, as soon as they may."""
    for _ in range(3):
        refused = outcome_of(world.workflow, word(world, at), now_of(world))
        if not isinstance(refused, ProblemError):
            seen["carried on by a person"] += 1
            return commanded(world, word(world, at))[0]
        assert refused.code in (ProblemCode.MAY_STILL_LAND, ProblemCode.ATTEMPT_IN_PROGRESS)
        world = clocked(world, int(refused.more["allowed_from_ms"]))
    raise AssertionError("a person may never say what happened")
