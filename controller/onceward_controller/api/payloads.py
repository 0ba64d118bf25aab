"""Payloads: arguments and results too large to ride along, as raw bytes."""

from typing import Annotated

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import QueryParameter, RawBody

from onceward.wire import limits, messages
from onceward.wire.identifiers import WORKFLOW_ID_PATTERN, WorkflowId
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.api.asking import Asking, asks
from onceward_controller.api.openapi import PROBLEMS
from onceward_controller.api.parameters import Digest, Workspace
from onceward_controller.protocol.authority import Action

BINARY = "application/octet-stream"


@post(
    "/workspaces/{workspace:str}/payloads",
    opt=asks(Action.UPLOAD),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def store_payload(
    asking: NamedDependency[Asking],
    workspace: Workspace,
    body: RawBody,
    key: Annotated[
        str | None, QueryParameter(min_length=1, max_length=limits.KEY_CHARACTERS_MAX)
    ] = None,
    workflow: Annotated[WorkflowId | None, QueryParameter(pattern=WORKFLOW_ID_PATTERN)] = None,
) -> messages.PayloadStored:
    """Store arguments for the workflow that ``key`` will name, or a result of ``workflow``."""
    if workflow is not None and key is None:
        return asking.service.payloads.store_result(asking.caller, workflow, body)
    if key is not None and workflow is None:
        return asking.service.payloads.store_arguments(asking.caller, workspace, key, body)
    raise problem(ProblemCode.BODY_INVALID, "give one of the two: `key` or `workflow`")


@get(
    "/payloads/{digest:str}",
    opt=asks(Action.READ),
    responses=PROBLEMS,
    media_type=BINARY,
    sync_to_thread=True,
)
def read_payload(
    asking: NamedDependency[Asking],
    digest: Digest,
    workflow: Annotated[WorkflowId, QueryParameter(pattern=WORKFLOW_ID_PATTERN)],
) -> bytes:
    """Return the content of a payload of ``workflow``."""
    return asking.service.payloads.read(asking.caller, workflow, digest)


ROUTES = (store_payload, read_payload)
