"""A controller that answers as it was told to, and remembers what it was asked.

    controller = ScriptedController()
    controller.script("begin", grant(), lost(), ...)

A reply is a value to return, an exception to raise, or a function of the request's body. A verb
that was not scripted may not be used.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from onceward.wire import base32hex, messages
from onceward.wire.decisions import (
    Decision,
    Done,
    Execute,
    Granted,
    Query,
    Repeat,
    Stop,
    StopReason,
    Wait,
    WaitReason,
)
from onceward.wire.definitions import PayloadRef
from onceward.wire.identifiers import (
    LeaseToken,
    OperationId,
    OperationName,
    WorkflowId,
    WorkspaceName,
)
from onceward.wire.messages import Completed, Standing
from onceward.wire.problems import ProblemCode, UnavailableError, UnknownWriteError
from onceward.wire.receipts import Receipt

WORKFLOW = WorkflowId("wf_" + "0" * 32)
NOW_MS = 1_800_000_000_000
"""The controller's time of every grant, unless a test says otherwise."""

T = TypeVar("T")
Reply = object | Callable[[Any], object]


def operation_id(name: str) -> OperationId:
    """An id of the right form, the same for the same name."""
    return OperationId("op_" + base32hex.encode(name.encode()).ljust(32, "0")[:32])


def grant(
    name: str = "upload",
    *,
    kind: type[Execute | Repeat | Query] = Execute,
    attempt: int = 1,
    arguments: dict[str, Any] | None = None,
    lease_ms: int = 120_000,
    call_before_ms: int | None = None,
    timeout_ms: int = 30_000,
    tool: str = "upload",
    version: str = "1",
    destination: str = "",
    arguments_payload: PayloadRef | None = None,
) -> Granted:
    return kind(
        operation=OperationName(name),
        operation_id=operation_id(name),
        attempt=attempt,
        lease_token=LeaseToken(f"token-{name}-{attempt}"),
        lease_ms=lease_ms,
        lease_until_ms=NOW_MS + lease_ms,
        call_before_ms=NOW_MS + lease_ms if call_before_ms is None else call_before_ms,
        now_ms=NOW_MS,
        idempotency_key=f"key-{name}",
        tool=tool,
        version=version,
        destination=destination,
        timeout_ms=timeout_ms,
        fence=attempt,
        arguments={} if arguments is None else arguments,
        arguments_payload=arguments_payload,
    )


def accepted(decision: Decision | None = None) -> Completed:
    return Completed(Standing.ACCEPTED, decision)


def done(operations: int = 1) -> Done:
    return Done(operations)


def stop(reason: StopReason = StopReason.NEEDS_DECISION, name: str = "upload") -> Stop:
    return Stop(OperationName(name), reason, "look at the destination, then resolve")


def wait(retry_after_ms: int = 1_000, name: str = "upload") -> Wait:
    return Wait(OperationName(name), WaitReason.ATTEMPT_IN_PROGRESS, retry_after_ms)


def unreachable() -> UnavailableError:
    return UnavailableError(ProblemCode.NOT_REACHED, "connection refused")


def lost() -> UnknownWriteError:
    return UnknownWriteError(ProblemCode.UNREACHABLE, "no answer")


class ScriptedController:
    """See the module.

    Attributes:
        asked: Verbs with their bodies, in order.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.is_closed = False
        self._script: dict[str, deque[Reply]] = {}

    def script(self, verb: str, *replies: Reply) -> None:
        self._script.setdefault(verb, deque()).extend(replies)

    def bodies(self, verb: str) -> list[Any]:
        return [body for asked, body in self.asked if asked == verb]

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.asked]

    @property
    def receipts(self) -> list[Receipt]:
        """Every receipt that was sent, in order."""
        return [body.receipt for body in self.bodies("complete")]

    @property
    def receipt(self) -> Receipt:
        """The one receipt that was sent."""
        (receipt,) = self.receipts
        return receipt

    def _reply(self, verb: str, body: object, shape: type[T]) -> T:
        self.asked.append((verb, body))
        replies = self._script.get(verb)
        assert replies, f"nobody said what to answer to {verb}: {body}"
        reply = replies.popleft()
        if isinstance(reply, BaseException):
            raise reply
        if callable(reply):
            reply = reply(body)
        assert isinstance(reply, shape)
        return reply

    def create_workflow(
        self, workspace: WorkspaceName, body: messages.CreateWorkflow
    ) -> messages.WorkflowView:
        return self._reply("create_workflow", body, messages.WorkflowView)

    def workflow(self, workflow: WorkflowId) -> messages.WorkflowView:
        return self._reply("workflow", workflow, messages.WorkflowView)

    def workflows(
        self,
        workspace: WorkspaceName,
        *,
        row_class: messages.RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> messages.WorkflowPage:
        return self._reply("workflows", (row_class, key, after, limit), messages.WorkflowPage)

    def history(self, workflow: WorkflowId, *, after: int = 0) -> messages.HistoryPage:
        return self._reply("history", after, messages.HistoryPage)

    def enable(self, workflow: WorkflowId) -> messages.WorkflowView:
        return self._reply("enable", workflow, messages.WorkflowView)

    def pause(self, workflow: WorkflowId) -> messages.WorkflowView:
        return self._reply("pause", workflow, messages.WorkflowView)

    def abandon(self, workflow: WorkflowId, body: messages.Abandon) -> messages.WorkflowView:
        return self._reply("abandon", body, messages.WorkflowView)

    def resolve(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Resolve
    ) -> messages.WorkflowView:
        return self._reply("resolve", body, messages.WorkflowView)

    def begin(self, workflow: WorkflowId, body: messages.Begin) -> Decision:
        decision = self._reply("begin", body, object)
        assert isinstance(decision, Decision)
        return decision

    def complete(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Complete
    ) -> messages.Completed:
        return self._reply("complete", body, messages.Completed)

    def renew(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Renew
    ) -> messages.Renewed:
        return self._reply("renew", body, messages.Renewed)

    def release(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Release
    ) -> None:
        self._reply("release", body, type(None))

    def upload(
        self, workspace: WorkspaceName, content: bytes, *, key: str
    ) -> messages.PayloadStored:
        return self._reply("upload", content, messages.PayloadStored)

    def upload_result(self, workflow: WorkflowId, content: bytes) -> messages.PayloadStored:
        return self._reply("upload_result", content, messages.PayloadStored)

    def download(self, workflow: WorkflowId, digest: str) -> bytes:
        return self._reply("download", digest, bytes)

    def close(self) -> None:
        self.is_closed = True
