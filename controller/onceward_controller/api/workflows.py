"""Workflows: create, find, read, let run, stop, settle."""

from typing import Annotated

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, QueryParameter

from onceward.wire import limits, messages
from onceward.wire.messages import RowClass
from onceward_controller.api.asking import Asking, asks
from onceward_controller.api.json_body import NOTHING, Nothing
from onceward_controller.api.openapi import PROBLEMS
from onceward_controller.api.parameters import Operation, Workflow, Workspace
from onceward_controller.protocol.authority import Action


@post(
    "/workspaces/{workspace:str}/workflows",
    opt=asks(Action.CREATE),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def create_workflow(
    asking: NamedDependency[Asking], workspace: Workspace, data: JSONBody[messages.CreateWorkflow]
) -> messages.WorkflowView:
    """Create a workflow, or return the one that the key already names."""
    return asking.service.workflows.create(asking.caller, workspace, data)


@get(
    "/workspaces/{workspace:str}/workflows",
    opt=asks(Action.LIST),
    responses=PROBLEMS,
    sync_to_thread=True,
)
def list_workflows(
    *,
    asking: NamedDependency[Asking],
    workspace: Workspace,
    row_class: Annotated[RowClass | None, QueryParameter(name="class")] = None,
    key: Annotated[
        str | None, QueryParameter(min_length=1, max_length=limits.KEY_CHARACTERS_MAX)
    ] = None,
    after: Annotated[str, QueryParameter(max_length=limits.KIB + 64)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=limits.PAGE_ROWS_MAX)] = 100,
) -> messages.WorkflowPage:
    """Return one page of workflows; without a class, those that need a person come first."""
    return asking.service.listing.rows(
        asking.caller, workspace, row_class=row_class, key=key, after=after, limit=limit
    )


@get("/workflows/{workflow:str}", opt=asks(Action.READ), responses=PROBLEMS, sync_to_thread=True)
def read_workflow(asking: NamedDependency[Asking], workflow: Workflow) -> messages.WorkflowView:
    """Return a workflow as it is now."""
    return asking.service.workflows.read(asking.caller, workflow)


@get(
    "/workflows/{workflow:str}/history",
    opt=asks(Action.READ),
    responses=PROBLEMS,
    sync_to_thread=True,
)
def read_history(
    asking: NamedDependency[Asking],
    workflow: Workflow,
    after: Annotated[int, QueryParameter(ge=0, le=limits.INTEGER_MAX)] = 0,
) -> messages.HistoryPage:
    """Return what happened to a workflow, oldest first."""
    return asking.service.listing.history(asking.caller, workflow, after=after)


@post(
    "/workflows/{workflow:str}/enable",
    opt=asks(Action.ENABLE),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def enable_workflow(
    asking: NamedDependency[Asking],
    workflow: Workflow,
    data: JSONBody[Nothing] = NOTHING,  # noqa: ARG001  # decoded, so that it holds nothing
) -> messages.WorkflowView:
    """Let a workflow run; also ends a pause."""
    return asking.service.workflows.enable(asking.caller, workflow)


@post(
    "/workflows/{workflow:str}/pause",
    opt=asks(Action.PAUSE),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def pause_workflow(
    asking: NamedDependency[Asking],
    workflow: Workflow,
    data: JSONBody[Nothing] = NOTHING,  # noqa: ARG001  # decoded, so that it holds nothing
) -> messages.WorkflowView:
    """Dispatch nothing more of a workflow once this is answered."""
    return asking.service.workflows.pause(asking.caller, workflow)


@post(
    "/workflows/{workflow:str}/abandon",
    opt=asks(Action.ABANDON),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def abandon_workflow(
    asking: NamedDependency[Asking], workflow: Workflow, data: JSONBody[messages.Abandon]
) -> messages.WorkflowView:
    """Give up a workflow, or one operation of it, for good."""
    return asking.service.workflows.abandon(asking.caller, workflow, data)


@post(
    "/workflows/{workflow:str}/operations/{operation:str}/resolve",
    opt=asks(Action.RESOLVE),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def resolve_operation(
    asking: NamedDependency[Asking],
    workflow: Workflow,
    operation: Operation,
    data: JSONBody[messages.Resolve],
) -> messages.WorkflowView:
    """Record a person's word on what happened."""
    return asking.service.workflows.resolve(asking.caller, workflow, operation, data)


ROUTES = (
    create_workflow,
    list_workflows,
    read_workflow,
    read_history,
    enable_workflow,
    pause_workflow,
    abandon_workflow,
    resolve_operation,
)
