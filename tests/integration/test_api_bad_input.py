"""Bad input over a real connection: one stable code each, and nothing stored.

Where a client library would mend what is sent, the bytes go through a plain socket.
"""

import json
import socket
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from onceward.wire import limits, messages
from onceward.wire.definitions import OperationDefinition
from onceward.wire.identifiers import WorkflowId
from onceward_controller.bootstrap import HOST
from onceward_controller.vault.store import PAGE_NAMES_MAX, Store
from tests.support.http_controller import (
    Reply,
    RunningController,
    exchange,
    read_reply,
    request,
    serving,
)
from tests.support.services import Site

CREATE = "/v1/workspaces/docs/workflows"
REQUEST_ID = "request-of-ann-01"
OPERATION = {"name": "upload", "tool": "upload", "arguments": {"amount": 1}}


class Scene:
    """A controller, a workflow of it with one attempt in flight, and one that waits for a begin."""

    def __init__(self, controller: RunningController, store: Store) -> None:
        self.controller = controller
        self._store = store
        body = messages.CreateWorkflow(
            key="order-17",
            operations=(
                OperationDefinition(name="upload", tool="upload", arguments={"amount": 1}),
                OperationDefinition(name="announce", tool="mail"),
            ),
        )
        service = controller.service
        self.workflow: WorkflowId = service.workflows.create(HOST, "docs", body).id
        service.workflows.enable(HOST, self.workflow)
        idle = msgspec.structs.replace(body, key="order-18")
        self.idle_workflow = service.workflows.create(HOST, "docs", idle).id
        service.workflows.enable(HOST, self.idle_workflow)
        self.grant = self.post("begin", {"request_id": REQUEST_ID}).json
        self._before = self._objects()

    def post(self, path: str, body: object) -> Reply:
        return request(self.controller, "POST", f"/v1/workflows/{self.workflow}/{path}", body)

    def receipt(self, **more: object) -> dict[str, Any]:
        return {
            "outcome": "confirmed_succeeded",
            "operation_id": self.grant["operation_id"],
            **more,
        }

    def completion(self, **more: object) -> dict[str, Any]:
        return {
            "attempt": self.grant["attempt"],
            "lease_token": self.grant["lease_token"],
            "receipt": self.receipt(),
            **more,
        }

    def assert_nothing_was_stored(self) -> None:
        assert self._objects() == self._before
        view = self.controller.service.workflows.read(HOST, self.workflow)
        [attempt] = view.operations[0].attempts
        assert (attempt.number, attempt.outcome, attempt.renewals) == (1, None, 0)

    def _objects(self) -> dict[str, bytes]:
        page = self._store.list("", limit=PAGE_NAMES_MAX)
        assert not page.more
        found = {name: self._store.get(name) for name in page.names}
        return {name: stored.body for name, stored in found.items() if stored is not None}


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    site = Site()
    with serving(site.open()) as controller:
        yield Scene(controller, site.store)


def definition(*operations: object, key: str = "new", **more: object) -> bytes:
    return json.dumps({"key": key, "operations": operations, **more}).encode()


def with_argument(text: bytes) -> bytes:
    return b'{"key":"new","operations":[{"name":"a","tool":"t","arguments":{"x":' + text + b"}}]}"


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        pytest.param(b"", 400, "body_invalid", id="no-body"),
        pytest.param(b" ", 400, "body_not_json", id="white-space"),
        pytest.param(b"{", 400, "body_not_json", id="half"),
        pytest.param(b"{}{}", 400, "body_not_json", id="two-values"),
        pytest.param(b"\xef\xbb\xbf{}", 400, "body_not_json", id="byte-order-mark"),
        pytest.param(with_argument(b'"\xff"'), 400, "body_not_json", id="invalid-utf-8"),
        pytest.param(with_argument(b'"\\ud800"'), 400, "json_text", id="lone-surrogate"),
        pytest.param(with_argument(b'{"a":1,"a":2}'), 400, "json_duplicate_key", id="same-name"),
        pytest.param(with_argument(b"NaN"), 400, "json_number", id="nan"),
        pytest.param(with_argument(b"-Infinity"), 400, "json_number", id="infinity"),
        pytest.param(with_argument(b"1e400"), 400, "json_number", id="float-overflow"),
        pytest.param(with_argument(b"9007199254740992"), 400, "json_number", id="2-to-the-53"),
        pytest.param(with_argument(b"1" + b"0" * 400), 400, "json_number", id="10-to-the-400"),
        pytest.param(b"[" * 200_000, 400, "json_depth", id="200000-brackets"),
        pytest.param(
            with_argument(b'{"a":' * 200 + b"1" + b"}" * 200), 400, "json_depth", id="200-deep"
        ),
        pytest.param(definition(OPERATION, priority=1), 400, "body_invalid", id="unknown-field"),
        pytest.param(
            definition(OPERATION | {"retries": 1}), 400, "body_invalid", id="unknown-inner-field"
        ),
        pytest.param(definition(OPERATION, key=""), 400, "body_invalid", id="empty-key"),
        pytest.param(
            definition(OPERATION | {"timeout_ms": "1"}), 400, "body_invalid", id="number-as-text"
        ),
        pytest.param(
            definition(OPERATION | {"timeout_ms": True}), 400, "body_invalid", id="truth-as-number"
        ),
        pytest.param(definition(), 400, "operations_limit", id="no-operation"),
        pytest.param(
            definition(*({"name": f"o{at}", "tool": "t"} for at in range(201))),
            400,
            "operations_limit",
            id="201-operations",
        ),
        pytest.param(
            definition(OPERATION, OPERATION), 400, "operation_duplicate", id="same-operation"
        ),
        pytest.param(
            definition(OPERATION | {"after": ["nothing"]}),
            400,
            "operation_unknown",
            id="after-nothing",
        ),
        pytest.param(
            definition(
                {"name": "a", "tool": "t", "after": ["b"]},
                {"name": "b", "tool": "t", "after": ["a"]},
            ),
            400,
            "definition_cyclic",
            id="cyclic-after",
        ),
        pytest.param(
            definition(OPERATION | {"arguments": {"x": "a" * limits.ARGUMENTS_BYTES_MAX}}),
            413,
            "arguments_too_large",
            id="large-arguments",
        ),
        pytest.param(
            definition(
                {
                    "name": "a",
                    "tool": "t",
                    "arguments_payload": {"digest": "0" * 64, "sha256": "0" * 64, "size": 1},
                }
            ),
            400,
            "payload_unknown",
            id="payload-that-was-not-stored",
        ),
        pytest.param(
            b"[" + b"0," * limits.BODY_BYTES_MAX, 413, "body_too_large", id="half-a-mebibyte"
        ),
    ],
)
def test_a_bad_definition_is_refused_and_nothing_is_stored(
    scene: Scene, content: bytes, status: int, code: str
) -> None:
    reply = request(scene.controller, "POST", CREATE, content=content)

    assert (reply.status, reply.code) == (status, code)
    scene.assert_nothing_was_stored()


def test_a_key_reused_with_other_arguments_names_the_first_difference(scene: Scene) -> None:
    changed = OPERATION | {"arguments": {"amount": 2}}
    content = definition(changed, {"name": "announce", "tool": "mail"}, key="order-17")

    reply = request(scene.controller, "POST", CREATE, content=content)

    assert (reply.status, reply.code) == (409, "definition_conflict")
    assert reply.json["more"] == {
        "first_difference": "operations[0].arguments.amount",
        "workflow": scene.workflow,
    }
    scene.assert_nothing_was_stored()


def test_a_receipt_over_the_limit_leaves_the_attempt_as_it_is(scene: Scene) -> None:
    receipt = scene.receipt(result="r" * limits.RECEIPT_BYTES_MAX)

    reply = scene.post("operations/upload/complete", scene.completion(receipt=receipt))

    assert (reply.status, reply.code) == (413, "receipt_too_large")
    assert reply.json["more"]["bytes_max"] == limits.RECEIPT_BYTES_MAX
    scene.assert_nothing_was_stored()


@pytest.mark.parametrize(
    ("verb", "change", "status", "code"),
    [
        ("complete", {"lease_token": "lt_guessed"}, 403, "lease_token_invalid"),
        ("complete", {"attempt": 2}, 404, "attempt_unknown"),
        ("complete", {"attempt": 0}, 400, "body_invalid"),
        ("complete", {"attempt": 2**53}, 400, "json_number"),
        ("complete", {"result": 1}, 400, "body_invalid"),
        ("complete", {"then_begin": {"request_id": "short"}}, 400, "body_invalid"),
        ("renew", {"lease_token": "lt_guessed", "receipt": ...}, 403, "lease_token_invalid"),
        ("renew", {}, 400, "body_invalid"),
        ("release", {"lease_token": "lt_guessed", "receipt": ...}, 403, "lease_token_invalid"),
        ("release", {"attempt": ..., "lease_token": ..., "receipt": ...}, 400, "body_invalid"),
    ],
)
def test_who_does_not_hold_the_lease_changes_nothing(
    scene: Scene, verb: str, change: dict[str, object], status: int, code: str
) -> None:
    body = {name: value for name, value in scene.completion(**change).items() if value is not ...}

    reply = scene.post(f"operations/upload/{verb}", body)

    assert (reply.status, reply.code) == (status, code)
    scene.assert_nothing_was_stored()


def test_a_receipt_of_another_operation_is_refused(scene: Scene) -> None:
    other = scene.receipt(operation_id="op_" + "0" * 32)

    reply = scene.post("operations/upload/complete", scene.completion(receipt=other))

    assert (reply.status, reply.code) == (400, "receipt_mismatch")
    scene.assert_nothing_was_stored()


def test_a_value_is_never_repeated_in_a_refusal(scene: Scene) -> None:
    receipt = scene.receipt(outcome="hunter2")

    reply = scene.post("operations/upload/complete", scene.completion(receipt=receipt))

    assert (reply.status, reply.code) == (400, "body_invalid")
    assert reply.json["detail"] == "invalid enum value: path=`receipt.outcome`"
    assert b"hunter2" not in reply.content


def test_an_operation_whose_tool_is_not_offered_is_refused(scene: Scene) -> None:
    body = {"request_id": "request-of-bob-01", "tools": [{"name": "other"}]}

    reply = request(
        scene.controller,
        "POST",
        f"/v1/workflows/{scene.idle_workflow}/operations/upload/begin",
        body,
    )

    assert (reply.status, reply.code) == (400, "unknown_tool")
    scene.assert_nothing_was_stored()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        (f"{CREATE}?limit=0", 400, "body_invalid"),
        (f"{CREATE}?limit=1001", 400, "body_invalid"),
        (f"{CREATE}?limit=all", 400, "body_invalid"),
        (f"{CREATE}?class=hunter2", 400, "body_invalid"),
        (f"{CREATE}?after=elsewhere", 400, "body_invalid"),
        (f"{CREATE}?clas=done", 400, "body_invalid"),
        (f"{CREATE}?limit=1&limit=2", 400, "body_invalid"),
        (f"{CREATE}?{'a' * 2_049}", 400, "header_invalid"),
        ("/v1/workspaces/Docs/workflows", 400, "body_invalid"),
        ("/v1/workspaces/docs%0A/workflows", 400, "header_invalid"),
        ("/v1/workflows/wf_short", 400, "body_invalid"),
        (f"/v1/workflows/wf_{'0' * 32}", 404, "not_found"),
        (f"/v1/workflows/{'a' * 512}", 400, "header_invalid"),
        (f"/v1/payloads/{'0' * 64}", 400, "body_invalid"),
        ("/v1/nowhere", 404, "not_found"),
        ("/", 404, "not_found"),
        ("/v1/credentials", 405, "method_not_allowed"),
    ],
)
def test_a_question_that_means_nothing_is_refused(
    scene: Scene, path: str, status: int, code: str
) -> None:
    reply = request(scene.controller, "GET", path)

    assert (reply.status, reply.code) == (status, code)
    assert b"hunter2" not in reply.content
    scene.assert_nothing_was_stored()


def test_a_post_to_a_question_says_what_the_path_takes(scene: Scene) -> None:
    reply = request(scene.controller, "POST", f"/v1/workflows/{scene.workflow}", {})

    assert (reply.status, reply.code) == (405, "method_not_allowed")
    assert reply.header("allow") == "GET"


@pytest.mark.parametrize("query", ["", "?key=a&workflow=wf_" + "0" * 32])
def test_a_payload_is_for_one_purpose(scene: Scene, query: str) -> None:
    reply = request(
        scene.controller,
        "POST",
        f"/v1/workspaces/docs/payloads{query}",
        content=b"bytes",
        content_type="application/octet-stream",
    )

    assert (reply.status, reply.code) == (400, "body_invalid")
    scene.assert_nothing_was_stored()


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/msgpack", ""]
)
def test_json_under_another_type_is_refused(scene: Scene, content_type: str) -> None:
    reply = request(
        scene.controller, "POST", CREATE, content=definition(OPERATION), content_type=content_type
    )

    assert (reply.status, reply.code) == (415, "content_type")
    scene.assert_nothing_was_stored()


def raw(scene: Scene, *lines: str, path: str = CREATE, method: str = "POST") -> bytes:
    head = [f"{method} {path} HTTP/1.1", f"Authorization: Bearer {scene.controller.token}", *lines]
    return "\r\n".join([*head, "", ""]).encode("latin-1")


JSON_LINES = ("Host: localhost", "Content-Type: application/json")


@pytest.mark.parametrize(
    ("lines", "status", "code"),
    [
        ((*JSON_LINES, "Authorization: Bearer other"), 400, "header_invalid"),
        ((*JSON_LINES, "Content-Type: text/plain"), 400, "header_invalid"),
        ((*JSON_LINES, "Cookie: a=1", "Cookie: b=2"), 400, "header_invalid"),
        ((*JSON_LINES, "Content-Length: 2", "Content-Length: 3"), 400, "header_invalid"),
        ((*JSON_LINES, "Content-Length: 2", "Transfer-Encoding: chunked"), 400, "header_invalid"),
        ((*JSON_LINES, "Content-Length: -2"), 400, "header_invalid"),
        ((*JSON_LINES, "X-Filler: " + "a" * 17_000), 400, "header_invalid"),
        ((*JSON_LINES, "X-Filler: " + "a" * 300_000), 400, "header_invalid"),
        ((JSON_LINES[1], "Host: evil.example"), 400, "header_invalid"),
        ((JSON_LINES[1],), 400, "header_invalid"),
    ],
)
def test_a_head_that_could_be_read_in_two_ways_is_refused(
    scene: Scene, lines: tuple[str, ...], status: int, code: str
) -> None:
    reply = exchange(scene.controller.address, raw(scene, *lines))

    assert (reply.status, reply.code) == (status, code)
    assert reply.header("x-request-id") == reply.json["request_id"]
    scene.assert_nothing_was_stored()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_get_and_post_are_used(scene: Scene, method: str) -> None:
    reply = exchange(scene.controller.address, raw(scene, "Host: localhost", method=method))

    assert (reply.status, reply.code) == (405, "method_not_allowed")


def test_ten_mebibytes_with_their_length_are_refused(scene: Scene) -> None:
    content = bytes(10 * limits.MIB)
    head = raw(scene, *JSON_LINES, f"Content-Length: {len(content)}")

    reply = exchange(scene.controller.address, head, content)

    assert (reply.status, reply.code) == (413, "body_too_large")
    assert reply.json["more"] == {"bytes_max": limits.BODY_BYTES_MAX}
    scene.assert_nothing_was_stored()


def test_ten_mebibytes_in_chunks_are_refused(scene: Scene) -> None:
    chunk = b"10000\r\n" + bytes(65_536) + b"\r\n"
    head = raw(scene, *JSON_LINES, "Transfer-Encoding: chunked")

    reply = exchange(scene.controller.address, head, chunk * 160, b"0\r\n\r\n")

    assert (reply.status, reply.code) == (413, "body_too_large")
    scene.assert_nothing_was_stored()


def test_a_payload_over_its_limit_is_refused(scene: Scene) -> None:
    head = raw(
        scene,
        "Host: localhost",
        "Content-Type: application/octet-stream",
        f"Content-Length: {limits.PAYLOAD_BYTES_MAX + 1}",
        path="/v1/workspaces/docs/payloads?key=new",
    )

    reply = exchange(scene.controller.address, head, bytes(limits.PAYLOAD_BYTES_MAX + 1))

    assert (reply.status, reply.code) == (413, "payload_too_large")
    scene.assert_nothing_was_stored()


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01\x00", b"hello\r\n\r\n", b"\x00" * 64]
)
def test_what_is_no_http_is_a_problem_and_ends_the_connection(scene: Scene, garbage: bytes) -> None:
    with socket.create_connection(scene.controller.address, timeout=60) as connection:
        connection.sendall(garbage)
        reply = read_reply(connection)

        assert (reply.status, reply.code) == (400, "header_invalid")
        assert connection.recv(1) == b""


def test_garbage_after_a_request_does_not_become_one(scene: Scene) -> None:
    with socket.create_connection(scene.controller.address, timeout=60) as connection:
        connection.sendall(raw(scene, "Host: localhost", method="GET"))
        first = read_reply(connection)
        connection.sendall(b"GARBAGE garbage\r\n\r\n")
        second = read_reply(connection)

        assert first.status == 200
        assert (second.status, second.code) == (400, "header_invalid")
        assert connection.recv(1) == b""
    scene.assert_nothing_was_stored()


def test_a_connection_goes_on_after_a_refusal(scene: Scene) -> None:
    with socket.create_connection(scene.controller.address, timeout=60) as connection:
        connection.sendall(raw(scene, *JSON_LINES, "Content-Length: 1") + b"{")
        refused = read_reply(connection)
        connection.sendall(raw(scene, "Host: localhost", method="GET"))
        answered = read_reply(connection)

    assert (refused.status, answered.status) == (400, 200)
