"""One request and its reply, with every way in which it can fail named by what to do.

    no connection                      nothing was sent            not_reached
    no answer, or not a controller's   a write may have happened   unreachable
                                       a read did not matter       not_reached
    application/problem+json           what it says, in the class that says what to do
    forked since it was opened         nothing was sent            opened_before_fork

No redirect is followed, no proxy of the environment is used, no compressed reply is asked for, and
every reply has a bound in size and time. The token is in a header of each request, nowhere else.
"""

import ipaddress
from collections.abc import Iterator
from http import HTTPStatus
from io import BytesIO
from urllib.parse import urlsplit

import msgspec
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ProtocolError,
)

from onceward.own_process import OwnProcess
from onceward.ports import Clock
from onceward.wire import limits
from onceward.wire.problems import (
    Problem,
    ProblemCode,
    ProblemError,
    UnavailableError,
    UnknownWriteError,
    problem,
)
from onceward.wire.secrets import Secret

CONNECT_SECONDS = 2.0
READ_SECONDS = 15.0
REPLY_BYTES_MAX = 64 * limits.MIB
"""A workflow with all its arguments and receipts; payloads have their own, smaller bound."""
CONNECTIONS_KEPT = 32
"""Idle connections that are kept; more may be open at a time."""
JSON = "application/json"
BINARY = "application/octet-stream"

_CHUNK_BYTES = 64 * limits.KIB
_PROBLEM = "application/problem+json"
_NOT_SENT = (NewConnectionError, ConnectTimeoutError)


class Exchange:
    """Connections to one controller.

    Args:
        url: ``https://host[:port][/path]``, or ``http://`` to a loopback address.
        token: The credential.
        clock: For the deadline of a whole reply.

    Raises:
        ValueError: See ``checked_url``.
    """

    def __init__(self, url: str, token: Secret[str], clock: Clock) -> None:
        self.origin = checked_url(url)
        self._process = OwnProcess()
        parts = urlsplit(self.origin)
        assert parts.hostname is not None, "the URL was checked"
        self._path = parts.path
        self._token = token
        self._clock = clock
        kind = (
            urllib3.HTTPSConnectionPool if parts.scheme == "https" else urllib3.HTTPConnectionPool
        )
        self._pool = kind(
            parts.hostname,
            parts.port,
            maxsize=CONNECTIONS_KEPT,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            retries=False,
        )

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        bytes_max: int = REPLY_BYTES_MAX,
    ) -> bytes:
        """Send one request and return the body of a good reply.

        Args:
            method: ``GET`` for what changes nothing, else ``POST``.
            path: Quoted, with its query.
            body: None for none.
            content_type: Of ``body``.
            bytes_max: The most that the reply may have.

        Raises:
            UnavailableError: Nothing was sent, or nothing could change by it.
            UnknownWriteError: There is no answer that a controller gave.
            ProblemError: The controller refused.
            InvalidError: The connections belong to the process that this one was forked from.
        """
        self._process.check()
        headers = {"Authorization": f"Bearer {self._token.reveal()}", "Accept": JSON}
        if body is not None:
            headers["Content-Type"] = content_type
            headers["Content-Length"] = str(len(body))
        try:
            response = self._pool.urlopen(
                method,
                self._path + path,
                # From a file it is sent piece by piece: the time limit is for one piece, and a
                # large body on a slow line takes longer.
                body=None if body is None else BytesIO(body),
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
                ProblemCode.NOT_REACHED,
                f"the controller cannot be reached: url=`{self.origin}` "
                f"error=`{type(error).__name__}`",
            ) from None
        except HTTPError as error:
            raise lost(method, f"{type(error).__name__}: url=`{self.origin}`") from None
        if HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            return content
        raise _refusal(method, response.status, response.headers.get("content-type"), content)

    def close(self) -> None:
        """Close every connection; those of the process that this one was forked from stay."""
        if self._process.is_here():
            self._pool.close()

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


def _refusal(method: str, status: int, content_type: str | None, content: bytes) -> ProblemError:
    """Return what a reply without success says."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != _PROBLEM:
        return lost(method, f"the answer is not a controller's: status=`{status}`")
    try:
        said = msgspec.json.decode(content, type=Problem)
    except msgspec.DecodeError:
        return lost(method, f"the refusal cannot be read: status=`{status}`")
    more = {name: value for name, value in said.more.items() if name not in {"code", "detail"}}
    if said.request_id:
        more["request_id"] = said.request_id
    refusal = problem(said.code, said.detail, **more)
    if method == "GET" and isinstance(refusal, UnknownWriteError):
        return UnavailableError(refusal.code, refusal.detail, **refusal.more)
    return refusal


def lost(method: str, fact: str) -> ProblemError:
    """Return the error for a reply that never came, or cannot be a controller's."""
    code = ProblemCode.NOT_REACHED if method == "GET" else ProblemCode.UNREACHABLE
    return problem(code, f"no answer from the controller: {fact}")
