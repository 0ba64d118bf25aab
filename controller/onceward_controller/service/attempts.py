"""Running operations: begin, renew, release, complete."""

from hashlib import sha256

from onceward.wire import messages
from onceward.wire.decisions import Decision, Stop, StopReason
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.protocol import commands
from onceward_controller.protocol.answers import Answer, Extended, Filed, Noted
from onceward_controller.protocol.authority import Action, Caller
from onceward_controller.service import wording
from onceward_controller.service.failures import told_after_the_write, told_to_the_caller
from onceward_controller.service.receipt_bytes import receipt_bytes
from onceward_controller.service.transact import Settled, Transactor
from onceward_controller.vault.vault import Vault


class Attempts:
    """What a process that runs tools asks for."""

    def __init__(self, vault: Vault, transactor: Transactor) -> None:
        self._vault = vault
        self._transactor = transactor

    def begin(self, caller: Caller, workflow: WorkflowId, body: messages.Begin) -> Decision:
        """Answer "may I run this?"; a grant is durable before this returns.

        Raises:
            InvalidError: ``unknown_tool``: a named operation needs a tool that is not offered.
            ProblemError: There is no such operation, it is not the caller's, or the store failed.
        """
        caller.require(Action.BEGIN)
        with told_to_the_caller():
            settled = self._transactor.run(workflow, caller, commands.Begin(body))
            decided = self._worded(settled, settled.answer)
        match decided:
            case Stop(reason=StopReason.UNKNOWN_TOOL, detail=detail) if body.operation is not None:
                raise problem(ProblemCode.UNKNOWN_TOOL, detail, operation=body.operation)
            case _:
                return decided

    def complete(
        self,
        caller: Caller,
        workflow: WorkflowId,
        operation: OperationName,
        body: messages.Complete,
    ) -> messages.Completed:
        """File a receipt, durable once this returns, and answer ``then_begin``.

        Raises:
            ProblemError: As ``completion.report``, or the store failed.
        """
        caller.require(Action.COMPLETE)
        receipt = receipt_bytes(body.receipt)
        command = commands.Complete(
            operation=operation,
            body=body,
            receipt=receipt,
            receipt_sha256=sha256(receipt).digest(),
        )
        with told_to_the_caller():
            settled = self._transactor.run(workflow, caller, command)
        assert isinstance(settled.answer, Filed), "a receipt is filed"
        then = settled.answer.then
        with told_after_the_write():
            return messages.Completed(
                standing=settled.answer.standing,
                decision=None if then is None else self._worded(settled, then),
            )

    def renew(
        self, caller: Caller, workflow: WorkflowId, operation: OperationName, body: messages.Renew
    ) -> messages.Renewed:
        """Give the holder of a lease more time.

        Raises:
            ProblemError: As ``leases.renew``, or the store failed.
        """
        caller.require(Action.RENEW)
        with told_to_the_caller():
            settled = self._transactor.run(workflow, caller, commands.Renew(operation, body))
        assert isinstance(settled.answer, Extended), "a renewal extends"
        return messages.Renewed(
            lease_until_ms=settled.answer.lease_until_ms, now_ms=settled.moment.ms
        )

    def release(
        self, caller: Caller, workflow: WorkflowId, operation: OperationName, body: messages.Release
    ) -> None:
        """Take a grant back whose call was never made.

        Raises:
            ProblemError: As ``leases.release``, or the store failed.
        """
        caller.require(Action.RELEASE)
        with told_to_the_caller():
            self._transactor.run(workflow, caller, commands.Release(operation, body))

    def _worded(self, settled: Settled, answer: Answer) -> Decision:
        assert not isinstance(answer, Extended | Filed | Noted), "a begin gets a verdict"
        return wording.decision(self._vault, settled.head, answer, settled.moment)
