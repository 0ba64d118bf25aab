"""What a request's head may look like; pure, and nothing of the body is read for it.

Litestar decodes JSON whatever type a body claims, so the type is settled here. Of headers that
decide who asks and where a body ends, a second one is refused: proxies disagree on which counts.
"""

from collections import Counter

from msgspec import Struct

from onceward.wire import limits
from onceward.wire.problems import ProblemCode, ProblemError, problem

METHODS = ("GET", "POST")
PATH_BYTES_MAX = 512
QUERY_BYTES_MAX = 2_048
HEADER_BYTES_MAX = 16 * limits.KIB
"""All headers of one request, each with the four bytes that frame it."""

HEALTH_PATHS = ("/livez", "/readyz")
"""Answered under any host name: probes address a machine by its number."""

_ONCE = (
    b"authorization",
    b"content-length",
    b"content-type",
    b"cookie",
    b"host",
    b"transfer-encoding",
)
_JSON_TYPES = (
    "application/json",
    "application/json; charset=utf-8",
    "application/json;charset=utf-8",
)
_BINARY_TYPE = "application/octet-stream"
_PAYLOADS = "/payloads"
_SPACE = 0x20
_DELETE = 0x7F


class Head(Struct, frozen=True):
    """The head of one request.

    Attributes:
        method: In capitals.
        path: Decoded.
        raw_path: As it was sent.
        query: As it was sent.
        headers: Names in lower case.
    """

    method: str
    path: str
    raw_path: bytes
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    def header(self, name: bytes) -> str | None:
        """Return the value of the only header of that name, or None."""
        value = next((value for each, value in self.headers if each == name), None)
        return None if value is None else value.decode("latin-1")

    @property
    def has_body(self) -> bool:
        """Whether a body is announced."""
        if self.header(b"transfer-encoding") is not None:
            return True
        return self.header(b"content-length") not in (None, "0")

    @property
    def is_payload(self) -> bool:
        """Whether the body is a payload's content and not JSON."""
        return self.method == "POST" and self.path.endswith(_PAYLOADS)

    @property
    def body_bytes_max(self) -> int:
        """The most bytes that the body may have."""
        return limits.PAYLOAD_BYTES_MAX if self.is_payload else limits.BODY_BYTES_MAX


def check(head: Head, allowed_hosts: tuple[str, ...]) -> None:
    """Return if the request may go further.

    Args:
        head: Of the request.
        allowed_hosts: What its Host header may name, in lower case and without a port.

    Raises:
        InvalidError: It may not; the code says which rule it breaks.
    """
    if head.method not in METHODS:
        raise problem(
            ProblemCode.METHOD_NOT_ALLOWED, "only GET and POST are used", allow=", ".join(METHODS)
        )
    _check_sizes(head)
    _check_headers(head)
    if head.path not in HEALTH_PATHS:
        _check_host(head, allowed_hosts)
    _check_body(head)


def too_large(head: Head) -> ProblemError:
    """Return the refusal of a body beyond its bound."""
    code = ProblemCode.PAYLOAD_TOO_LARGE if head.is_payload else ProblemCode.BODY_TOO_LARGE
    return problem(code, "the body is too large", bytes_max=head.body_bytes_max)


def _check_sizes(head: Head) -> None:
    header_bytes = sum(len(name) + len(value) + 4 for name, value in head.headers)
    for what, size, size_max in (
        ("path", len(head.raw_path), PATH_BYTES_MAX),
        ("query", len(head.query), QUERY_BYTES_MAX),
        ("headers", header_bytes, HEADER_BYTES_MAX),
    ):
        if size > size_max:
            raise problem(
                ProblemCode.HEADER_INVALID,
                f"the {what} of the request is too long",
                bytes=size,
                bytes_max=size_max,
            )
    if any(ord(character) < _SPACE or ord(character) == _DELETE for character in head.path):
        raise problem(ProblemCode.HEADER_INVALID, "the path holds a control character")


def _check_headers(head: Head) -> None:
    counts = Counter(name for name, _ in head.headers)
    for name in _ONCE:
        if counts[name] > 1:
            raise problem(
                ProblemCode.HEADER_INVALID, f"header occurs twice: `{name.decode('ascii')}`"
            )
    if counts[b"content-length"] and counts[b"transfer-encoding"]:
        raise problem(ProblemCode.HEADER_INVALID, "the body's end is given in two ways")


def _check_host(head: Head, allowed_hosts: tuple[str, ...]) -> None:
    host = (head.header(b"host") or "").lower()
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdecimal():
        name = host
    if name not in allowed_hosts:
        raise problem(
            ProblemCode.HEADER_INVALID,
            "the host of the request is not among those this controller answers for",
        )


def _check_body(head: Head) -> None:
    if not head.has_body:
        return
    if head.method == "GET":
        raise problem(ProblemCode.HEADER_INVALID, "a GET has no body")
    kind = (head.header(b"content-type") or "").strip().lower()
    if head.is_payload and kind != _BINARY_TYPE:
        raise problem(ProblemCode.CONTENT_TYPE, f"a payload is sent as {_BINARY_TYPE}")
    if not head.is_payload and kind not in _JSON_TYPES:
        raise problem(ProblemCode.CONTENT_TYPE, "the body is sent as application/json")
    if head.header(b"content-encoding") not in (None, "identity"):
        raise problem(ProblemCode.CONTENT_TYPE, "the body is sent without a content-encoding")
    length = head.header(b"content-length")
    if length is None:
        return
    if not length.isdecimal():
        raise problem(ProblemCode.HEADER_INVALID, "content-length is no number")
    # Compared by its digits first: a number of thousands of them takes long to convert.
    if len(length) > len(str(head.body_bytes_max)) or int(length) > head.body_bytes_max:
        raise too_large(head)
