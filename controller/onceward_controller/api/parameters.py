"""Parts of a path, held to the form of what they name."""

from typing import Annotated, TypeAlias

from litestar.params import PathParameter

from onceward.wire.identifiers import (
    NAME_PATTERN,
    WORKFLOW_ID_PATTERN,
    OperationName,
    WorkflowId,
    WorkspaceName,
)

Workspace: TypeAlias = Annotated[WorkspaceName, PathParameter(pattern=NAME_PATTERN)]
Workflow: TypeAlias = Annotated[WorkflowId, PathParameter(pattern=WORKFLOW_ID_PATTERN)]
Operation: TypeAlias = Annotated[OperationName, PathParameter(pattern=NAME_PATTERN)]
Digest: TypeAlias = Annotated[str, PathParameter(pattern=r"^[0-9a-f]{64}$")]
