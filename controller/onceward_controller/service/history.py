"""A workflow's history in words: one line for each event of each revision."""

from typing import assert_never

from onceward.wire.messages import Change
from onceward_controller.protocol import events
from onceward_controller.protocol.plan import Plan
from onceward_controller.vault.body import Body, Entry


def changes(plan: Plan, revision: int, body: Body) -> list[Change]:
    """Return the lines of one revision, in order."""
    return [
        _line(plan, event, revision=revision, time_ms=body.time_ms, entry=entry)
        for entry in body.entries
        for event in entry.events
    ]


def _line(plan: Plan, event: events.Event, *, revision: int, time_ms: int, entry: Entry) -> Change:
    at, attempt, detail = _facts(event)
    return Change(
        revision=revision,
        time_ms=time_ms,
        actor=entry.actor,
        command=entry.command,
        event=type(event).__name__.lower(),
        operation="" if at is None else plan.definition(at).name,
        attempt=attempt,
        detail=detail,
    )


def _facts(event: events.Event) -> tuple[int | None, int, str]:
    """Return operation index, attempt number and what else is worth a word."""
    match event:
        case events.Created(operations=operations):
            return None, 0, f"{len(operations)} operations"
        case events.Enabled() | events.Paused():
            return None, 0, ""
        case events.Abandoned(at=at, evidence=evidence):
            return at, 0, evidence
        case events.Granted(at=at, number=number, mode=mode):
            return at, number, mode.value
        case events.Renewed(at=at, number=number) | events.Released(at=at, number=number):
            return at, number, ""
        case events.Reported(at=at, number=number):
            return at, number, _said(event)
        case events.Noticed(at=at, needs_person=needs_person):
            return at, 0, "a person must decide" if needs_person else "its lease ran out in silence"
        case events.Attested(at=at, outcome=outcome, evidence=evidence):
            return at, 0, f"{outcome.value}: {evidence}"
        case _:
            assert_never(event)


def _said(event: events.Reported) -> str:
    said = event.outcome.value if event.accepted else f"{event.outcome.value}, as evidence"
    return f"{said} ({event.reason})" if event.reason else said
