"""The routes, used as a client would: from a draft to a receipt, payloads, listings."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from onceward.wire import limits
from tests.support.http_controller import Reply, RunningController, request, serving
from tests.support.services import Site

ANN, BOB = "request-of-ann-01", "request-of-bob-01"
BINARY = "application/octet-stream"
WORKFLOWS = "/v1/workspaces/docs/workflows"


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def controller(site: Site) -> Iterator[RunningController]:
    with serving(site.open()) as running:
        yield running


def create(controller: RunningController, *tools: str, key: str = "order-17") -> str:
    operations = [{"name": f"{tool}-it", "tool": tool} for tool in tools]
    created = request(controller, "POST", WORKFLOWS, {"key": key, "operations": operations})
    assert created.status == 200
    return str(created.json["id"])


def post(controller: RunningController, workflow: str, path: str, body: object) -> Reply:
    return request(controller, "POST", f"/v1/workflows/{workflow}/{path}", body)


def completion(grant: dict[str, Any], **more: object) -> dict[str, Any]:
    receipt = {
        "outcome": "confirmed_succeeded",
        "operation_id": grant["operation_id"],
        "effect_id": "obj-1",
        "result": {"url": "https://reports.example/obj-1"},
    }
    return {
        "attempt": grant["attempt"],
        "lease_token": grant["lease_token"],
        "receipt": receipt,
        **more,
    }


def test_a_workflow_goes_from_draft_to_completed(controller: RunningController) -> None:
    workflow = create(controller, "upload", "mail")
    drafted = post(controller, workflow, "begin", {"request_id": ANN}).json
    enabled = post(controller, workflow, "enable", {}).json

    first = post(controller, workflow, "begin", {"request_id": ANN}).json
    body = completion(first, then_begin={"request_id": BOB})
    advanced = post(controller, workflow, "operations/upload-it/complete", body).json
    second = advanced["decision"]
    last = post(controller, workflow, "operations/mail-it/complete", completion(second)).json
    done = post(controller, workflow, "begin", {"request_id": ANN}).json
    reused = post(controller, workflow, "operations/upload-it/begin", {"request_id": ANN}).json

    assert (drafted["decision"], drafted["reason"]) == ("stop", "not_enabled")
    assert enabled["status"] == "enabled"
    assert (first["decision"], second["decision"]) == ("execute", "execute")
    assert (advanced["standing"], last["standing"]) == ("accepted", "accepted")
    assert done == {"decision": "done", "operations": 2}
    assert reused["receipt"] == body["receipt"]
    assert request(controller, "GET", f"/v1/workflows/{workflow}").json["status"] == "completed"


def test_the_same_key_and_operations_are_the_same_workflow(controller: RunningController) -> None:
    assert create(controller, "upload") == create(controller, "upload")


def test_a_lease_is_renewed_and_given_back(site: Site, controller: RunningController) -> None:
    workflow = create(controller, "upload")
    post(controller, workflow, "enable", {})
    grant = post(controller, workflow, "begin", {"request_id": ANN}).json
    held = {"attempt": grant["attempt"], "lease_token": grant["lease_token"]}

    site.clock.pass_ms(1_000)
    renewed = post(controller, workflow, "operations/upload-it/renew", held)
    released = post(controller, workflow, "operations/upload-it/release", held)
    again = post(controller, workflow, "begin", {"request_id": BOB})

    assert renewed.json["lease_until_ms"] == renewed.json["now_ms"] + grant["lease_ms"]
    assert (released.status, released.content) == (204, b"")
    assert (again.json["decision"], again.json["attempt"]) == ("execute", 2)


@pytest.mark.parametrize("content", [None, b"{}"])
def test_a_pause_needs_no_body(controller: RunningController, content: bytes | None) -> None:
    workflow = create(controller, "upload")
    post(controller, workflow, "enable", {})

    paused = request(controller, "POST", f"/v1/workflows/{workflow}/pause", content=content)

    assert (paused.status, paused.json["status"]) == (200, "paused")


def test_a_pause_that_asks_for_more_is_refused(controller: RunningController) -> None:
    workflow = create(controller, "upload")

    refused = post(controller, workflow, "pause", {"until": 1})

    assert (refused.status, refused.code) == (400, "body_invalid")
    assert refused.json["detail"] == "object contains unknown field `until`: path=`$`"


def test_a_person_settles_what_nobody_knows(controller: RunningController) -> None:
    workflow = create(controller, "upload")
    post(controller, workflow, "enable", {})
    grant = post(controller, workflow, "begin", {"request_id": ANN}).json
    receipt = {"outcome": "unknown", "operation_id": grant["operation_id"]}
    post(controller, workflow, "operations/upload-it/complete", completion(grant, receipt=receipt))
    seen = request(controller, "GET", f"/v1/workflows/{workflow}").json

    body = {
        "outcome": "confirmed_succeeded",
        "evidence": "the object is in the bucket",
        "revision": seen["revision"],
        "effect_id": "obj-1",
    }
    settled = post(controller, workflow, "operations/upload-it/resolve", body)
    stale = post(controller, workflow, "abandon", {"evidence": "late", "revision": 1})

    assert (settled.status, settled.json["status"]) == (200, "completed")
    assert stale.status == 409


def test_listings_page_and_find_by_key(controller: RunningController) -> None:
    workflows = {create(controller, "upload", key=f"order-{at}") for at in range(3)}

    first = request(controller, "GET", f"{WORKFLOWS}?class=draft&limit=2").json
    second = request(controller, "GET", f"{WORKFLOWS}?class=draft&limit=2&after={first['after']}")
    found = request(controller, "GET", f"{WORKFLOWS}?key=order-1").json

    rows = first["rows"] + second.json["rows"]
    assert {row["id"] for row in rows} == workflows
    assert [row["key"] for row in found["rows"]] == ["order-1"]


def test_history_tells_who_did_what(controller: RunningController) -> None:
    workflow = create(controller, "upload")
    post(controller, workflow, "enable", {})

    all_of_it = request(controller, "GET", f"/v1/workflows/{workflow}/history").json
    rest = request(controller, "GET", f"/v1/workflows/{workflow}/history?after=1").json

    assert [change["event"] for change in all_of_it["changes"]] == ["created", "enabled"]
    assert {change["actor"] for change in all_of_it["changes"]} == {"test-admin"}
    assert [change["event"] for change in rest["changes"]] == ["enabled"]


def test_a_payload_comes_back_as_it_went(controller: RunningController) -> None:
    content = bytes(range(256)) * 16 * limits.KIB  # 4 MiB
    workflow = create(controller, "upload")

    stored = request(
        controller,
        "POST",
        f"/v1/workspaces/docs/payloads?workflow={workflow}",
        content=content,
        content_type=BINARY,
    ).json
    read = request(controller, "GET", f"/v1/payloads/{stored['digest']}?workflow={workflow}")

    assert stored["sha256"] == hashlib.sha256(content).hexdigest()
    assert (read.content == content, read.header("content-type")) == (True, BINARY)


def test_arguments_are_stored_before_their_workflow(controller: RunningController) -> None:
    path = "/v1/workspaces/docs/payloads?key=order-17"
    stored = request(controller, "POST", path, content=b'{"amount":1}', content_type=BINARY).json
    operation = {"name": "a", "tool": "upload", "arguments_payload": stored}

    created = request(controller, "POST", WORKFLOWS, {"key": "order-17", "operations": [operation]})

    assert created.json["operations"][0]["arguments_payload"] == stored


def test_a_credential_made_over_http_opens_what_it_names(controller: RunningController) -> None:
    workflow = create(controller, "upload")
    body = {"role": "worker", "principal": "pool-1", "ttl_ms": 60_000, "workflow": workflow}

    made = request(controller, "POST", "/v1/credentials", body).json
    read = request(controller, "GET", f"/v1/workflows/{workflow}", token=made["token"])

    assert made["token"].startswith("oww_")
    assert read.status == 200


def test_every_reply_says_what_browsers_and_caches_may_do(controller: RunningController) -> None:
    for path in ("/livez", "/v1/openapi.json", "/nowhere"):
        reply = request(controller, "GET", path)

        assert reply.header("cache-control") == "no-store"
        assert reply.header("x-content-type-options") == "nosniff"
        assert reply.header("referrer-policy") == "no-referrer"
        assert "frame-ancestors 'none'" in str(reply.header("content-security-policy"))
        assert str(reply.header("x-request-id")).startswith("rq_")
        assert reply.header("server") is None


def test_the_document_describes_closed_requests_and_problems(
    controller: RunningController,
) -> None:
    document = request(controller, "GET", "/v1/openapi.json").json
    shapes = document["components"]["schemas"]
    begin = document["paths"]["/v1/workflows/{workflow}/begin"]["post"]

    assert shapes["Begin"]["additionalProperties"] is False
    assert shapes["Execute"]["properties"]["decision"] == {"enum": ["execute"]}
    assert begin["responses"]["409"]["content"] == {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
    }
    assert document["security"] == [{"bearer": []}]
    assert document["paths"]["/livez"]["get"]["security"] == [{}]
    for name in references(document):
        assert name in shapes


def references(value: object) -> Iterator[str]:
    """Give the name of every shape that is referred to anywhere in ``value``."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "$ref":
                yield str(item).removeprefix("#/components/schemas/")
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)
