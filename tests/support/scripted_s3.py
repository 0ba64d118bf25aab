"""An S3 store whose answers are written down beforehand."""

from collections.abc import Iterator
from contextlib import contextmanager

from onceward_controller.vault.s3 import S3Store
from onceward_controller.vault.s3.client import S3Settings
from onceward_controller.vault.store import (
    Store,
)
from tests.support.scripted_http import (
    ScriptedServer,
    Step,
)


def settings(url: str) -> S3Settings:
    return S3Settings(
        bucket="bucket",
        prefix="vault/",
        endpoint_url=url,
        addressing_style="path",
        access_key_id="key",
        secret_access_key="secret",
        connect_timeout_ms=2_000,
        read_timeout_ms=150,
    )


class Wire:
    """One store and one server for the whole module: a client takes half a second to make."""

    def __init__(self, store: S3Store, server: ScriptedServer) -> None:
        self._store = store
        self._server = server

    @contextmanager
    def __call__(self, *steps: Step) -> Iterator[tuple[S3Store, ScriptedServer]]:
        self._server.script(*steps)
        yield self._store, self._server


def put(store: Store) -> object:
    return store.put("a/1", b"body")


def blank(store: Store) -> None:
    store.blank("a/1")


def get(store: Store) -> object:
    return store.get("a/1")


def list_names(store: Store) -> object:
    return store.list("a/")
