"""From what a person typed of a workflow's id to the whole of it."""

import re

from onceward.controller import Controller
from onceward.exit_codes import ExitCode
from onceward.wire import limits
from onceward.wire.identifiers import WorkflowId, WorkspaceName, is_workflow_id
from onceward.wire.messages import WorkflowRow
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.refusal import Refusal
from onceward_controller.cli.terminal import words

PREFIX_CHARACTERS_MIN = 6
"""Of an id, its ``wf_`` not counted."""
PAGES_MAX = 20
"""Pages of a listing that are searched: 20,000 workflows."""
_SHOWN_MAX = 10
_PREFIX = re.compile(r"(?:wf_)?([0-9a-v]{1,32})")


def whole(controller: Controller, invocation: Invocation, typed: str) -> WorkflowId:
    """Return the one workflow id that begins as ``typed`` does.

    A whole id is returned as it is; whether it exists, the command itself will say.

    Raises:
        Refusal: There is none, there are several, or it is too short to be searched for.
    """
    if is_workflow_id(typed):
        return WorkflowId(typed)
    match = _PREFIX.fullmatch(typed)
    listing = invocation.command("workflows", "list", in_workspace=True)
    if match is None or len(match[1]) < PREFIX_CHARACTERS_MIN:
        raise Refusal(
            ExitCode.USAGE,
            f"not a workflow id, nor {PREFIX_CHARACTERS_MIN} or more characters of one: `{typed}`",
            f"see the ids: {listing}",
        )
    found, is_complete = _search(controller, invocation.workspace, f"wf_{match[1]}")
    if len(found) == 1 and is_complete:
        return found[0].id
    if not is_complete:
        raise Refusal(
            ExitCode.USAGE,
            f"there are too many workflows to find one by `{typed}`",
            "give the whole id, or find it by its key: onceward workflows list --key KEY --json",
        )
    if not found:
        raise Refusal(
            ExitCode.NOT_FOUND,
            f"no workflow of the workspace `{invocation.workspace}` begins with `{typed}`",
            f"see the ids: {listing}",
            "or look elsewhere: --workspace NAME",
        )
    raise Refusal(
        ExitCode.USAGE,
        "\n".join(
            [f"{len(found)} workflows begin with `{typed}`:", *map(_line, found[:_SHOWN_MAX])]
        ),
        "give more of the id",
    )


def _search(
    controller: Controller, workspace: str, beginning: str
) -> tuple[list[WorkflowRow], bool]:
    """Return the rows of matching ids, and whether the whole listing was searched."""
    found: dict[WorkflowId, WorkflowRow] = {}
    after = ""
    for _ in range(PAGES_MAX):
        page = controller.workflows(
            WorkspaceName(workspace), after=after, limit=limits.PAGE_ROWS_MAX
        )
        found.update({row.id: row for row in page.rows if row.id.startswith(beginning)})
        after = page.after
        if not after:
            return list(found.values()), True
    return list(found.values()), False


def _line(row: WorkflowRow) -> str:
    return f"  {row.id}  {row.label or row.key}  ({words.of_row(row)})"
