"""Who may ask what: every role against every route, as the matrix says.

The routes are read from the application, so that a new one without a row here fails a test.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from onceward.wire import messages, tokens
from onceward.wire.definitions import OperationDefinition
from onceward.wire.tokens import Role
from onceward_controller.api import application
from onceward_controller.api.asking import action_of
from onceward_controller.bootstrap import HOST
from onceward_controller.protocol.authority import ISSUED, MATRIX, Action
from tests.support.http_controller import RunningController, exchange, request, serving
from tests.support.services import Site

BINARY = "application/octet-stream"
PAYLOAD = b"a result"
OPERATION = {"name": "upload", "tool": "upload"}
HELD = {"attempt": 1, "lease_token": "lt_guessed"}
SETTLED = {"evidence": "seen", "revision": 1}


@dataclass(frozen=True)
class Call:
    """One well-formed request to one route; ``{...}`` in its path is filled from the scene."""

    method: str
    path: str
    action: Action | None
    body: object = None
    content: bytes | None = None


CALLS = {
    "create_workflow": Call(
        "POST",
        "/v1/workspaces/docs/workflows",
        Action.CREATE,
        {"key": "k", "operations": [OPERATION]},
    ),
    "list_workflows": Call("GET", "/v1/workspaces/docs/workflows", Action.LIST),
    "read_workflow": Call("GET", "/v1/workflows/{workflow}", Action.READ),
    "read_history": Call("GET", "/v1/workflows/{workflow}/history", Action.READ),
    "enable_workflow": Call("POST", "/v1/workflows/{workflow}/enable", Action.ENABLE, {}),
    "pause_workflow": Call("POST", "/v1/workflows/{workflow}/pause", Action.PAUSE),
    "abandon_workflow": Call("POST", "/v1/workflows/{workflow}/abandon", Action.ABANDON, SETTLED),
    "resolve_operation": Call(
        "POST",
        "/v1/workflows/{workflow}/operations/upload/resolve",
        Action.RESOLVE,
        {"outcome": "confirmed_succeeded", **SETTLED},
    ),
    "begin_next": Call(
        "POST", "/v1/workflows/{workflow}/begin", Action.BEGIN, {"request_id": "request-of-ann-1"}
    ),
    "begin_operation": Call(
        "POST",
        "/v1/workflows/{workflow}/operations/upload/begin",
        Action.BEGIN,
        {"request_id": "request-of-ann-1"},
    ),
    "complete_operation": Call(
        "POST",
        "/v1/workflows/{workflow}/operations/upload/complete",
        Action.COMPLETE,
        {**HELD, "receipt": {"outcome": "unknown", "operation_id": "op_" + "0" * 32}},
    ),
    "renew_lease": Call(
        "POST", "/v1/workflows/{workflow}/operations/upload/renew", Action.RENEW, HELD
    ),
    "release_lease": Call(
        "POST", "/v1/workflows/{workflow}/operations/upload/release", Action.RELEASE, HELD
    ),
    "store_payload": Call(
        "POST",
        "/v1/workspaces/docs/payloads?workflow={workflow}",
        Action.UPLOAD,
        content=PAYLOAD,
    ),
    "read_payload": Call("GET", "/v1/payloads/{digest}?workflow={workflow}", Action.READ),
    "create_credential": Call(
        "POST",
        "/v1/credentials",
        Action.CREDENTIAL_CREATE,
        {"role": "admin", "principal": "bob", "ttl_ms": 60_000},
    ),
    "read_document": Call("GET", "/v1/openapi.json", None),
}

IN_SCOPE = {
    "admin": Role.ADMIN,
    "operator of the workspace": Role.OPERATOR,
    "worker of the workflow": Role.WORKER,
}
OUT_OF_SCOPE = {
    "operator of another workspace": Role.OPERATOR,
    "worker of another workflow": Role.WORKER,
}
NOBODY = {
    "no credential": "credential_missing",
    "garbage": "credential_invalid",
    "a mistyped token": "credential_invalid",
    "a token of nobody": "credential_invalid",
    "an expired token": "credential_invalid",
}


class Scene:
    """A controller with one workflow, and a token for each identity."""

    def __init__(self, site: Site, controller: RunningController) -> None:
        self.controller = controller
        service = controller.service
        body = messages.CreateWorkflow(
            key="order-17", operations=(OperationDefinition(name="upload", tool="upload"),)
        )
        workflow = service.workflows.create(HOST, "docs", body).id
        other = service.workflows.create(HOST, "other", body).id
        service.workflows.enable(HOST, workflow)
        digest = service.payloads.store_result(HOST, workflow, PAYLOAD).digest
        self._facts = {"workflow": workflow, "digest": digest}
        expired = controller.credential(Role.ADMIN, ttl_ms=60_000)
        site.clock.pass_ms(60_000)
        stranger = controller.token.replace("owa_", "owo_")
        self.tokens = {
            "admin": controller.token,
            "operator of the workspace": controller.credential(Role.OPERATOR, workspace="docs"),
            "operator of another workspace": controller.credential(
                Role.OPERATOR, workspace="other"
            ),
            "worker of the workflow": controller.credential(Role.WORKER, workflow=workflow),
            "worker of another workflow": controller.credential(Role.WORKER, workflow=other),
            "no credential": "",
            "garbage": "hunter2",
            "a mistyped token": stranger,
            "a token of nobody": tokens.mint(Role.ADMIN, bytes(tokens.RANDOM_BYTES)).text.reveal(),
            "an expired token": expired,
        }

    def outcome(self, identity: str, call: Call) -> str:
        """Return ``passed``, or the code by which authority refused."""
        reply = request(
            self.controller,
            call.method,
            call.path.format(**self._facts),
            call.body,
            token=self.tokens[identity],
            content=call.content,
            content_type="application/json" if call.content is None else BINARY,
        )
        code = reply.code if reply.status >= 400 else "passed"
        if code in ("credential_missing", "credential_invalid", "role_denied", "not_found"):
            return code
        return "passed"


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    site = Site()
    with serving(site.open()) as controller:
        yield Scene(site, controller)


@pytest.fixture(scope="module")
def routes() -> dict[str, tuple[str, HTTPRouteHandler]]:
    """Every route of the application by the name of its handler: its path, and the handler."""
    built: Litestar = application.framework(Site().open(), threads=1)
    return {
        handler.handler_name: (route.path_format, handler)
        for route in built.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        if handler.http_methods != {"OPTIONS"}
    }


def test_every_route_but_health_has_a_row_here(routes: dict[str, Any]) -> None:
    under_v1 = {name for name, (path, _) in routes.items() if path.startswith("/v1/")}

    assert under_v1 == set(CALLS)
    assert {path for path, _ in routes.values() if not path.startswith("/v1/")} == {
        "/livez",
        "/readyz",
    }


@pytest.mark.parametrize("name", CALLS)
def test_a_route_asks_for_the_action_that_its_row_says(
    routes: dict[str, tuple[str, HTTPRouteHandler]], name: str
) -> None:
    _, handler = routes[name]

    assert action_of(handler) is CALLS[name].action


def test_every_role_that_is_given_out_stands_in_the_matrix_here() -> None:
    assert set(IN_SCOPE.values()) == set(ISSUED)
    assert {role for role, actions in MATRIX.items() if actions} == set(ISSUED)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("identity", IN_SCOPE)
def test_a_role_may_do_what_the_matrix_says_in_its_own_scope(
    scene: Scene, identity: str, name: str
) -> None:
    call = CALLS[name]
    is_allowed = call.action is None or call.action in MATRIX[IN_SCOPE[identity]]

    assert scene.outcome(identity, call) == ("passed" if is_allowed else "role_denied")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("identity", OUT_OF_SCOPE)
def test_what_lies_outside_a_scope_is_not_there(scene: Scene, identity: str, name: str) -> None:
    call = CALLS[name]
    if call.action is None:
        expected = "passed"
    elif call.action in MATRIX[OUT_OF_SCOPE[identity]]:
        expected = "not_found"
    else:
        expected = "role_denied"

    assert scene.outcome(identity, call) == expected


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("identity", NOBODY)
def test_nothing_under_v1_answers_without_a_good_credential(
    scene: Scene, identity: str, name: str
) -> None:
    assert scene.outcome(identity, CALLS[name]) == NOBODY[identity]


def test_a_worker_stores_no_arguments_for_work_to_come(scene: Scene) -> None:
    call = Call("POST", "/v1/workspaces/docs/payloads?key=new", None, content=PAYLOAD)

    assert scene.outcome("worker of the workflow", call) == "role_denied"


def test_a_credential_of_another_scheme_is_none(scene: Scene) -> None:
    address, token = scene.controller.address, scene.controller.token
    head = (
        f"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {token}\r\n\r\n"
    )

    reply = exchange(address, head.encode())

    assert (reply.status, reply.code) == (401, "credential_invalid")
    assert reply.header("www-authenticate") == 'Bearer realm="onceward"'


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_health_needs_no_credential(scene: Scene, path: str) -> None:
    assert request(scene.controller, "GET", path, token="").status == 200


def test_a_refused_credential_is_refused_before_its_body_is_read(scene: Scene) -> None:
    reply = request(scene.controller, "POST", "/v1/credentials", content=b"[" * 1_000, token="")

    assert (reply.status, reply.code) == (401, "credential_missing")
