"""A workflow's life in one line: ``history(tool()).grant("execute").lease_over().grant("query")``.

A ``History`` holds a state and a clock, gives every command to ``decide`` and folds what comes
back, as the service does: one revision for each transition that changes anything, and the records
of final operations read back when a command needs them. Nothing moves the clock but its own
words, and times are told from ``START_MS``.

``Plain`` is the naming of a vault without keys: every name says what it names.
"""

import hashlib
from typing import Self

import msgspec

from onceward.wire import definitions, limits, messages
from onceward.wire.capabilities import Capability
from onceward.wire.decisions import Mode
from onceward.wire.definitions import OperationDefinition, Retry
from onceward.wire.identifiers import LeaseToken, OperationId, WorkflowId
from onceward.wire.messages import Standing
from onceward.wire.problems import ProblemCode, ProblemError
from onceward.wire.receipts import Outcome, Receipt
from onceward_controller.protocol import commands, events
from onceward_controller.protocol.answers import Answer, Filed, Grant, Transition, Verdict
from onceward_controller.protocol.clockguard import Reading, moment
from onceward_controller.protocol.decide import decide, needs
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.plan import Identity
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.workflow import Workflow, close, create, evolve, settled_by

START_MS = 1_800_000_000_000
"""When every history begins."""
SECOND_MS = limits.SECOND_MS
LEASE_MS = limits.LEASE_DEFAULT_MS
IN_FLIGHT_MS = limits.MAX_IN_FLIGHT_DEFAULT_MS
MARGIN_MS = limits.CLOCK_ERROR_MS
DAY_MS = limits.DAY_MS


class Plain:
    """Names that say what they name; the same for the same, always."""

    def workflow_id(self, workspace: str, authority: str, key: str) -> WorkflowId:
        return WorkflowId(f"wf:{workspace}:{authority}:{key}")

    def operation_id(self, workflow: WorkflowId, definition_digest: str, name: str) -> OperationId:
        return OperationId(f"op:{workflow}:{definition_digest}:{name}")

    def idempotency_key(self, operation: OperationId) -> str:
        return f"key:{operation}"

    def lease_token(self, operation: OperationId, attempt: int, request_id: str) -> LeaseToken:
        return LeaseToken(f"lease:{operation}:{attempt}:{request_id}")


NAMING = Plain()


def tool(
    name: str = "send",
    *,
    query: bool = False,
    idempotency_ms: int | None = None,
    retry: Retry | None = None,
    lease_ms: int = LEASE_MS,
    max_in_flight_ms: int = IN_FLIGHT_MS,
    after: tuple[str, ...] | None = None,
) -> OperationDefinition:
    """Return an operation ``name`` of a tool that can do what is said."""
    return OperationDefinition(
        name=name,
        tool=f"{name}-tool",
        destination="the-destination",
        arguments={"document": name},
        capability=Capability(query=query, idempotency_ms=idempotency_ms),
        retry=retry,
        lease_ms=lease_ms,
        max_in_flight_ms=max_in_flight_ms,
        after=after,
    )


def draft(*operations: OperationDefinition) -> Workflow:
    """Return a workflow of ``operations`` that nobody has enabled."""
    identity = Identity(
        id=NAMING.workflow_id("reports", "", "monday"),
        workspace="reports",
        authority="",
        key="monday",
        label="",
        tags=(),
        created_by="ann",
        created_ms=START_MS,
    )
    return create(
        events.Created(
            identity=identity,
            operations=definitions.resolve(operations).operations,
            digest="digest",
        )
    )


def request_of(worker: str) -> str:
    """Return the request id of the process ``worker``."""
    return f"request-of-{worker}"


def reading(store_ms: int, *, local_ms: int | None = None, anchored: bool = True) -> Reading:
    """Return a look at the clocks, in agreement unless ``local_ms`` says otherwise."""
    return Reading(
        store_ms=store_ms, local_ms=store_ms if local_ms is None else local_ms, anchored=anchored
    )


def complete(
    workflow: Workflow,
    at: int,
    number: int,
    outcome: Outcome,
    *,
    worker: str,
    effect_id: str | None = None,
    then_begin: messages.Begin | None = None,
) -> commands.Complete:
    """Return the command by which ``worker`` hands in a receipt for attempt ``number``."""
    operation_id = workflow.plan.operation_id(at, NAMING)
    written = f"{operation_id} {outcome.value} {effect_id}".encode()
    return commands.Complete(
        operation=workflow.plan.definition(at).name,
        body=messages.Complete(
            attempt=number,
            lease_token=NAMING.lease_token(operation_id, number, request_of(worker)),
            receipt=Receipt(outcome=outcome, operation_id=operation_id, effect_id=effect_id),
            then_begin=then_begin,
        ),
        receipt=written,
        receipt_sha256=hashlib.sha256(written).digest(),
    )


class History:
    """A state, a clock, and the words that move them.

    Attributes:
        workflow: As of the newest revision.
        now_ms: What the store's clock and the host's both say.
        answer: To the newest command.
        changes: What the newest command wrote.
        archive: The record that each final operation's revision carries.
    """

    def __init__(self, *operations: OperationDefinition) -> None:
        self.workflow = draft(*operations)
        self.now_ms = START_MS
        self.answer: Answer | None = None
        self.changes: tuple[events.Event, ...] = ()
        self.archive: dict[int, Operation] = {}
        self._local_off_ms = 0

    # What happened: each asserts that it was permitted, and returns the history.

    def grant(self, mode: str, *, to: str = "ann", operation: str | None = None) -> Self:
        """``to`` asks and is granted ``mode``."""
        verdict = self.begin(to, operation=operation)
        assert isinstance(verdict, Grant), verdict
        assert verdict.mode is Mode(mode), verdict
        return self

    def succeeded(self, attempt: int | None = None, *, effect_id: str | None = "effect-1") -> Self:
        self.report(Outcome.SUCCEEDED, attempt, effect_id=effect_id)
        return self

    def not_executed(self, attempt: int | None = None, *, operation: str | None = None) -> Self:
        self.report(Outcome.NOT_EXECUTED, attempt, operation=operation)
        return self

    absent = not_executed

    def unknown(self, attempt: int | None = None) -> Self:
        self.report(Outcome.UNKNOWN, attempt)
        return self

    def released(self, attempt: int | None = None, *, operation: str | None = None) -> Self:
        self.release(attempt, operation=operation)
        return self

    def renewed(self, attempt: int | None = None) -> Self:
        self.renew(attempt)
        return self

    def paused(self) -> Self:
        return self.do(commands.Pause())

    def enabled(self) -> Self:
        return self.do(commands.Enable())

    def abandoned(self, operation: str | None = None) -> Self:
        return self.do(self.abandonment(operation))

    def attested(
        self, outcome: Outcome, *, operation: str | None = None, effect_id: str | None = None
    ) -> Self:
        return self.do(self.resolution(outcome, operation=operation, effect_id=effect_id))

    # When.

    def later(self, duration_ms: int) -> Self:
        """Let time pass."""
        self.now_ms += duration_ms
        return self

    def at(self, since_start_ms: int) -> Self:
        """Set the clock, forward or back."""
        self.now_ms = START_MS + since_start_ms
        return self

    def lease_over(self, operation: str | None = None) -> Self:
        """Let the newest lease, and the clocks' error after it, run out to the millisecond."""
        last = self.operation(operation).last
        assert last is not None
        self.now_ms = max(self.now_ms, last.lease_until_ms + MARGIN_MS)
        return self

    def landed(self, operation: str | None = None) -> Self:
        """Let pass what an issued call can still need to land, to the millisecond."""
        definition = self.workflow.plan.definition(self.index(operation))
        effects = [each for each in self.operation(operation).attempts if each.is_effect]
        landed_ms = [each.lease_until_ms + definition.max_in_flight_ms for each in effects]
        landed_ms += [each.call_before_ms + definition.timeout_ms for each in effects]
        self.now_ms = max(self.now_ms, max(landed_ms) + MARGIN_MS)
        return self

    def clocks_apart(self, duration_ms: int) -> Self:
        """Move the host's clock away from the store's; 0 puts it right."""
        self._local_off_ms = duration_ms
        return self

    def revisions_used(self, counted: int) -> Self:
        """Stand where the log counts ``counted`` revisions."""
        progress = msgspec.structs.replace(self.workflow.progress, counted=counted)
        self.workflow = msgspec.structs.replace(self.workflow, progress=progress)
        return self

    # What is asked: each gives the answer back.

    def begin(
        self,
        worker: str = "ann",
        *,
        operation: str | None = None,
        tools: tuple[messages.ToolOffer, ...] | None = None,
    ) -> Verdict:
        ask = messages.Begin(request_id=request_of(worker), operation=operation, tools=tools)
        answer = self.do(commands.Begin(ask)).answer
        assert answer is not None
        return answer  # type: ignore[return-value]  # a begin is answered by a verdict

    def report(
        self,
        outcome: Outcome,
        attempt: int | None = None,
        *,
        operation: str | None = None,
        effect_id: str | None = None,
        then_begin: messages.Begin | None = None,
    ) -> Standing:
        """Hand in a receipt by whoever holds ``attempt``, the newest unless told."""
        filed = self.do(
            self.completion(
                outcome, attempt, operation=operation, effect_id=effect_id, then_begin=then_begin
            )
        ).answer
        assert isinstance(filed, Filed)
        return filed.standing

    def release(self, attempt: int | None = None, *, operation: str | None = None) -> Self:
        number, token = self._held(attempt, operation)
        body = messages.Release(attempt=number, lease_token=token)
        return self.do(commands.Release(self.name(operation), body))

    def renew(self, attempt: int | None = None) -> Self:
        number, token = self._held(attempt, None)
        body = messages.Renew(attempt=number, lease_token=token)
        return self.do(commands.Renew(self.name(None), body))

    def refusal(self, command: commands.Command) -> ProblemCode:
        """Return the code with which ``command`` is refused; it changes nothing."""
        before = self.workflow
        try:
            self.do(command)
        except ProblemError as error:
            assert self.workflow is before
            return error.code
        raise AssertionError(f"it was not refused: {command}")

    # Commands, for who wants to send one twice or see it refused.

    def completion(
        self,
        outcome: Outcome,
        attempt: int | None = None,
        *,
        operation: str | None = None,
        effect_id: str | None = None,
        then_begin: messages.Begin | None = None,
    ) -> commands.Complete:
        attempts = self.operation(operation).attempts
        number = len(attempts) if attempt is None else attempt
        return complete(
            self.workflow,
            self.index(operation),
            number,
            outcome,
            worker=attempts[number - 1].request_id.removeprefix("request-of-"),
            effect_id=effect_id,
            then_begin=then_begin,
        )

    def renewal(self, attempt: int | None = None) -> commands.Renew:
        number, token = self._held(attempt, None)
        return commands.Renew(self.name(None), messages.Renew(attempt=number, lease_token=token))

    def giving_back(self, attempt: int | None = None) -> commands.Release:
        number, token = self._held(attempt, None)
        return commands.Release(
            self.name(None), messages.Release(attempt=number, lease_token=token)
        )

    def resolution(
        self,
        outcome: Outcome,
        *,
        operation: str | None = None,
        effect_id: str | None = None,
        evidence: str = "I looked at the destination",
        revision: int | None = None,
    ) -> commands.Resolve:
        return commands.Resolve(
            self.name(operation),
            messages.Resolve(
                outcome=outcome,
                evidence=evidence,
                revision=self.workflow.revision if revision is None else revision,
                effect_id=effect_id,
            ),
            receipt=b"attested",
        )

    def abandonment(
        self,
        operation: str | None = None,
        *,
        evidence: str = "nobody wants it any more",
        revision: int | None = None,
    ) -> commands.Abandon:
        return commands.Abandon(
            messages.Abandon(
                evidence=evidence,
                revision=self.workflow.revision if revision is None else revision,
                operation=operation,
            )
        )

    # What is so.

    def name(self, operation: str | None) -> str:
        return self.workflow.plan.operations[0].name if operation is None else operation

    def index(self, operation: str | None) -> int:
        return self.workflow.plan.index[self.name(operation)]

    def operation(self, operation: str | None = None) -> Operation:
        """Return the record of ``operation``, the first unless told, final or not."""
        at = self.index(operation)
        if self.workflow.is_finished(at):
            return self.archive[at]
        return self.workflow.operation(at)

    @property
    def status(self) -> str:
        """Where the first operation stands."""
        return self.operation().status(self.now_ms).value

    def do(self, command: commands.Command) -> Self:
        """Decide ``command`` on the newest state, and write what it changes."""
        transition = self.decided(command)
        self.answer, self.changes = transition.answer, transition.events
        if transition.events:
            self._write(transition.events)
        return self

    def decided(self, command: commands.Command) -> Transition:
        """Return what ``command`` would do now."""
        now = moment(
            reading(self.now_ms, local_ms=self.now_ms + self._local_off_ms),
            high_water_ms=self.workflow.progress.high_water_ms,
        )
        workflow = self.workflow
        for at in needs(workflow, command):
            workflow = workflow.thawed(self.archive[at])
        return decide(workflow, command, now, NAMING)

    def _write(self, changes: tuple[events.Event, ...]) -> None:
        now = moment(
            reading(self.now_ms, local_ms=self.now_ms + self._local_off_ms),
            high_water_ms=self.workflow.progress.high_water_ms,
        )
        stamp = Stamp(revision=self.workflow.revision + 1, ms=now.ms, safe=now.safe)
        workflow = self.workflow
        for event in changes:
            at = getattr(event, "at", None)
            if at is not None and workflow.is_finished(at) and at not in workflow.records:
                workflow = workflow.thawed(self.archive[at])
            workflow = evolve(workflow, event, stamp)
        for operation in settled_by(workflow, stamp.revision):
            self.archive[operation.at] = operation
        self.workflow = close(workflow, changes, stamp)

    def _held(self, attempt: int | None, operation: str | None) -> tuple[int, str]:
        attempts = self.operation(operation).attempts
        number = len(attempts) if attempt is None else attempt
        operation_id = self.workflow.plan.operation_id(self.index(operation), NAMING)
        return number, NAMING.lease_token(operation_id, number, attempts[number - 1].request_id)


def history(*operations: OperationDefinition) -> History:
    """Return the history of an enabled workflow of ``operations``, a plain tool unless told."""
    return History(*(operations or (tool(),))).enabled()


def begin(worker: str = "ann", operation: str | None = None) -> messages.Begin:
    """Return the question of ``worker``."""
    return messages.Begin(request_id=request_of(worker), operation=operation)
