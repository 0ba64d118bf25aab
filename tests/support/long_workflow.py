"""A workflow of more operations than one may be created with, written straight into its log."""

from hashlib import sha256

import msgspec

from onceward.wire import limits, messages
from onceward.wire.decisions import Mode
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.receipts import Outcome, Receipt, encode
from onceward_controller.protocol import events
from onceward_controller.protocol.plan import Identity
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.workflow import evolve
from onceward_controller.vault.body import Entry
from onceward_controller.vault.workflow_log import WorkflowLog
from tests.support.ports import START_MS
from tests.support.services import Agent, Site, chain

LENGTH = 700

WORKER = "request-of-ann"


class Long:
    """A workflow of ``LENGTH`` operations, written straight into its log.

    Operation 0 is tried twice: the first attempt's lease ran out, and its receipt may still come.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.agent = Agent(site.open())
        vault = self.agent.service.vault
        self.naming = vault.naming
        self.announce = self.agent.service.rows.announce
        self.workflow: WorkflowId = vault.naming.workflow_id("docs", "", "long")
        self.log: WorkflowLog = vault.workflow_log(self.workflow)
        key, _ = vault.keys.make(vault.naming.key_log(self.workflow))
        identity = Identity(
            id=self.workflow,
            workspace="docs",
            authority="",
            key="long",
            label="",
            tags=(),
            created_by="ann",
            created_ms=START_MS,
        )
        operations = tuple(
            msgspec.structs.replace(each, after=() if at == 0 else (f"op-{at - 1}",))
            for at, each in enumerate(chain(LENGTH, idempotency_ms=limits.DAY_MS))
        )
        created = events.Created(identity=identity, operations=operations, digest="digest")
        self.head = self.log.create(key, "ann", created, Stamp(revision=1, ms=START_MS))
        self.append(events.Enabled())
        self.append(self.grant(0, 1))
        self.append(self.grant(0, 2, mode=Mode.REPEAT))
        self.done = 0

    def grant(self, at: int, number: int, *, mode: Mode = Mode.EXECUTE) -> events.Granted:
        lease_until_ms = START_MS + number * limits.LEASE_DEFAULT_MS
        return events.Granted(
            at=at,
            number=number,
            mode=mode,
            request_id=WORKER,
            lease_until_ms=lease_until_ms,
            call_before_ms=lease_until_ms,
            idempotency_key=f"key-{at}" if number == 1 else None,
        )

    def receipt(self, at: int, outcome: Outcome = Outcome.SUCCEEDED) -> Receipt:
        effect_id = f"effect-{at}" if outcome is Outcome.SUCCEEDED else None
        operation_id = self.head.workflow.plan.operation_id(at, self.naming)
        return Receipt(outcome=outcome, operation_id=operation_id, effect_id=effect_id)

    def success(self, at: int, number: int) -> events.Reported:
        body = encode(self.receipt(at))
        return events.Reported(
            at=at,
            number=number,
            outcome=Outcome.SUCCEEDED,
            accepted=True,
            conclusive=False,
            effect_id=f"effect-{at}",
            receipt_sha256=sha256(body).digest(),
            receipt=body,
        )

    def finish(self, until: int) -> None:
        """Let operations succeed up to ``until``, one revision each."""
        while self.done < until:
            at = self.done
            following = () if at + 1 == LENGTH else (self.grant(at + 1, 1),)
            self.append(self.success(at, 2 if at == 0 else 1), *following)
            self.done += 1

    def append(self, *changes: events.Event) -> None:
        stamp = Stamp(revision=self.head.tip.revision + 1, ms=START_MS)
        state = self.head.workflow
        for event in changes:
            state = evolve(state, event, stamp)
        entry = Entry(actor="ann", command="test", events=changes)
        self.head = self.log.append(self.head, state, (entry,), stamp, announce=self.announce)

    def late(self, outcome: Outcome) -> messages.Completed:
        """Hand in the receipt of the first attempt at operation 0."""
        operation_id = self.head.workflow.plan.operation_id(0, self.naming)
        body = messages.Complete(
            attempt=1,
            lease_token=self.naming.lease_token(operation_id, 1, WORKER),
            receipt=self.receipt(0, outcome),
        )
        return self.agent.complete(self.workflow, OperationName("op-0"), body)

    def caught_up(self) -> None:
        """Read what the agent wrote, to write on from there."""
        self.head = self.log.refresh(self.head)
