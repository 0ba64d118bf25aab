"""Names that people choose and ids that are derived, and what each may look like.

Ids carry a prefix that shows what they name: ``wf_`` a workflow, ``op_`` an operation, each
followed by 32 characters of lowercase base32hex (160 bits of an HMAC). They are derived, never
random: the same work asked for again, even from a restored backup, has the same id.
"""

import re
from typing import NewType

from onceward.wire import limits

WorkspaceName = NewType("WorkspaceName", str)
WorkflowKey = NewType("WorkflowKey", str)
WorkflowId = NewType("WorkflowId", str)
OperationName = NewType("OperationName", str)
OperationId = NewType("OperationId", str)
RequestId = NewType("RequestId", str)
LeaseToken = NewType("LeaseToken", str)

NAME_PATTERN = rf"^[a-z0-9][a-z0-9._-]{{0,{limits.NAME_CHARACTERS_MAX - 1}}}$(?!\n)"
"""Workspaces, operations, tools and principals: lowercase, so that no two differ by case alone."""
VERSION_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,31}$(?!\n)"
REQUEST_ID_PATTERN = r"^[A-Za-z0-9_-]{16,64}$(?!\n)"
WORKFLOW_ID_PATTERN = r"^wf_[0-9a-v]{32}$(?!\n)"
OPERATION_ID_PATTERN = r"^op_[0-9a-v]{32}$(?!\n)"

_WORKFLOW_ID = re.compile(WORKFLOW_ID_PATTERN)
_NAME = re.compile(NAME_PATTERN)


def is_workflow_id(text: str) -> bool:
    """Return whether ``text`` has the form of a workflow id; it need not exist."""
    return _WORKFLOW_ID.match(text) is not None


def is_name(text: str) -> bool:
    """Return whether ``text`` may name a workspace, operation, tool or principal."""
    return _NAME.match(text) is not None
