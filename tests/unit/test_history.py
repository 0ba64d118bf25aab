"""Histories: whatever happened, a reader that knows nothing reads the state that the writer has.

Random walks over the real service: grants, receipts on time, late and twice, renewals, releases,
pauses, attestations, abandonments, in revisions of one command and of several. After each step the
store alone is read again.
"""

import random
from collections.abc import Callable
from hashlib import sha256

import msgspec
import pytest

from onceward.wire import decisions, limits, messages
from onceward.wire.capabilities import Capability
from onceward.wire.definitions import OperationDefinition, Retry
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.problems import ProblemError
from onceward.wire.receipts import Outcome, Receipt, encode
from onceward_controller.protocol import commands
from onceward_controller.protocol.answers import Grant
from onceward_controller.protocol.commands import Command
from onceward_controller.protocol.events import Reported
from onceward_controller.service.transact import Settled, _Waiting
from tests.support.services import ADMIN, Agent, Site, chain, cold_head, state_of

SHAPES = (
    OperationDefinition(name="plain", tool="t", retry=Retry(attempts=3)),
    OperationDefinition(name="query", tool="t", capability=Capability(query=True), after=()),
    OperationDefinition(
        name="key", tool="t", capability=Capability(idempotency_ms=limits.DAY_MS), after=()
    ),
    OperationDefinition(
        name="both",
        tool="t",
        capability=Capability(query=True, idempotency_ms=limits.DAY_MS),
        retry=Retry(attempts=2),
    ),
)
TOOLS = tuple(
    msgspec.structs.replace(shape, name=f"{shape.name}-{number}")
    for number in range(4)
    for shape in SHAPES
)
STEPS = 180


class Walk:
    """One random life of a workflow."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.site = Site()
        self.service = self.site.open()
        self.agent = Agent(self.service)
        self.workflow: WorkflowId = self.agent.create("k", TOOLS)
        self.grants: list[tuple[int, int, str]] = []
        self.written = 0

    def step(self) -> None:
        self.site.clock.pass_ms(self.dice.choice((0, 1, 1_000, 60_000, 130_000, 200_000)))
        batch = [_Waiting(ADMIN, self.command()) for _ in range(self.dice.choice((1, 1, 1, 2, 4)))]
        self.service.attempts._transactor._decide(self.workflow, batch)
        for waiting in batch:
            outcome = waiting.outcome
            assert isinstance(outcome, Settled | ProblemError)
            answer = outcome.answer if isinstance(outcome, Settled) else None
            granted = getattr(answer, "then", answer)
            if isinstance(granted, Grant) and isinstance(
                waiting.command, commands.Begin | commands.Complete
            ):
                asked = (
                    waiting.command.ask
                    if isinstance(waiting.command, commands.Begin)
                    else waiting.command.body.then_begin
                )
                assert asked is not None
                self.grants.append((granted.at, granted.number, asked.request_id))

    def command(self) -> Command:
        draws: list[tuple[int, Callable[[], Command]]] = [
            (5, lambda: commands.Begin(self.ask())),
            (5, self.complete),
            (2, self.renew),
            (2, self.release),
            (2, commands.Enable),
            (1, commands.Pause),
            (2, self.resolve),
            (1, commands.Check),
        ]
        if self.dice.random() < 0.004:
            return self.abandon()
        weights = [weight for weight, _ in draws]
        [(_, draw)] = self.dice.choices(draws, weights)
        return draw()

    def ask(self) -> messages.Begin:
        operation = self.dice.choice((None, *(tool.name for tool in TOOLS)))
        worker = self.dice.choice("abc")
        return messages.Begin(request_id=f"request-of-worker-{worker}", operation=operation)

    def held(self) -> tuple[OperationName, int, str]:
        """Return one grant of all there ever were, the newest more often."""
        if not self.grants:
            return OperationName("plain-0"), 1, "lt_none"
        newest = self.grants[-3:]
        at, number, request_id = self.dice.choice(
            newest if self.dice.random() < 0.7 else self.grants
        )
        plan = cold_head(self.service, self.workflow).workflow.plan
        naming = self.service.vault.naming
        token = naming.lease_token(plan.operation_id(at, naming), number, request_id)
        return OperationName(plan.definition(at).name), number, token

    def complete(self) -> Command:
        operation, number, token = self.held()
        plan = cold_head(self.service, self.workflow).workflow.plan
        outcome = self.dice.choice(
            (Outcome.SUCCEEDED, *[Outcome.NOT_EXECUTED, Outcome.UNKNOWN] * 2)
        )
        receipt = Receipt(
            outcome=outcome,
            operation_id=plan.operation_id(plan.index[operation], self.service.vault.naming),
            effect_id=self.dice.choice(("e-1", "e-2")) if outcome is Outcome.SUCCEEDED else None,
        )
        body = messages.Complete(
            attempt=number,
            lease_token=token,
            receipt=receipt,
            then_begin=self.dice.choice((None, self.ask())),
        )
        written = encode(receipt)
        return commands.Complete(operation, body, written, sha256(written).digest())

    def renew(self) -> Command:
        operation, number, token = self.held()
        return commands.Renew(operation, messages.Renew(attempt=number, lease_token=token))

    def release(self) -> Command:
        operation, number, token = self.held()
        return commands.Release(operation, messages.Release(attempt=number, lease_token=token))

    def resolve(self) -> Command:
        revision = cold_head(self.service, self.workflow).tip.revision
        succeeded = self.dice.random() < 0.2
        body = messages.Resolve(
            outcome=Outcome.SUCCEEDED if succeeded else Outcome.NOT_EXECUTED,
            evidence="seen",
            revision=revision,
        )
        operation = self.dice.choice(TOOLS).name
        receipt = Receipt(outcome=Outcome.SUCCEEDED, operation_id=f"op_{'0' * 32}", result="seen")
        return commands.Resolve(operation, body, encode(receipt) if succeeded else b"")

    def abandon(self) -> Command:
        revision = cold_head(self.service, self.workflow).tip.revision
        operation = self.dice.choice((None, *(tool.name for tool in TOOLS)))
        return commands.Abandon(
            messages.Abandon(evidence="enough", revision=revision, operation=operation)
        )


@pytest.mark.parametrize("seed", range(16))
def test_a_cold_reader_reads_what_the_writer_has_after_every_step(seed: int) -> None:
    walk = Walk(seed)
    follower = walk.site.open()
    followed = cold_head(follower, walk.workflow)
    for _ in range(STEPS):
        walk.step()
        warm = walk.service.workflows._heads.get(walk.workflow)
        assert warm is not None
        assert state_of(cold_head(walk.site.open(), walk.workflow)) == state_of(warm)
        if walk.dice.random() < 0.3:
            followed = follower.vault.workflow_log(walk.workflow).refresh(followed)
            assert state_of(followed) == state_of(warm)


@pytest.mark.parametrize("seed", range(100, 106))
def test_the_record_of_a_final_operation_is_read_as_it_was_last_written(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(STEPS):
        walk.step()
    reader = walk.site.open()
    head = cold_head(reader, walk.workflow)
    log = reader.vault.workflow_log(walk.workflow)
    final = sorted(head.workflow.progress.finished)

    for each in log.records(head, final):
        attempts = {
            (event.at, event.number): event
            for body in log.bodies(head, range(1, head.tip.revision + 1))
            for entry in body.entries
            for event in entry.events
            if isinstance(event, Reported)
        }
        for attempt in each.operation.attempts:
            reported = attempts.get((each.operation.at, attempt.number))
            assert (attempt.report is None) is (reported is None)
            if attempt.report is not None and reported is not None:
                assert attempt.report.sha256 == reported.receipt_sha256
    view = Agent(reader).workflow(walk.workflow)
    assert view == Agent(walk.service).workflow(walk.workflow)


def test_a_walk_walks(site: Site) -> None:
    # Were every command refused, the walks would show nothing.
    walk = Walk(7)
    for _ in range(STEPS):
        walk.step()
    head = cold_head(walk.site.open(), walk.workflow)

    assert head.tip.revision > 2 * 32
    assert len(walk.grants) > 5
    assert head.workflow.progress.finished


# --------------------------------------------------------------------------------- in words


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_history_tells_every_event_once_in_order(site: Site) -> None:
    ann, bob = Agent(site.open()), Agent(site.open(), "bob")
    workflow = ann.create("k", chain(2))
    grant = bob.granted(workflow)
    site.clock.pass_ms(1_000)
    bob.step(workflow, grant)
    revision = ann.pause(workflow).revision
    site.clock.pass_ms(limits.HOUR_MS)
    ann.attest(workflow, "op-1", Outcome.SUCCEEDED, revision=revision, result={"n": 1})

    told = [
        (line.revision, line.actor, line.command, line.event, line.operation, line.attempt)
        for line in ann.history(workflow).changes
    ]

    assert told == [
        (1, "ann", "create", "created", "", 0),
        (2, "ann", "enable", "enabled", "", 0),
        (3, "bob", "begin", "granted", "op-0", 1),
        (4, "bob", "complete", "reported", "op-0", 1),
        (4, "bob", "complete", "granted", "op-1", 1),
        (5, "ann", "pause", "paused", "", 0),
        (6, "ann", "resolve", "attested", "op-1", 0),
    ]
    last = ann.history(workflow).changes[-1]
    assert last.detail == "confirmed_succeeded: I looked there"
    assert last.time_ms == site.clock.wall_ms()


def test_a_long_history_comes_in_pages_without_loss_or_repeat(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    for _ in range(130):
        ann.pause(workflow)
        ann.enable(workflow)

    revisions: list[int] = []
    after = 0
    while True:
        page = ann.history(workflow, after=after)
        revisions += [line.revision for line in page.changes]
        after = page.after
        if not after:
            break

    assert revisions == list(range(1, 263))


def test_a_history_after_its_end_is_empty(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))

    assert ann.history(workflow, after=2) == messages.HistoryPage(changes=())
    assert ann.history(workflow, after=99) == messages.HistoryPage(changes=())


def test_a_history_holds_no_arguments_results_or_tokens(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1, arguments={"secret": "canary-argument"}))
    grant = ann.granted(workflow)
    ann.succeed(workflow, grant, result="canary-result")

    told = msgspec.json.encode(ann.history(workflow)).decode()

    assert "canary" not in told
    assert isinstance(grant, decisions.Execute)
    assert grant.lease_token not in told
    assert grant.idempotency_key not in told
