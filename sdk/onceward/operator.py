"""What may be said about workflows without running them.

Who runs an agent creates and looks up; who answers for it enables, pauses, resolves and abandons.
What a credential permits is for the controller to say.
"""

from collections.abc import Iterable

from onceward.controller import Controller
from onceward.uploads import fitted
from onceward.wire import messages
from onceward.wire.definitions import OperationDefinition
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.receipts import Outcome


class Operator:
    """Commands on the workflows of one workspace.

    Every method raises ``ProblemError`` in the class that says what to do.

    Args:
        controller: Whom to ask.
        workspace: Where ``create`` and ``workflows`` look.
    """

    def __init__(self, controller: Controller, workspace: str) -> None:
        self._controller = controller
        self._workspace = WorkspaceName(workspace)

    def create(
        self,
        key: str,
        operations: Iterable[OperationDefinition],
        *,
        label: str = "",
        tags: Iterable[str] = (),
        enable: bool = False,
    ) -> messages.WorkflowView:
        """Create a workflow, or return the one that has this key and these operations.

        Args:
            key: What the application knows this work by, up to 200 characters; the same key is the
                same workflow for ever.
            operations: From ``Tool.operation``, 1 to 200; each follows the one before it unless it
                says ``after``. Arguments too large to ride along are uploaded first.
            label: For people, up to 120 characters.
            tags: Up to eight words by which people find it.
            enable: Let it run as well, where who creates also answers for it. Only a draft is: one
                that a person paused stays paused, however often this is called.

        Raises:
            ConflictError: The key names a workflow with other operations.
            InvalidError: The operations cannot mean anything.
            ProblemError: See its classes.
        """
        fitting = fitted(
            operations, lambda content: self._controller.upload(self._workspace, content, key=key)
        )
        body = messages.CreateWorkflow(key, fitting, label, tuple(tags))
        work = self._controller.create_workflow(self._workspace, body)
        if enable and work.status is messages.WorkflowStatus.DRAFT:
            return self._controller.enable(work.id)
        return work

    def enable(self, workflow_id: str) -> messages.WorkflowView:
        """Let the workflow run; also ends a pause."""
        return self._controller.enable(WorkflowId(workflow_id))

    def pause(self, workflow_id: str) -> messages.WorkflowView:
        """Let nothing more of it be dispatched once this returns."""
        return self._controller.pause(WorkflowId(workflow_id))

    def resolve(
        self,
        workflow_id: str,
        name: str,
        outcome: Outcome,
        *,
        evidence: str,
        revision: int,
        effect_id: str | None = None,
        result: object = None,
    ) -> messages.WorkflowView:
        """Record a person's word on what happened.

        Args:
            workflow_id: The workflow.
            name: The operation.
            outcome: What is known now.
            evidence: How, in words.
            revision: Of the workflow as it was when this was decided.
            effect_id: The destination's name for the effect.
            result: What the tool would have returned.

        Raises:
            ConflictError: The workflow has changed since, or the call may still land.
            ProblemError: See its classes.
        """
        body = messages.Resolve(outcome, evidence, revision, effect_id, result)
        return self._controller.resolve(WorkflowId(workflow_id), OperationName(name), body)

    def abandon(
        self, workflow_id: str, *, evidence: str, revision: int, operation: str | None = None
    ) -> messages.WorkflowView:
        """Give up the workflow, or one operation of it, for good.

        Args:
            workflow_id: The workflow.
            evidence: Why, in words.
            revision: Of the workflow as it was when this was decided.
            operation: The one to give up; None for the whole workflow.

        Raises:
            ConflictError: The workflow has changed since, or a lease is live.
            ProblemError: See its classes.
        """
        body = messages.Abandon(evidence, revision, operation)
        return self._controller.abandon(WorkflowId(workflow_id), body)

    def workflow(self, workflow_id: str) -> messages.WorkflowView:
        """Return the workflow as it is now."""
        return self._controller.workflow(WorkflowId(workflow_id))

    def workflows(
        self,
        *,
        row_class: messages.RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> messages.WorkflowPage:
        """Return one page of the workspace's workflows.

        Args:
            row_class: One drawer of the listing; None for all, those that need a person first.
            key: Only the workflow with this key.
            after: From the page before; empty for the first.
            limit: Rows at most, 1 to 1,000.
        """
        return self._controller.workflows(
            self._workspace, row_class=row_class, key=key, after=after, limit=limit
        )

    def history(self, workflow_id: str, *, after: int = 0) -> messages.HistoryPage:
        """Return what happened to the workflow after revision ``after``, oldest first."""
        return self._controller.history(WorkflowId(workflow_id), after=after)
