"""One command on one state at one moment: what changes, and what to say.

Pure: called again with the same arguments it answers the same. The service calls it as often as
it loses a race, and several commands may be decided one after the other for one revision.
"""

from typing import assert_never

from onceward.wire import limits, messages
from onceward.wire.decisions import Mode
from onceward_controller.protocol import commands, completion, events, holders, leases, operator
from onceward_controller.protocol.answers import (
    Filed,
    Grant,
    Noted,
    Stop,
    Transition,
    Verdict,
)
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.dispatch import judge, judge_next
from onceward_controller.protocol.naming import Naming
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.table import FOR_A_PERSON
from onceward_controller.protocol.workflow import Workflow, evolve


def decide(
    workflow: Workflow, command: commands.Command, moment: Moment, naming: Naming
) -> Transition:
    """Return the transition that ``command`` asks for.

    Args:
        workflow: The state; records that ``needs`` names must be at hand.
        command: What is asked.
        moment: When.
        naming: The vault's derived names.

    Raises:
        ProblemError: The command is refused; nothing changes.
    """
    match command:
        case commands.Begin(ask):
            licensed, verdict = _begun(workflow, ask, moment, naming)
            return Transition(events=licensed, answer=verdict)
        case commands.Complete():
            return _completed(workflow, command, moment, naming)
        case commands.Renew():
            return leases.renew(workflow, command, moment, naming)
        case commands.Release():
            return leases.release(workflow, command, naming)
        case commands.Enable():
            return operator.enable(workflow)
        case commands.Pause():
            return operator.pause(workflow)
        case commands.Resolve():
            return operator.resolve(workflow, command, moment)
        case commands.Abandon():
            return operator.abandon(workflow, command, moment)
        case commands.Check():
            return _checked(workflow, moment)
        case _:
            assert_never(command)


def needs(workflow: Workflow, command: commands.Command) -> tuple[int, ...]:
    """Return the indexes of final operations whose records ``decide`` will ask for.

    Raises:
        NotFoundError: The command names no operation of the workflow.
    """
    match command:
        case commands.Complete(operation) | commands.Renew(operation) | commands.Release(operation):
            at = holders.index(workflow, operation)
            return (at,) if workflow.is_finished(at) and at not in workflow.records else ()
        case _:
            return ()


def _begun(
    workflow: Workflow, ask: messages.Begin, moment: Moment, naming: Naming
) -> tuple[tuple[events.Event, ...], Verdict]:
    verdict = _judged(workflow, ask, moment)
    return _licensed(workflow, verdict, ask, moment, naming), verdict


def _completed(
    workflow: Workflow, command: commands.Complete, moment: Moment, naming: Naming
) -> Transition:
    event, standing = completion.report(workflow, command, naming)
    filed: tuple[events.Event, ...] = () if event is None else (event,)
    ask = command.body.then_begin
    if ask is None:
        return Transition(events=filed, answer=Filed(standing))
    if event is not None:
        # Judged as of the state that the receipt makes; the log gives the pair one revision.
        stamp = Stamp(revision=workflow.revision + 1, ms=moment.ms, safe=moment.safe)
        workflow = evolve(workflow, event, stamp)
    licensed, verdict = _begun(workflow, ask, moment, naming)
    return Transition(events=(*filed, *licensed), answer=Filed(standing, verdict))


def _checked(workflow: Workflow, moment: Moment) -> Transition:
    """Mark what waits for a person, and what lost its holder: neither leaves a mark of its own."""
    if not moment.safe:
        return Transition(events=(), answer=Noted())  # Nobody can tell whether a lease is over.
    marks: list[events.Event] = []
    for at, operation in workflow.progress.open.items():
        verdict = judge(workflow, at, request_id="", moment=moment)
        needs_person = isinstance(verdict, Stop) and verdict.reason in FOR_A_PERSON
        is_held = operation.live(moment.ms, margin_ms=limits.CLOCK_ERROR_MS) is not None
        if operation.noticed != needs_person and (needs_person or not is_held):
            marks.append(events.Noticed(at, needs_person=needs_person))
    return Transition(events=tuple(marks), answer=Noted())


def _judged(workflow: Workflow, ask: messages.Begin, moment: Moment) -> Verdict:
    if ask.operation is None:
        return judge_next(workflow, request_id=ask.request_id, moment=moment, tools=ask.tools)
    at = holders.index(workflow, ask.operation)
    return judge(workflow, at, request_id=ask.request_id, moment=moment, tools=ask.tools)


def _licensed(
    workflow: Workflow, verdict: Verdict, ask: messages.Begin, moment: Moment, naming: Naming
) -> tuple[events.Event, ...]:
    """Return what a verdict writes: a new grant its attempt, a first stop its mark."""
    match verdict:
        case Stop(at=at, reason=reason) if reason in FOR_A_PERSON:
            is_known = workflow.operation(at).noticed is True
            return () if is_known else (events.Noticed(at, needs_person=True),)
        case Grant():
            return _granted(workflow, verdict, ask, moment, naming)
        case _:
            return ()


def _granted(
    workflow: Workflow, grant: Grant, ask: messages.Begin, moment: Moment, naming: Naming
) -> tuple[events.Event, ...]:
    operation = workflow.operation(grant.at)
    if grant.number <= len(operation.attempts):
        return ()  # The same process asks again for what it holds.
    definition = workflow.plan.definition(grant.at)
    call_before_ms = lease_until_ms = moment.ms + definition.lease_ms
    if grant.mode is Mode.REPEAT:
        call_before_ms = min(call_before_ms, operation.key_dies_ms(definition))
    key = None
    if not operation.idempotency_key:
        key = naming.idempotency_key(workflow.plan.operation_id(grant.at, naming))
    return (
        events.Granted(
            at=grant.at,
            number=grant.number,
            mode=grant.mode,
            request_id=ask.request_id,
            lease_until_ms=lease_until_ms,
            call_before_ms=call_before_ms,
            idempotency_key=key,
        ),
    )
