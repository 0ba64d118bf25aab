"""Who may speak for an attempt: whoever presents its lease token."""

import hmac

from onceward.wire.identifiers import OperationId
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.protocol.attempt import Attempt
from onceward_controller.protocol.naming import Naming
from onceward_controller.protocol.operation import Operation
from onceward_controller.protocol.workflow import Workflow


def index(workflow: Workflow, name: str) -> int:
    """Return where the operation ``name`` stands in the plan.

    Raises:
        NotFoundError: The workflow has no such operation.
    """
    at = workflow.plan.index.get(name)
    if at is None:
        raise problem(ProblemCode.NOT_FOUND, f"the workflow has no such operation: `{name}`")
    return at


def attempt(
    operation: Operation, number: int, token: str, operation_id: OperationId, naming: Naming
) -> Attempt:
    """Return attempt ``number`` for the holder of ``token``.

    The token is never stored: it is derived again from what it names and compared in constant
    time.

    Raises:
        NotFoundError: ``attempt_unknown``.
        DeniedError: ``lease_token_invalid``.
    """
    found = operation.attempt(number)
    if found is None:
        raise problem(ProblemCode.ATTEMPT_UNKNOWN, f"there is no attempt {number}")
    expected = naming.lease_token(operation_id, number, found.request_id)
    if not hmac.compare_digest(expected.encode(), token.encode()):
        raise problem(ProblemCode.LEASE_TOKEN_INVALID, f"the token is not that of attempt {number}")
    return found
