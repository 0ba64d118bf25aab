"""Creating workflows, letting them run, stopping them, settling them by a person's word."""

from contextlib import suppress

from onceward.wire import canonical, codec, definitions, messages
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward.wire.receipts import Outcome, Receipt
from onceward_controller.protocol import commands, events, holders
from onceward_controller.protocol.authority import Action, Caller
from onceward_controller.protocol.clockguard import Moment, moment
from onceward_controller.protocol.plan import OPERATOR_AUTHORITY, Identity
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.rows import row
from onceward_controller.protocol.workflow import create
from onceward_controller.service.failures import told_after_the_write, told_to_the_caller
from onceward_controller.service.heads import Heads
from onceward_controller.service.payloads import Payloads
from onceward_controller.service.receipt_bytes import receipt_bytes
from onceward_controller.service.rows import RowWriter
from onceward_controller.service.transact import Transactor
from onceward_controller.service.views import workflow_view
from onceward_controller.vault.store import ConflictError, StoreError
from onceward_controller.vault.vault import Vault
from onceward_controller.vault.workflow_log import Head


class Workflows:
    """What can be done to a workflow as a whole."""

    def __init__(
        self,
        vault: Vault,
        heads: Heads,
        rows: RowWriter,
        transactor: Transactor,
        payloads: Payloads,
    ) -> None:
        self._vault = vault
        self._heads = heads
        self._rows = rows
        self._transactor = transactor
        self._payloads = payloads

    def create(
        self, caller: Caller, workspace: str, body: messages.CreateWorkflow
    ) -> messages.WorkflowView:
        """Create a workflow, or return the one that the key already names.

        Raises:
            ConflictError: ``definition_conflict``, naming the first difference.
            InvalidError: The definition cannot mean anything.
            ProblemError: The caller may not, or the store failed.
        """
        caller.require(Action.CREATE)
        caller.require_workspace(workspace)
        resolved = _resolved(body.operations)
        operations, digest = resolved.operations, resolved.digest
        workflow = self._vault.naming.workflow_id(workspace, OPERATOR_AUTHORITY, body.key)
        with told_to_the_caller():
            self._payloads.require(workflow, operations)
            now = self._now()
            identity = Identity(
                id=workflow,
                workspace=workspace,
                authority=OPERATOR_AUTHORITY,
                key=body.key,
                label=body.label,
                tags=body.tags,
                created_by=caller.principal,
                created_ms=now.ms,
            )
            event = events.Created(identity=identity, operations=operations, digest=digest)
            head = self._created(caller, event, Stamp(revision=1, ms=now.ms, safe=now.safe))
            if head.workflow.plan.digest != digest:
                raise _definition_conflict(head, operations)
            return self._view(head)

    def read(self, caller: Caller, workflow: WorkflowId) -> messages.WorkflowView:
        """Return the workflow as it is now.

        Raises:
            ProblemError: There is none, it is not the caller's, or the store failed.
        """
        caller.require(Action.READ)
        with told_to_the_caller():
            known = self._heads.get(workflow)
            head = self._transactor.look(workflow, caller)
            if known is None or known.row != head.row:
                # Somebody else may have died between the commit and its row.
                self._rows.heal(head)
            return self._view(head)

    def enable(self, caller: Caller, workflow: WorkflowId) -> messages.WorkflowView:
        """Let it run; also ends a pause.

        Raises:
            ProblemError: It is finished, unknown, not the caller's, or the store failed.
        """
        return self._changed(caller, Action.ENABLE, workflow, commands.Enable())

    def pause(self, caller: Caller, workflow: WorkflowId) -> messages.WorkflowView:
        """Dispatch nothing more once this returns.

        Raises:
            ProblemError: It is finished, unknown, not the caller's, or the store failed.
        """
        return self._changed(caller, Action.PAUSE, workflow, commands.Pause())

    def abandon(
        self, caller: Caller, workflow: WorkflowId, body: messages.Abandon
    ) -> messages.WorkflowView:
        """Give up the workflow, or one operation of it.

        Raises:
            ProblemError: As ``operator.abandon``, or the store failed.
        """
        return self._changed(caller, Action.ABANDON, workflow, commands.Abandon(body))

    def resolve(
        self, caller: Caller, workflow: WorkflowId, operation: OperationName, body: messages.Resolve
    ) -> messages.WorkflowView:
        """Record a person's word on what happened.

        Raises:
            ProblemError: As ``operator.resolve``, or the store failed.
        """
        caller.require(Action.RESOLVE)
        receipt = b""
        if body.outcome is Outcome.SUCCEEDED:
            with told_to_the_caller():
                receipt = self._attested(caller, workflow, operation, body)
        command = commands.Resolve(operation, body, receipt)
        return self._changed(caller, Action.RESOLVE, workflow, command)

    def _changed(
        self, caller: Caller, action: Action, workflow: WorkflowId, command: commands.Command
    ) -> messages.WorkflowView:
        caller.require(action)
        with told_to_the_caller():
            head = self._transactor.run(workflow, caller, command).head
        with told_after_the_write():
            return self._view(head)

    def _attested(
        self, caller: Caller, workflow: WorkflowId, operation: str, body: messages.Resolve
    ) -> bytes:
        """Return the receipt that a person's success leaves for later reads."""
        state = self._transactor.look(workflow, caller).workflow
        at = holders.index(state, operation)
        receipt = Receipt(
            outcome=Outcome.SUCCEEDED,
            operation_id=state.plan.operation_id(at, self._vault.naming),
            effect_id=body.effect_id,
            result=body.result,
        )
        return receipt_bytes(receipt)

    def _created(self, caller: Caller, event: events.Created, stamp: Stamp) -> Head:
        """Return the workflow that the event creates, or the one that its key names already."""
        workflow = event.identity.id
        if self._heads.get(workflow) is not None:
            # A plan never changes, so that any head would tell whether it is the one asked for;
            # the answer shows the present, and so looks again.
            return self._transactor.look(workflow, caller)
        log = self._vault.workflow_log(workflow)
        key, is_new = self._vault.keys.make(self._vault.naming.key_log(workflow))
        head = None if is_new else log.load()
        if head is None:
            # The row goes first: a crash in between leaves a row too many, which leads nowhere,
            # and never a workflow that no listing shows.
            state, index = create(event), self._vault.index
            line = row(state, now_ms=stamp.ms)
            index.write(state.plan, line)
            try:
                head = log.create(key, caller.principal, event, stamp)
            except ConflictError:
                head = log.load()
                if head is None:
                    raise
                with suppress(StoreError):  # A row too many; the workflow is there all the same.
                    index.withdraw(state.plan, line, kept=index.name(head.workflow.plan, head.row))
        self._heads.put(workflow, head)
        return head

    def _view(self, head: Head) -> messages.WorkflowView:
        now = self._now(high_water_ms=head.workflow.progress.high_water_ms)
        return workflow_view(self._vault, head, now)

    def _now(self, high_water_ms: int = 0) -> Moment:
        return moment(self._vault.time.read(), high_water_ms=high_water_ms)


def _resolved(operations: definitions.Operations) -> definitions.Resolved:
    try:
        return definitions.resolve(operations)
    except definitions.DefinitionError as error:
        raise problem(error.code, str(error)) from None
    except canonical.CanonicalError as error:
        raise codec.refusal(error) from None


def _definition_conflict(head: Head, operations: definitions.Operations) -> ProblemError:
    stored = definitions.as_json(head.workflow.plan.operations)
    where = canonical.first_difference(
        {"operations": stored}, {"operations": definitions.as_json(operations)}
    )
    return problem(
        ProblemCode.DEFINITION_CONFLICT,
        f"the key already names a workflow with another definition: first difference at `{where}`",
        first_difference=where or "",
        workflow=head.workflow.plan.identity.id,
    )
