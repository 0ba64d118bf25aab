"""A vault whose clocks and random bytes a test holds, and services on it as replicas would be.

site = Site()                 a vault in a store: in memory unless told
here, there = site.open(), site.open()
ann = Agent(here, "ann")      a process that runs tools, through the embedded client
workflow = ann.create("k", chain(3))
grant = ann.begin(workflow)
ann.succeed(workflow, grant)

Run as ``python -m tests.support.services FOLDER NAME`` it is another process on a vault in a file.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from onceward.embedded import EmbeddedController, open_embedded
from onceward.ports import Clock, Entropy, Spawner
from onceward.wire import decisions, messages
from onceward.wire.capabilities import Capability
from onceward.wire.decisions import Decision
from onceward.wire.definitions import OperationDefinition
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.messages import Standing
from onceward.wire.problems import ProblemCode, ProblemError
from onceward.wire.receipts import Outcome, Receipt
from onceward.wire.tokens import Role
from onceward_controller.protocol.authority import Caller
from onceward_controller.service.service import Service, assemble
from onceward_controller.vault.keys import keyring
from onceward_controller.vault.keys.unlockers import Wrapping, unwrap_root, wrap_root
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.store import Store
from onceward_controller.vault.vault import open_vault
from onceward_controller.vault.workflow_log import Head
from tests.support.ports import InlineSpawner, ManualClock, SeededEntropy, StoreClock

ADMIN = Caller(principal="ann", role=Role.ADMIN)
DOCS = WorkspaceName("docs")


class KeyInHand(msgspec.Struct, frozen=True):
    """Unlocks with 32 bytes that the test holds."""

    secret: bytes = bytes(range(32))

    @property
    def kind(self) -> str:
        return "hand"

    def wrap(self, root: bytes, *, vault_id: bytes, random: bytes) -> Wrapping:
        return wrap_root(root, self.secret, kind=self.kind, vault_id=vault_id, random=random)

    def unwrap(self, wrapping: Wrapping, *, vault_id: bytes) -> bytes:
        return unwrap_root(wrapping, self.secret, kind=self.kind, vault_id=vault_id)


UNLOCKER = KeyInHand()


def open_over(
    store: Store,
    *,
    clock: Clock,
    entropy: Entropy,
    spawner: Spawner,
    reads_at_once: int = 1,
) -> Service:
    """Return a service on the vault in ``store``, whose caches know nothing."""
    vault = open_vault(
        store,
        UNLOCKER,
        clock=clock,
        entropy=entropy,
        spawner=spawner,
        reads_at_once=reads_at_once,
    )
    return assemble(vault, spawner)


class Site:
    """One vault, one host.

    Attributes:
        clock: The host's clocks.
        store_clock: The store's; only of a store that the site made itself.
        store: Where the vault lies, before any decorator.
    """

    def __init__(
        self, store: Store | None = None, *, clock: Clock | None = None, resolution_ms: int = 1
    ) -> None:
        self.clock = ManualClock()
        self.store_clock = StoreClock(self.clock, resolution_ms=resolution_ms)
        self.entropy = SeededEntropy()
        self.store: Store = MemoryStore(self.store_clock) if store is None else store
        self._host: Clock = self.clock if clock is None else clock
        keyring.create(self.store, UNLOCKER, self._host, self.entropy)

    def open(
        self,
        store: Store | None = None,
        *,
        spawner: Spawner | None = None,
        reads_at_once: int = 1,
    ) -> Service:
        """Return one more service; ``store`` is a decorator around the site's own."""
        return open_over(
            self.store if store is None else store,
            clock=self._host,
            entropy=self.entropy,
            spawner=InlineSpawner() if spawner is None else spawner,
            reads_at_once=reads_at_once,
        )


class Agent(EmbeddedController):
    """A process that runs tools; its words for what an agent does, beside the client's own."""

    def __init__(self, service: Service, name: str = "ann") -> None:
        super().__init__(service, principal=name)
        self.service = service
        self.name = name

    @property
    def request_id(self) -> str:
        return f"request-of-{self.name}"

    def create(
        self, key: str, operations: Sequence[OperationDefinition], *, label: str = ""
    ) -> WorkflowId:
        """Create a workflow and let it run."""
        body = messages.CreateWorkflow(key=key, operations=tuple(operations), label=label)
        workflow = self.create_workflow(DOCS, body).id
        self.enable(workflow)
        return workflow

    def ask(self, workflow: WorkflowId, operation: str | None = None) -> Decision:
        body = messages.Begin(request_id=self.request_id, operation=operation)
        return self.begin(workflow, body)

    def granted(self, workflow: WorkflowId, operation: str | None = None) -> decisions.Granted:
        decision = self.ask(workflow, operation)
        assert isinstance(decision, decisions.Granted), decision
        return decision

    def report(
        self,
        workflow: WorkflowId,
        grant: decisions.Granted,
        outcome: Outcome,
        *,
        result: object = None,
        effect_id: str | None = "effect",
        then_begin: bool = False,
    ) -> messages.Completed:
        succeeded = outcome is Outcome.SUCCEEDED
        receipt = Receipt(
            outcome=outcome,
            operation_id=grant.operation_id,
            effect_id=effect_id if succeeded else None,
            result=result if succeeded else None,
        )
        body = messages.Complete(
            attempt=grant.attempt,
            lease_token=grant.lease_token,
            receipt=receipt,
            then_begin=messages.Begin(request_id=self.request_id) if then_begin else None,
        )
        return self.complete(workflow, grant.operation, body)

    def succeed(
        self,
        workflow: WorkflowId,
        grant: decisions.Granted,
        *,
        result: object = None,
        effect_id: str | None = "effect",
    ) -> Standing:
        return self.report(
            workflow, grant, Outcome.SUCCEEDED, result=result, effect_id=effect_id
        ).standing

    def step(
        self, workflow: WorkflowId, grant: decisions.Granted, *, result: object = None
    ) -> Decision:
        """Report success and ask for the next, in one call."""
        done = self.report(workflow, grant, Outcome.SUCCEEDED, result=result, then_begin=True)
        assert done.decision is not None
        return done.decision

    def run_all(self, workflow: WorkflowId, *, result: object = None) -> int:
        """Perform whatever is ready until nothing is; return how many operations that were."""
        decision, count = self.ask(workflow), 0
        while isinstance(decision, decisions.Granted):
            count += 1
            decision = self.step(workflow, decision, result=result)
        return count

    def renewed(self, workflow: WorkflowId, grant: decisions.Granted) -> messages.Renewed:
        body = messages.Renew(attempt=grant.attempt, lease_token=grant.lease_token)
        return self.renew(workflow, grant.operation, body)

    def give_back(self, workflow: WorkflowId, grant: decisions.Granted) -> None:
        body = messages.Release(attempt=grant.attempt, lease_token=grant.lease_token)
        self.release(workflow, grant.operation, body)

    def attest(
        self,
        workflow: WorkflowId,
        operation: str,
        outcome: Outcome,
        *,
        revision: int,
        result: object = None,
    ) -> messages.WorkflowView:
        body = messages.Resolve(
            outcome=outcome, evidence="I looked there", revision=revision, result=result
        )
        return self.resolve(workflow, OperationName(operation), body)

    def give_up(
        self, workflow: WorkflowId, *, revision: int, operation: str | None = None
    ) -> messages.WorkflowView:
        body = messages.Abandon(evidence="not wanted", revision=revision, operation=operation)
        return self.abandon(workflow, body)


def chain(
    length: int,
    *,
    query: bool = False,
    idempotency_ms: int | None = None,
    arguments: dict[str, Any] | None = None,
) -> tuple[OperationDefinition, ...]:
    """Return operations ``op-0``, ``op-1``, ... of which each waits for the one before."""
    return tuple(
        OperationDefinition(
            name=f"op-{at}",
            tool="upload",
            arguments={"document": at} if arguments is None else arguments,
            capability=Capability(query=query, idempotency_ms=idempotency_ms),
        )
        for at in range(length)
    )


def parallel(length: int) -> tuple[OperationDefinition, ...]:
    """Return operations of which none waits for another."""
    return tuple(msgspec.structs.replace(each, after=()) for each in chain(length))


def cold_head(service: Service, workflow: WorkflowId) -> Head:
    """Return the state as the store alone tells it."""
    head = service.vault.workflow_log(workflow).load()
    assert head is not None
    return head


def warm_head(service: Service, workflow: WorkflowId) -> Head:
    """Return the state as the service keeps it."""
    head = service.workflows._heads.get(workflow)
    assert head is not None
    return head


def state_of(head: Head) -> tuple[object, ...]:
    """Return all that a head says of its workflow, in comparable form."""
    return (
        head.tip,
        msgspec.msgpack.encode(head.workflow.progress),
        head.workflow.plan,
        head.workflow.revision,
        head.row,
        head.key,
    )


def code_of(error: BaseException) -> ProblemCode:
    """Return the code of a refusal, and fail for any other error."""
    assert isinstance(error, ProblemError), repr(error)
    return error.code


def _race(folder: Path, name: str) -> None:
    """Be one of many processes on one vault: ask for the operation of each workflow that is told.

    Says ``ready``, then for each line it reads, which is a workflow's key, what it was answered.
    """
    with closing(open_embedded(folder, principal=name)) as controller:
        print("ready", flush=True)
        for line in sys.stdin:
            body = messages.CreateWorkflow(key=line.strip(), operations=chain(1))
            workflow = controller.create_workflow(DOCS, body).id
            controller.enable(workflow)
            asked = messages.Begin(request_id=f"request-of-{name}")
            print(type(controller.begin(workflow, asked)).__name__, flush=True)


if __name__ == "__main__":
    _race(Path(sys.argv[1]), sys.argv[2])
