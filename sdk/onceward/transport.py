"""A controller behind HTTP.

    connection refused, TLS failed   nothing was sent           UnavailableError
    no answer, or not a controller's the write may have happened UnknownWriteError (a read:
                                                                  UnavailableError)
    application/problem+json         what it says, in the class that says what to do
    anything else with 2xx           the reply, decoded as strictly as a request

https, or http to this machine alone. No redirect is followed, no proxy of the environment is used,
no compressed reply is asked for, and the size of every reply has a bound. The token is in a header
of each request and nowhere else.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ProtocolError,
    SSLError,
)

from onceward.ports import Clock
from onceward.wire import limits, messages
from onceward.wire.decisions import Decision
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.problems import (
    Problem,
    ProblemCode,
    ProblemError,
    UnavailableError,
    UnknownWriteError,
    problem,
)
from onceward.wire.secrets import Secret

T = TypeVar("T")

CONNECT_SECONDS = 2.0
READ_SECONDS = 15.0
REPLY_BYTES_MAX = 64 * limits.MIB
"""A workflow with all its arguments and receipts; payloads have their own, smaller bound."""
CONNECTIONS_KEPT = 32
"""Idle connections that are kept; more may be open at a time."""

_CHUNK_BYTES = 64 * limits.KIB
_JSON = "application/json"
_BINARY = "application/octet-stream"
_PROBLEM = "application/problem+json"
_NOT_SENT = (NewConnectionError, ConnectTimeoutError, SSLError)


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
        self.origin = checked_url(url)
        parts = urlsplit(self.origin)
        self._path = parts.path
        self._token = token
        self._workspace = workspace
        self._clock = clock
        kind = (
            urllib3.HTTPSConnectionPool if parts.scheme == "https" else urllib3.HTTPConnectionPool
        )
        assert parts.hostname is not None, "the URL was checked"
        self._pool = kind(
            parts.hostname,
            parts.port,
            maxsize=CONNECTIONS_KEPT,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            retries=False,
        )

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
            decision = self._post(_path("workflows", workflow, "begin"), body, _DecisionReply)
        else:
            named = messages.BeginOperation(body.request_id, body.tools)
            decision = self._post(_of(workflow, body.operation, "begin"), named, _DecisionReply)
        return decision

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
        self._send("POST", _of(workflow, operation, "release"), _encode(body))

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
        return self._send("GET", path, bytes_max=limits.PAYLOAD_BYTES_MAX)

    def close(self) -> None:
        """See ``Controller``."""
        self._pool.close()

    def _upload(
        self, workspace: WorkspaceName, content: bytes, asked: Mapping[str, object]
    ) -> messages.PayloadStored:
        path = _path("workspaces", workspace, "payloads") + _query(asked)
        body = self._send("POST", path, content, content_type=_BINARY)
        return _decoded("POST", body, messages.PayloadStored)

    def _get(self, path: str, shape: type[T]) -> T:
        return _decoded("GET", self._send("GET", path), shape)

    def _post(self, path: str, body: object, shape: type[T]) -> T:
        return _decoded("POST", self._send("POST", path, _encode(body)), shape)

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = _JSON,
        bytes_max: int = REPLY_BYTES_MAX,
    ) -> bytes:
        """Send one request and return the body of a good reply."""
        headers = {"Authorization": f"Bearer {self._token.reveal()}", "Accept": _JSON}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            response = self._pool.urlopen(
                method,
                self._path + path,
                body=body,
                headers=headers,
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
            )
            try:
                content = b"".join(self._chunks(response, bytes_max))
            finally:
                # Read to its end, the connection goes back to the pool; else it is closed.
                response.release_conn()
        except _NOT_SENT as error:
            raise UnavailableError(
                ProblemCode.UNREACHABLE,
                f"the controller cannot be reached: url=`{self.origin}` "
                f"error=`{type(error).__name__}`",
            ) from None
        except HTTPError as error:
            raise _lost(method, f"{type(error).__name__}: url=`{self.origin}`") from None
        if HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            return content
        raise _refusal(method, response.status, response.headers.get("content-type"), content)

    def _chunks(self, response: urllib3.BaseHTTPResponse, bytes_max: int) -> Iterator[bytes]:
        """Give the reply piece by piece, up to its bounds of size and time."""
        until_ms = self._clock.boottime_ms() + int(READ_SECONDS * limits.SECOND_MS)
        size = 0
        while chunk := response.read1(_CHUNK_BYTES):
            size += len(chunk)
            if size > bytes_max or self._clock.boottime_ms() > until_ms:
                response.close()
                raise ProtocolError("the reply is larger or slower than any of a controller's")
            yield chunk


def checked_url(url: str) -> str:
    """Return ``url`` without a slash at its end.

    Raises:
        ValueError: It is not https, or http to a loopback address, or carries more than a host, a
            port and a path. The message holds nothing of the URL: it might carry a secret.
    """
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("the controller's url carries a user, query or fragment: leave them out")
    if parts.hostname is None or parts.scheme not in {"http", "https"}:
        raise ValueError("the controller's url must be https://host, or http:// to this machine")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError("the controller's url is http to another machine: use https")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def _of(workflow: WorkflowId, operation: str, verb: str) -> str:
    return _path("workflows", workflow, "operations", operation, verb)


def _query(asked: Mapping[str, object]) -> str:
    return "?" + urlencode({name: value for name, value in asked.items() if value is not None})


def _encode(body: object) -> bytes:
    return msgspec.json.encode(body)


# A union is no class, and mypy's ``type[T]`` takes only classes; msgspec takes both.
_DecisionReply: Any = Decision


def _decoded(method: str, content: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.DecodeError:
        # Not its text, which may quote the reply.
        raise _lost(method, "the reply has another shape") from None


def _refusal(method: str, status: int, content_type: str | None, content: bytes) -> ProblemError:
    """Return what a reply without success says."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != _PROBLEM:
        return _lost(method, f"the answer is not a controller's: status=`{status}`")
    try:
        said = msgspec.json.decode(content, type=Problem)
    except msgspec.DecodeError:
        return _lost(method, f"the refusal cannot be read: status=`{status}`")
    more = {name: value for name, value in said.more.items() if name not in {"code", "detail"}}
    if said.request_id:
        more["request_id"] = said.request_id
    refusal = problem(said.code, said.detail, **more)
    if method == "GET" and isinstance(refusal, UnknownWriteError):
        return UnavailableError(refusal.code, refusal.detail, **refusal.more)
    return refusal


def _lost(method: str, fact: str) -> ProblemError:
    """Return the error for a reply that never came, or cannot be a controller's."""
    kind = UnavailableError if method == "GET" else UnknownWriteError
    return kind(ProblemCode.UNREACHABLE, f"no answer from the controller: {fact}")
