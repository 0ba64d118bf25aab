"""moto's S3 over HTTP behind one lock, for unit tests.

moto looks whether a name is free and then writes: two racers win now and then. One request at a
time it keeps the promise. Its threads and its server are its own; they end with the block.
"""

import itertools
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from onceward_controller.vault.s3.client import S3Settings, new_client

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_buckets = (f"onceward-tests-{number}" for number in itertools.count())
"""moto keeps one account per process: servers that run side by side need buckets of their own."""


class _OneAtATime:
    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        with self._lock:
            answer = self._app(environ, start_response)
            try:
                return [b"".join(answer)]
            finally:
                close: Any = getattr(answer, "close", None)
                if close is not None:
                    close()


class _QuietHandler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


@contextmanager
def running_moto_server() -> Iterator[S3Settings]:
    """Serve an empty bucket on loopback and give the settings that reach it."""
    server = make_server(
        "127.0.0.1", 0, _OneAtATime(), threaded=True, request_handler=_QuietHandler
    )
    thread = threading.Thread(target=server.serve_forever, name="moto", daemon=True)
    thread.start()
    try:
        settings = S3Settings(
            bucket=next(_buckets),
            endpoint_url=f"http://127.0.0.1:{server.server_port}",
            addressing_style="path",
            access_key_id="tests",
            secret_access_key="tests",
        )
        client = new_client(settings)
        client.create_bucket(Bucket=settings.bucket)
        client.close()
        yield settings
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
