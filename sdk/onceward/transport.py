"""A controller behind HTTP: each command and the one request that it is.

``onceward.http_exchange`` sends them and names what can go wrong. A reply with success is decoded
as strictly as a request; one that has another shape counts as none, since nobody knows who gave it.
"""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from onceward.http_exchange import BINARY, Exchange, lost
from onceward.ports import Clock
from onceward.wire import limits, messages
from onceward.wire.decisions import Decision
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.secrets import Secret

T = TypeVar("T")

_decision = msgspec.json.Decoder(Decision)

# All that is said of it: the decoder's own words may quote the reply.
_OTHER_SHAPE = "the reply has another shape"


class HttpController:
    """Fulfils ``onceward.controller.Controller`` by asking a server.

    Args:
        url: ``https://host[:port][/path]``, or ``http://`` to a loopback address.
        token: The credential.
        workspace: Whose payloads ``upload_result`` stores.
        clock: For the deadline of a whole reply.

    Raises:
        ValueError: The URL is none of the above, or carries a user, a query or a fragment.
    """

    def __init__(
        self, url: str, token: Secret[str], *, workspace: WorkspaceName, clock: Clock
    ) -> None:
        self._exchange = Exchange(url, token, clock)
        self._workspace = workspace

    @property
    def origin(self) -> str:
        """Which controller this is."""
        return self._exchange.origin

    def __repr__(self) -> str:
        """Show where the controller is, and nothing of the credential."""
        return f"HttpController({self.origin!r})"

    def create_workflow(
        self, workspace: WorkspaceName, body: messages.CreateWorkflow
    ) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._post(_path("workspaces", workspace, "workflows"), body, messages.WorkflowView)

    def workflow(self, workflow: WorkflowId) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._get(_path("workflows", workflow), messages.WorkflowView)

    def workflows(
        self,
        workspace: WorkspaceName,
        *,
        row_class: messages.RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> messages.WorkflowPage:
        """See ``Controller``."""
        asked = {"class": row_class, "key": key, "after": after or None, "limit": limit}
        path = _path("workspaces", workspace, "workflows") + _query(asked)
        return self._get(path, messages.WorkflowPage)

    def history(self, workflow: WorkflowId, *, after: int = 0) -> messages.HistoryPage:
        """See ``Controller``."""
        path = _path("workflows", workflow, "history") + _query({"after": after})
        return self._get(path, messages.HistoryPage)

    def enable(self, workflow: WorkflowId) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._post(_path("workflows", workflow, "enable"), {}, messages.WorkflowView)

    def pause(self, workflow: WorkflowId) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._post(_path("workflows", workflow, "pause"), {}, messages.WorkflowView)

    def abandon(self, workflow: WorkflowId, body: messages.Abandon) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._post(_path("workflows", workflow, "abandon"), body, messages.WorkflowView)

    def resolve(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Resolve
    ) -> messages.WorkflowView:
        """See ``Controller``."""
        return self._post(_of(workflow, operation, "resolve"), body, messages.WorkflowView)

    def begin(self, workflow: WorkflowId, body: messages.Begin) -> Decision:
        """See ``Controller``."""
        if body.operation is None:
            reply = self._exchange.send(
                "POST", _path("workflows", workflow, "begin"), _encode(body)
            )
        else:
            named = messages.BeginOperation(body.request_id, body.tools)
            path = _of(workflow, body.operation, "begin")
            reply = self._exchange.send("POST", path, _encode(named))
        try:
            return _decision.decode(reply)
        except msgspec.DecodeError:
            raise lost("POST", _OTHER_SHAPE) from None

    def complete(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Complete
    ) -> messages.Completed:
        """See ``Controller``."""
        return self._post(_of(workflow, operation, "complete"), body, messages.Completed)

    def renew(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Renew
    ) -> messages.Renewed:
        """See ``Controller``."""
        return self._post(_of(workflow, operation, "renew"), body, messages.Renewed)

    def release(
        self, workflow: WorkflowId, operation: OperationName, body: messages.Release
    ) -> None:
        """See ``Controller``."""
        self._exchange.send("POST", _of(workflow, operation, "release"), _encode(body))

    def upload(
        self, workspace: WorkspaceName, content: bytes, *, key: str
    ) -> messages.PayloadStored:
        """See ``Controller``."""
        return self._upload(workspace, content, {"key": key})

    def upload_result(self, workflow: WorkflowId, content: bytes) -> messages.PayloadStored:
        """See ``Controller``."""
        return self._upload(self._workspace, content, {"workflow": workflow})

    def download(self, workflow: WorkflowId, digest: str) -> bytes:
        """See ``Controller``."""
        path = _path("payloads", digest) + _query({"workflow": workflow})
        return self._exchange.send("GET", path, bytes_max=limits.PAYLOAD_BYTES_MAX)

    def close(self) -> None:
        """See ``Controller``."""
        self._exchange.close()

    def _upload(
        self, workspace: WorkspaceName, content: bytes, asked: Mapping[str, object]
    ) -> messages.PayloadStored:
        path = _path("workspaces", workspace, "payloads") + _query(asked)
        body = self._exchange.send("POST", path, content, content_type=BINARY)
        return _decoded("POST", body, messages.PayloadStored)

    def _get(self, path: str, shape: type[T]) -> T:
        return _decoded("GET", self._exchange.send("GET", path), shape)

    def _post(self, path: str, body: object, shape: type[T]) -> T:
        return _decoded("POST", self._exchange.send("POST", path, _encode(body)), shape)


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def _of(workflow: WorkflowId, operation: str, verb: str) -> str:
    return _path("workflows", workflow, "operations", operation, verb)


def _query(asked: Mapping[str, object]) -> str:
    return "?" + urlencode({name: value for name, value in asked.items() if value is not None})


def _encode(body: object) -> bytes:
    return msgspec.json.encode(body)


def _decoded(method: str, content: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.DecodeError:
        raise lost(method, _OTHER_SHAPE) from None
