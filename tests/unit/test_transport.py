"""A controller behind HTTP: what each command sends, and what each way to fail means."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import msgspec
import pytest

from onceward.transport import HttpController
from onceward.wire import messages
from onceward.wire.decisions import Decision
from onceward.wire.identifiers import (
    LeaseToken,
    OperationName,
    WorkflowId,
)
from onceward.wire.messages import Begin, Completed, Renewed, Standing, ToolOffer
from onceward.wire.receipts import Outcome, Receipt
from tests.support.http_transport import DIGEST, DOCS, STORED, TOKEN, VIEW, controller_at, reply
from tests.support.scripted_controller import WORKFLOW, done, grant, operation_id, stop, wait
from tests.support.scripted_http import Answer, ScriptedServer

UPLOAD = OperationName("upload")


RECEIPT = Receipt(Outcome.SUCCEEDED, operation_id("upload"), "obj-17", {"url": "u"})
PREFIX = f"/v1/workflows/{WORKFLOW}"
BEGIN = Begin("r" * 20, tools=(ToolOffer("upload"),))
OFFERED = {"request_id": "r" * 20, "tools": [{"name": "upload", "version": "1"}]}

COMMANDS = [
    pytest.param(
        lambda c: c.create_workflow(DOCS, messages.CreateWorkflow("k", ())),
        VIEW,
        ("POST", "/v1/workspaces/docs/workflows", {"key": "k", "operations": []}),
        id="create",
    ),
    pytest.param(lambda c: c.workflow(WORKFLOW), VIEW, ("GET", PREFIX, None), id="workflow"),
    pytest.param(
        lambda c: c.workflows(
            DOCS, row_class=messages.RowClass.ATTENTION, key="a b", after="x/y", limit=5
        ),
        messages.WorkflowPage(()),
        ("GET", "/v1/workspaces/docs/workflows?class=attention&key=a+b&after=x%2Fy&limit=5", None),
        id="workflows",
    ),
    pytest.param(
        lambda c: c.history(WORKFLOW, after=7),
        messages.HistoryPage(()),
        ("GET", f"{PREFIX}/history?after=7", None),
        id="history",
    ),
    pytest.param(lambda c: c.enable(WORKFLOW), VIEW, ("POST", f"{PREFIX}/enable", {}), id="enable"),
    pytest.param(lambda c: c.pause(WORKFLOW), VIEW, ("POST", f"{PREFIX}/pause", {}), id="pause"),
    pytest.param(
        lambda c: c.abandon(WORKFLOW, messages.Abandon("why", 3)),
        VIEW,
        ("POST", f"{PREFIX}/abandon", {"evidence": "why", "revision": 3}),
        id="abandon",
    ),
    pytest.param(
        lambda c: c.resolve(WORKFLOW, UPLOAD, messages.Resolve(Outcome.NOT_EXECUTED, "seen", 3)),
        VIEW,
        (
            "POST",
            f"{PREFIX}/operations/upload/resolve",
            {"outcome": "confirmed_not_executed", "evidence": "seen", "revision": 3},
        ),
        id="resolve",
    ),
    pytest.param(
        lambda c: c.begin(WORKFLOW, BEGIN),
        grant(),
        ("POST", f"{PREFIX}/begin", OFFERED),
        id="begin-next",
    ),
    pytest.param(
        lambda c: c.begin(WORKFLOW, msgspec.structs.replace(BEGIN, operation="upload")),
        grant(),
        ("POST", f"{PREFIX}/operations/upload/begin", OFFERED),
        id="begin-named",
    ),
    pytest.param(
        lambda c: c.complete(WORKFLOW, UPLOAD, messages.Complete(1, "token", RECEIPT, BEGIN)),
        Completed(Standing.ACCEPTED, grant("next")),
        (
            "POST",
            f"{PREFIX}/operations/upload/complete",
            {
                "attempt": 1,
                "lease_token": "token",
                "receipt": {
                    "outcome": "confirmed_succeeded",
                    "operation_id": operation_id("upload"),
                    "effect_id": "obj-17",
                    "result": {"url": "u"},
                },
                "then_begin": OFFERED,
            },
        ),
        id="complete",
    ),
    pytest.param(
        lambda c: c.renew(WORKFLOW, UPLOAD, messages.Renew(1, "token")),
        Renewed(2, 1),
        (
            "POST",
            f"{PREFIX}/operations/upload/renew",
            {"attempt": 1, "lease_token": "token"},
        ),
        id="renew",
    ),
    pytest.param(
        lambda c: c.release(WORKFLOW, UPLOAD, messages.Release(1, LeaseToken("token"))),
        None,
        (
            "POST",
            f"{PREFIX}/operations/upload/release",
            {"attempt": 1, "lease_token": "token"},
        ),
        id="release",
    ),
    pytest.param(
        lambda c: c.upload(DOCS, b'"a"', key="k/1"),
        STORED,
        ("POST", "/v1/workspaces/docs/payloads?key=k%2F1", "a"),
        id="upload",
    ),
    pytest.param(
        lambda c: c.upload_result(WORKFLOW, b'"a"'),
        STORED,
        ("POST", f"/v1/workspaces/docs/payloads?workflow={WORKFLOW}", "a"),
        id="upload-result",
    ),
]


@pytest.mark.parametrize(("command", "answer", "expected"), COMMANDS)
def test_each_command_is_one_request_and_its_reply(
    server: ScriptedServer,
    http_controller: HttpController,
    command: Callable[[HttpController], object],
    answer: object,
    expected: tuple[str, str, Any],
) -> None:
    server.script(reply(answer))

    assert command(http_controller) == answer

    (request,) = server.requests
    body = json.loads(request.body) if request.body else None
    assert (request.method, request.target, body) == expected
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in request.target


def test_a_download_is_the_bytes_as_they_are(
    server: ScriptedServer, http_controller: HttpController
) -> None:
    server.script(Answer(200, b"\x00\xff", headers=(("Content-Type", "application/octet-stream"),)))

    assert http_controller.download(WORKFLOW, DIGEST) == b"\x00\xff"
    assert server.requests[0].target == f"/v1/payloads/{DIGEST}?workflow={WORKFLOW}"


@pytest.mark.parametrize(
    "decision", [grant(), stop(), wait(), done()], ids=lambda d: type(d).__name__
)
def test_each_decision_comes_back_as_its_own_shape(
    server: ScriptedServer, http_controller: HttpController, decision: Decision
) -> None:
    server.script(reply(decision))

    assert http_controller.begin(WORKFLOW, BEGIN) == decision


def test_a_path_before_the_api_is_kept(server: ScriptedServer) -> None:
    server.script(reply(VIEW))
    with closing(controller_at(f"{server.url}/onceward/")) as http_controller:
        http_controller.workflow(WORKFLOW)

    assert server.requests[0].target == f"/onceward{PREFIX}"


def test_what_a_person_typed_cannot_leave_its_place_in_the_path(
    server: ScriptedServer, http_controller: HttpController
) -> None:
    server.script(reply(VIEW))

    http_controller.workflow(WorkflowId("../keys?x=1"))

    assert server.requests[0].target == "/v1/workflows/..%2Fkeys%3Fx%3D1"
