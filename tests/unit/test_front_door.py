"""The front door: what a request must pass before any framework sees it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from onceward.system import SystemEntropy
from onceward.wire import limits
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward_controller.api.front_door import envelope, reply_headers
from onceward_controller.api.front_door.body import DRAIN_BYTES_MAX
from onceward_controller.api.front_door.door import FrontDoor
from onceward_controller.api.front_door.envelope import Head

Headers = tuple[tuple[bytes, bytes], ...]
Message = dict[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
HOST: Headers = ((b"host", b"localhost:8686"),)
JSON: Headers = ((b"content-type", b"application/json"), (b"content-length", b"2"))
NEVER_MS = 3_600_000


def head(
    method: str = "POST",
    path: str = "/v1/credentials",
    *,
    headers: Headers = HOST + JSON,
    query: bytes = b"",
) -> Head:
    return Head(method=method, path=path, raw_path=path.encode(), query=query, headers=headers)


def code_of(request: Head) -> str | None:
    try:
        envelope.check(request, ("localhost", "[::1]"))
    except ProblemError as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize(
    "request_head",
    [
        pytest.param(head(), id="json"),
        pytest.param(head("GET", headers=HOST), id="get-without-a-body"),
        pytest.param(head(headers=HOST), id="post-without-a-body"),
        pytest.param(head(headers=((b"host", b"LOCALHOST"), *JSON)), id="host-in-capitals"),
        pytest.param(head(headers=((b"host", b"[::1]:80"), *JSON)), id="host-by-number"),
        pytest.param(head("GET", "/livez", headers=()), id="health-under-any-host"),
        pytest.param(
            head(headers=(*HOST, (b"content-type", b"application/json; charset=utf-8"))),
            id="json-says-its-encoding",
        ),
        pytest.param(
            head(
                path="/v1/workspaces/docs/payloads",
                headers=(
                    *HOST,
                    (b"content-type", b"application/octet-stream"),
                    (b"content-length", str(limits.PAYLOAD_BYTES_MAX).encode()),
                ),
            ),
            id="payload-of-the-largest-size",
        ),
    ],
)
def test_a_well_formed_request_is_let_in(request_head: Head) -> None:
    assert code_of(request_head) is None


@pytest.mark.parametrize(
    ("request_head", "code"),
    [
        pytest.param(head("PUT"), "method_not_allowed", id="put"),
        pytest.param(head("HEAD", headers=HOST), "method_not_allowed", id="head"),
        pytest.param(head("OPTIONS", headers=HOST), "method_not_allowed", id="options"),
        pytest.param(head(path="/" + "a" * 512), "header_invalid", id="long-path"),
        pytest.param(head(query=b"a" * 2_049), "header_invalid", id="long-query"),
        pytest.param(head(path="/v1/a\nb"), "header_invalid", id="control-character-in-path"),
        pytest.param(
            head(headers=HOST + JSON + ((b"x-filler", b"a" * 16_384),)),
            "header_invalid",
            id="large-header",
        ),
        pytest.param(
            head(headers=HOST + JSON + ((b"x", b""),) * 4_000), "header_invalid", id="many-headers"
        ),
        *(
            pytest.param(
                head(headers=HOST + JSON + ((name, b"2"), (name, b"2"))),
                "header_invalid",
                id=f"two-{name.decode()}",
            )
            for name in (
                b"authorization",
                b"content-length",
                b"content-type",
                b"cookie",
                b"host",
                b"transfer-encoding",
            )
        ),
        pytest.param(
            head(headers=HOST + JSON + ((b"transfer-encoding", b"chunked"),)),
            "header_invalid",
            id="two-ends-of-the-body",
        ),
        pytest.param(head(headers=JSON), "header_invalid", id="no-host"),
        pytest.param(
            head(headers=((b"host", b"evil.example"), *JSON)), "header_invalid", id="other-host"
        ),
        pytest.param(
            head(headers=((b"host", b"localhost.evil.example"), *JSON)),
            "header_invalid",
            id="host-that-begins-like-ours",
        ),
        pytest.param(head("GET"), "header_invalid", id="get-with-a-body"),
        pytest.param(
            head(headers=(*HOST, (b"content-length", b"2"))), "content_type", id="no-type"
        ),
        pytest.param(
            head(headers=(*HOST, (b"content-type", b"text/plain"), (b"content-length", b"2"))),
            "content_type",
            id="json-as-text",
        ),
        pytest.param(
            head(headers=(*HOST, *JSON, (b"content-encoding", b"gzip"))),
            "content_type",
            id="compressed",
        ),
        pytest.param(
            head(path="/v1/workspaces/docs/payloads"), "content_type", id="payload-as-json"
        ),
        pytest.param(
            head(headers=(*HOST, JSON[0], (b"content-length", b"+2"))),
            "header_invalid",
            id="length-with-a-sign",
        ),
        pytest.param(
            head(headers=(*HOST, JSON[0], (b"content-length", b"262145"))),
            "body_too_large",
            id="one-byte-too-many",
        ),
        pytest.param(
            head(headers=(*HOST, JSON[0], (b"content-length", b"9" * 5_000))),
            "body_too_large",
            id="length-of-5000-digits",
        ),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused_by_its_head(request_head: Head, code: str) -> None:
    assert code_of(request_head) == code


def test_a_reply_keeps_what_it_says_itself_and_gets_the_rest() -> None:
    headers = dict(
        reply_headers.completed(
            [(b"content-security-policy", b"default-src 'self'")],
            request_id="rq_1",
            is_tls=True,
            is_last=False,
        )
    )

    assert headers[b"content-security-policy"] == b"default-src 'self'"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"x-request-id"] == b"rq_1"
    assert b"strict-transport-security" in headers
    assert b"connection" not in headers


class Client:
    """The server's side of ASGI: gives parts of a body, keeps what is sent."""

    def __init__(self, *parts: bytes, ends: bool = True) -> None:
        self._parts = list(parts)
        self._ends = ends
        self.sent: list[Message] = []
        self.bytes_taken = 0

    async def receive(self) -> Message:
        if not self._parts:
            await asyncio.Event().wait()  # A client that sends nothing more.
        part = self._parts.pop(0)
        self.bytes_taken += len(part)
        more = bool(self._parts) or not self._ends
        return {"type": "http.request", "body": part, "more_body": more}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def code(self) -> str:
        return str(json.loads(self.sent[1]["body"])["code"])

    @property
    def detail(self) -> str:
        return str(json.loads(self.sent[1]["body"])["detail"])


CHUNKED: Headers = (*HOST, JSON[0], (b"transfer-encoding", b"chunked"))


def answer(
    client: Client, application: Application, *, deadline_ms: int = NEVER_MS, headers: Headers
) -> None:
    door = FrontDoor(
        application,  # type: ignore[arg-type]  # ASGI's types are spelt differently by everyone
        SystemEntropy(),
        allowed_hosts=("localhost",),
        deadline_ms=deadline_ms,
    )
    scope: Any = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": "/v1/credentials",
        "raw_path": b"/v1/credentials",
        "query_string": b"",
        "headers": list(headers),
    }
    asyncio.run(door(scope, client.receive, client.send))  # type: ignore[arg-type]  # likewise


async def reads_all(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive())["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def never_answers(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await asyncio.Event().wait()


async def fails(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("the argument was hunter2")


async def refuses_unread(scope: Scope, receive: Receive, send: Send) -> None:
    raise problem(ProblemCode.CREDENTIAL_MISSING, "send a credential")


def test_a_body_that_does_not_arrive_is_given_up_at_the_deadline() -> None:
    client = Client(b'{"key":', ends=False)

    answer(client, reads_all, deadline_ms=1, headers=CHUNKED)

    assert (client.status, client.code) == (503, "request_timeout")
    assert "nothing was done" in client.detail
    assert client.headers[b"connection"] == b"close"


def test_a_call_that_is_open_at_the_deadline_may_have_written() -> None:
    client = Client(b"{}")

    answer(client, never_answers, deadline_ms=1, headers=HOST + JSON)

    assert (client.status, client.code) == (503, "request_timeout")
    assert "may have happened" in client.detail


def test_a_reply_that_is_not_taken_is_given_up_and_no_second_one_follows() -> None:
    async def answers_at_once(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()  # The client takes nothing more.

    client = Client(b"{}")
    with pytest.raises(TimeoutError):
        answer(client, answers_at_once, deadline_ms=1, headers=HOST + JSON)

    assert client.status == 200
    assert len(client.sent) == 1, "no second reply follows one that has begun"


def test_a_body_without_an_end_is_refused_by_counting_and_heard_out_to_a_bound() -> None:
    part = bytes(limits.MIB)
    client = Client(*[part] * 64, ends=False)

    answer(client, reads_all, headers=CHUNKED)

    assert (client.status, client.code) == (413, "body_too_large")
    assert client.headers[b"connection"] == b"close"
    assert client.bytes_taken <= DRAIN_BYTES_MAX + len(part)


def test_a_refused_body_that_ends_soon_is_heard_out_and_the_connection_kept() -> None:
    client = Client(bytes(limits.MIB), b"rest")

    answer(client, refuses_unread, headers=CHUNKED)

    assert (client.status, client.code) == (401, "credential_missing")
    assert client.headers[b"www-authenticate"].startswith(b"Bearer")
    assert b"connection" not in client.headers


def test_a_client_that_waits_for_leave_to_send_is_refused_without_reading() -> None:
    client = Client(b"{}")
    expecting = (*HOST, JSON[0], (b"content-length", b"300000"), (b"expect", b"100-continue"))

    answer(client, reads_all, headers=expecting)

    assert (client.status, client.code) == (413, "body_too_large")
    assert client.bytes_taken == 0


def test_what_fails_unforeseen_is_told_without_what_it_says() -> None:
    client = Client(b"{}")

    answer(client, fails, headers=HOST + JSON)

    assert (client.status, client.code) == (500, "internal")
    assert b"hunter2" not in client.sent[1]["body"]
    assert client.headers[b"x-request-id"].startswith(b"rq_")


def test_every_refusal_carries_the_headers_of_every_reply() -> None:
    client = Client()

    answer(client, reads_all, headers=((b"host", b"evil.example"),))

    assert client.headers[b"cache-control"] == b"no-store"
    assert client.headers[b"content-type"] == b"application/problem+json"
    assert b"frame-ancestors 'none'" in client.headers[b"content-security-policy"]


def test_a_websocket_is_closed() -> None:
    client = Client()
    door = FrontDoor(
        fails,  # type: ignore[arg-type]  # as above
        SystemEntropy(),
        allowed_hosts=(),
        deadline_ms=NEVER_MS,
    )
    scope: Any = {"type": "websocket"}

    asyncio.run(door(scope, client.receive, client.send))  # type: ignore[arg-type]  # as above

    assert [message["type"] for message in client.sent] == ["websocket.close"]
