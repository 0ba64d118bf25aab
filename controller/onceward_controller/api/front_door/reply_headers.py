"""What every reply says to browsers and caches, refusals included.

A page that needs more than this, such as its own stylesheet, sets the header itself: what a reply
already says is left as it is.
"""

_ALWAYS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_UNDER_TLS = ((b"strict-transport-security", b"max-age=31536000"),)
REQUEST_ID = b"x-request-id"


def completed(
    headers: list[tuple[bytes, bytes]], *, request_id: str, is_tls: bool, is_last: bool
) -> list[tuple[bytes, bytes]]:
    """Return the headers of a reply with those that every reply has.

    Args:
        headers: As the application made them; names in lower case.
        request_id: Names the request in our logs.
        is_tls: Whether the client came over TLS.
        is_last: Whether the connection ends with this reply, because bytes of the request are
            left unread on it.
    """
    added = _ALWAYS + _UNDER_TLS if is_tls else _ALWAYS
    said = {name for name, _ in headers}
    complete = [*headers, *(each for each in added if each[0] not in said)]
    complete.append((REQUEST_ID, request_id.encode("ascii")))
    if is_last:
        complete.append((b"connection", b"close"))
    return complete
