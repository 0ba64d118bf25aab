"""A controller that answers listings by script, and nothing else."""

from onceward.embedded import EmbeddedController
from onceward.wire import messages
from onceward.wire.identifiers import WorkflowId, WorkspaceName
from onceward.wire.messages import RowClass, WorkflowPage, WorkflowRow, WorkflowStatus


class ScriptedListing(EmbeddedController):
    """Gives one page of ready workflows for each list of ids; it has no service behind it.

    Attributes:
        asked: How many pages were asked for.
    """

    def __init__(self, *pages: list[WorkflowId]) -> None:
        self._pages = pages or ([],)
        self.asked = 0

    def workflows(
        self,
        workspace: WorkspaceName,
        *,
        row_class: messages.RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> WorkflowPage:
        self.asked += 1
        at = int(after or 0)
        following = str(at + 1) if at + 1 < len(self._pages) else ""
        return WorkflowPage(rows=tuple(_row(each) for each in self._pages[at]), after=following)

    def close(self) -> None:
        pass


def _row(workflow: WorkflowId) -> WorkflowRow:
    return WorkflowRow(
        id=workflow,
        row_class=RowClass.READY,
        key=f"key of {workflow[-1]}",
        label="",
        status=WorkflowStatus.ENABLED,
        succeeded=0,
        operations=1,
        at_ms=0,
    )
