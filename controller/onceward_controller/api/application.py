"""The ASGI application: the front door around Litestar, every route in its place."""

from collections.abc import Iterable
from typing import Any

from litestar import Litestar, Router, get
from litestar.config.app import AppConfig
from litestar.di import Provide
from litestar.openapi.config import OpenAPIConfig
from litestar.types import ASGIApp

from onceward.ports import Entropy
from onceward.wire import limits
from onceward_controller.api import attempts, credentials, health, payloads, refusals, workflows
from onceward_controller.api.asking import ASKS_NOTHING, gate, provider
from onceward_controller.api.front_door.door import FrontDoor
from onceward_controller.api.json_body import StrictJson
from onceward_controller.api.openapi import PROBLEMS, Document
from onceward_controller.api.threads import sized_pool
from onceward_controller.service.service import Service


def build(
    service: Service,
    entropy: Entropy,
    *,
    allowed_hosts: Iterable[str],
    deadline_ms: int,
    threads: int,
) -> ASGIApp:
    """Return what a server runs.

    Args:
        service: What answers; the application does not close it.
        entropy: For request ids.
        allowed_hosts: What a request's Host header may name, without the port.
        deadline_ms: How long one request may take.
        threads: Blocking service calls at once.
    """
    return FrontDoor(
        framework(service, threads=threads),
        entropy,
        allowed_hosts=allowed_hosts,
        deadline_ms=deadline_ms,
    )


def framework(service: Service, *, threads: int, document: OpenAPIConfig | None = None) -> Litestar:
    """Return Litestar with every route, and nothing in front of it.

    Args:
        service: What answers.
        threads: Blocking service calls at once.
        document: Given by whoever wants the OpenAPI document drawn.
    """
    readiness = health.Readiness(service.vault.desk.store, service.vault.desk.clock)
    drawn = Document(lambda config: framework(service, threads=threads, document=config))

    @get("/openapi.json", opt=dict(ASKS_NOTHING), responses=PROBLEMS, sync_to_thread=True)
    def read_document() -> dict[str, Any]:
        """Return this document."""
        return drawn.read()

    v1 = Router(
        "/v1",
        route_handlers=[
            *workflows.ROUTES,
            *attempts.ROUTES,
            *payloads.ROUTES,
            *credentials.ROUTES,
            read_document,
        ],
        guards=[gate(service)],
        dependencies={"asking": provider(service)},
    )
    return Litestar.from_config(
        AppConfig(
            route_handlers=[v1, *health.ROUTES],
            dependencies={"readiness": Provide(lambda: readiness, sync_to_thread=False)},
            dto=StrictJson,
            return_dto=None,
            exception_handlers=dict(refusals.HANDLERS),
            lifespan=[sized_pool(threads)],
            openapi_config=document,
            logging_config=None,
            request_max_body_size=limits.PAYLOAD_BYTES_MAX,
        )
    )
