"""The controller as a server process: settings in, one uvicorn around one application.

uvicorn owns the event loop and the signals. At SIGTERM it stops listening, gives open requests
``SHUTDOWN_SECONDS``, and returns; what a request had durably done by then is done, and what it had
not, its client asks again.
"""

import signal
import sys
from types import FrameType
from typing import NoReturn

from litestar.types import ASGIApp
from uvicorn import Config, Server

from onceward.system import SystemEntropy
from onceward_controller import bootstrap
from onceward_controller.api import application
from onceward_controller.api.connections import bounded_connections
from onceward_controller.service.service import Service
from onceward_controller.settings import Settings

SHUTDOWN_SECONDS = 3
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep idle connections, so that it is they who close them: a server that
closes first can do so just as the next request is on its way."""


def run(settings: Settings) -> None:
    """Serve until the process is told to end.

    Raises:
        RefusedError: The store is not safe to use, or a person must act.
        NoVaultError: There is no vault in the store.
        UnlockError: The key file does not open it.
        StoreError: The store could not be read.
    """
    # uvicorn passes the signal on once it has ended; unheard, it would end the process before the
    # store is closed.
    signal.signal(signal.SIGTERM, _leave)
    service = bootstrap.open_controller(settings)
    try:
        new_server(application_of(service, settings), settings).run()
    finally:
        service.close()


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


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
            http=bounded_connections(SystemEntropy()),
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
