"""The controller as a server: one uvicorn around one application, with every option written out.

uvicorn owns the event loop and, while it runs, the signals. At SIGTERM it stops listening, gives
open requests ``SHUTDOWN_SECONDS``, and returns; then it raises the signal once more, and whoever
runs it must be ready for that. What a request had durably done by then is done; what it had not,
its client asks again.
"""

from litestar.types import ASGIApp
from uvicorn import Config, Server

from onceward.system import SystemEntropy
from onceward_controller.api import application
from onceward_controller.api.connections import bounded_connections
from onceward_controller.service.service import Service
from onceward_controller.settings import Settings

SHUTDOWN_SECONDS = 3
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep idle connections, so that it is they who close them: a server that
closes first can do so just as the next request is on its way."""


def application_of(service: Service, settings: Settings) -> ASGIApp:
    """Return the application that serves ``service`` under ``settings``."""
    return application.build(
        service,
        SystemEntropy(),
        allowed_hosts=settings.allowed_hosts,
        deadline_ms=settings.deadline_ms,
        threads=settings.threads,
    )


def new_server(app: ASGIApp, settings: Settings) -> Server:
    """Return a server for ``app``; it listens once it is run."""
    return Server(
        Config(
            app,
            host=settings.host,
            port=settings.port,
            http=bounded_connections(SystemEntropy(), head_ms=settings.head_ms),
            loop="auto",
            ws="none",
            lifespan="on",
            interface="asgi3",
            access_log=False,
            log_config=None,
            # Headers by which a proxy would tell another address or scheme are believed from none.
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )
