"""Finding workflows: listings from index rows, one workflow by its key, a workflow's history."""

from contextlib import suppress
from functools import partial

from onceward.sealing import IntegrityError
from onceward.wire import limits, messages
from onceward.wire.identifiers import WorkflowId
from onceward.wire.messages import RowClass
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward_controller.protocol import commands
from onceward_controller.protocol.authority import Action, Caller
from onceward_controller.protocol.plan import OPERATOR_AUTHORITY
from onceward_controller.service.failures import told_to_the_caller
from onceward_controller.service.history import changes
from onceward_controller.service.rows import RowWriter
from onceward_controller.service.transact import Transactor
from onceward_controller.service.views import row_view
from onceward_controller.vault.index import Found, Summary
from onceward_controller.vault.store import StoreError
from onceward_controller.vault.vault import Vault

ORDER = (
    RowClass.ATTENTION,
    RowClass.ACTIVE,
    RowClass.WAITING,
    RowClass.READY,
    RowClass.PAUSED,
    RowClass.DRAFT,
    RowClass.DONE,
)
"""What needs a person comes first."""
CHECKED_MAX = 32
"""Workflows that one listing opens because their lease ran out."""
HISTORY_REVISIONS = 100
"""Revisions of one page of history."""


class Listing:
    """Read-only questions about many workflows, or about much of one."""

    def __init__(self, vault: Vault, rows: RowWriter, transactor: Transactor) -> None:
        self._vault = vault
        self._rows = rows
        self._transactor = transactor

    def rows(
        self,
        caller: Caller,
        workspace: str,
        *,
        row_class: RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> messages.WorkflowPage:
        """Return one page of a workspace's workflows, as far as rows tell.

        Args:
            caller: Who asks.
            workspace: Its name.
            row_class: One class, or all of them in ``ORDER``.
            key: Only the workflow that operators call so.
            after: What the page before gave as its ``after``.
            limit: Rows at most, 1 to 1,000.

        Raises:
            ProblemError: The caller may not, ``after`` is none of ours, or the store failed.
        """
        caller.require(Action.LIST)
        caller.require_workspace(workspace)
        if not 1 <= limit <= limits.PAGE_ROWS_MAX:
            raise problem(
                ProblemCode.BODY_INVALID, f"a page has 1 to {limits.PAGE_ROWS_MAX} rows: `limit`"
            )
        with told_to_the_caller():
            if key is not None:
                return self._by_key(workspace, key)
            self._check_due(caller, workspace)
            return self._page(workspace, row_class, after, limit)

    def history(
        self, caller: Caller, workflow: WorkflowId, *, after: int = 0
    ) -> messages.HistoryPage:
        """Return what happened to a workflow after revision ``after``, oldest first.

        Raises:
            ProblemError: There is no such workflow, it is not the caller's, or the store failed.
        """
        caller.require(Action.READ)
        with told_to_the_caller():
            head = self._transactor.look(workflow, caller)
            after = max(after, 0)
            last = min(after + HISTORY_REVISIONS, head.tip.revision)
            revisions = list(range(after + 1, last + 1))
            bodies = self._vault.workflow_log(workflow).bodies(head, revisions)
        found = [
            change
            for revision, body in zip(revisions, bodies, strict=True)
            for change in changes(head.workflow.plan, revision, body)
        ]
        return messages.HistoryPage(
            changes=tuple(found), after=last if last < head.tip.revision else 0
        )

    def _check_due(self, caller: Caller, workspace: str) -> None:
        """Open active workflows whose lease ran out, so that what needs a person shows as such.

        Bounded: a listing stays a listing however much has gone wrong. Whoever is checked leaves
        the class, so that the next listing checks others.
        """
        now_ms = self._vault.time.read().store_ms
        page = self._vault.index.page(workspace, RowClass.ACTIVE, after="", limit=CHECKED_MAX)
        due = [each.summary for each in page.found if each.summary.row.at_ms <= now_ms]
        if due:
            self._vault.desk.gather([partial(self._check, caller, each) for each in due])
        self._rows.flush()  # What this process has written shows in its own listings.

    def _check(self, caller: Caller, shown: Summary) -> None:
        # What one workflow refuses, or has lost, is told by opening it and hides no other; and a
        # store that takes no mark, such as a full disk, can still be read.
        with suppress(ProblemError, IntegrityError, StoreError):
            checked = self._transactor.run(shown.id, caller, commands.Check())
            if not checked.is_new and checked.head.row != shown.row:
                # Left behind when it could not be deleted: here it would be checked for ever.
                self._rows.heal(checked.head, shown.row)

    def _page(
        self, workspace: str, row_class: RowClass | None, after: str, limit: int
    ) -> messages.WorkflowPage:
        classes = ORDER if row_class is None else (row_class,)
        start, name = _cursor(after, classes)
        newest: dict[WorkflowId, Found] = {}
        damaged, cursor = 0, ""
        for position in range(start, len(classes)):
            page = self._vault.index.page(
                workspace, classes[position], after=name, limit=limit - len(newest)
            )
            for each in page.found:
                self._keep_newer(newest, each)
            damaged += page.damaged
            if page.more or len(newest) >= limit:
                cursor = f"{classes[position]}:{page.last}"
                break
            name = ""
        rows = tuple(row_view(each.summary) for each in newest.values())
        return messages.WorkflowPage(rows=rows, after=cursor, damaged=damaged)

    def _keep_newer(self, newest: dict[WorkflowId, Found], found: Found) -> None:
        known = newest.get(found.summary.id)
        if known is None:
            newest[found.summary.id] = found
            return
        older, newer = sorted((known, found), key=lambda each: each.summary.row.revision)
        newest[newer.summary.id] = newer
        if older.summary.row.revision < newer.summary.row.revision:
            with suppress(StoreError):  # It will be met again.
                self._vault.index.drop(older)

    def _by_key(self, workspace: str, key: str) -> messages.WorkflowPage:
        workflow = self._vault.naming.workflow_id(workspace, OPERATOR_AUTHORITY, key)
        head = self._vault.workflow_log(workflow).load()
        if head is None:
            return messages.WorkflowPage(rows=())
        plan = head.workflow.plan
        summary = Summary(
            id=workflow,
            key=plan.identity.key,
            label=plan.identity.label,
            operations=len(plan.operations),
            row=head.row,
        )
        return messages.WorkflowPage(rows=(row_view(summary),))


def _cursor(after: str, classes: tuple[RowClass, ...]) -> tuple[int, str]:
    if not after:
        return 0, ""
    drawer, _, name = after.partition(":")
    for position, row_class in enumerate(classes):
        if row_class == drawer and name.startswith("i/"):
            return position, name
    raise problem(ProblemCode.BODY_INVALID, "this page does not continue that one: `after`")
