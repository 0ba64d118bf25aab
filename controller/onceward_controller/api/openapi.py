"""The OpenAPI document, drawn from the routes and shapes that answer requests.

Litestar draws the paths. The shapes are drawn by msgspec, which decodes them: it knows which are
closed and which field tells the kinds of decision apart.
"""

import threading
from collections.abc import Callable
from typing import Any

import msgspec
from litestar import Litestar
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Components, SecurityScheme

from onceward.wire import limits, messages
from onceward.wire.decisions import Decision
from onceward.wire.problems import CLASSES, Problem, status_of
from onceward_controller.api.front_door.replies import PROBLEM_TYPE

PROBLEMS: dict[int, ResponseSpec] = {
    status: ResponseSpec(
        Problem,
        description="Refused; the code says why.",
        media_type=PROBLEM_TYPE,
        generate_examples=False,
    )
    for status in sorted({status_of(code) for codes in CLASSES.values() for code in codes})
}
"""What every route may answer besides what it is asked for."""


_REPLIES = (
    Decision,
    Problem,
    messages.Completed,
    messages.CredentialCreated,
    messages.HistoryPage,
    messages.PayloadStored,
    messages.Renewed,
    messages.WorkflowPage,
    messages.WorkflowView,
)
_REQUESTS = (
    messages.Abandon,
    messages.Begin,
    messages.BeginOperation,
    messages.Complete,
    messages.CreateCredential,
    messages.CreateWorkflow,
    messages.Release,
    messages.Renew,
    messages.Resolve,
)
_REFERENCE = "#/components/schemas/{name}"


class Document:
    """Draws the document once, when it is first asked for.

    It comes from an application of its own, which serves nothing: the framework's way of serving
    it brings HTML pages along.
    """

    def __init__(self, application: Callable[[OpenAPIConfig], Litestar]) -> None:
        self._application = application
        self._lock = threading.Lock()
        self._drawn: dict[str, Any] | None = None

    def read(self) -> dict[str, Any]:
        """Return the document."""
        with self._lock:
            if self._drawn is None:
                drawn = self._application(_config()).openapi_schema.to_schema()
                self._drawn = _completed(msgspec.to_builtins(drawn))
            return self._drawn


def _config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Onceward controller",
        version="1",
        components=Components(
            security_schemes={"bearer": SecurityScheme(type="http", scheme="bearer")}
        ),
        security=[{"bearer": []}],
        use_handler_docstrings=True,
    )


def _completed(drawn: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the shapes as msgspec draws them, and raw bodies declared."""
    _, shapes = msgspec.json.schema_components((*_REQUESTS, *_REPLIES), ref_template=_REFERENCE)
    drawn["components"]["schemas"].update(shapes)
    for path, operations in drawn["paths"].items():
        if path.endswith("/payloads"):
            operations["post"]["requestBody"] = _RAW_BODY
        body = operations.get("post", {}).get("requestBody", {})
        if "Nothing" in str(body):
            body["required"] = False
    return drawn


_RAW_BODY = {
    "required": True,
    "content": {
        "application/octet-stream": {
            "schema": {"type": "string", "format": "binary", "maxLength": limits.PAYLOAD_BYTES_MAX}
        }
    },
}
