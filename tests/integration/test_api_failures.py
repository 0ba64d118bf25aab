"""What a caller is told when time runs out, the store fails or something unforeseen happens."""

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from onceward_controller.api.health import FRESH_MS
from onceward_controller.vault.store import (
    PAGE_NAMES_MAX,
    OutcomeUnknownError,
    Page,
    RefusedError,
    Store,
    StoreError,
    UnavailableError,
)
from tests.support.http_controller import RunningController, read_reply, request, serving
from tests.support.services import Site
from tests.support.stores import CountingStore, FaultyStore, ForwardingStore

WORKFLOWS = "/v1/workspaces/docs/workflows"
SECRET = "hunter2"
ORDER = {"key": "order-17", "operations": [{"name": "upload", "tool": "upload"}]}


class HeldStore(ForwardingStore):
    """Lets no create through while it is held."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._free = threading.Event()
        self._free.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()

    def create(self, name: str, body: bytes) -> int:
        self._free.wait()
        return self._store.create(name, body)


class BrokenStore(HeldStore):
    """Has a mistake in it, whose message holds what nobody else may see."""

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        if prefix.startswith("i/"):
            raise RuntimeError(SECRET)
        return super().list(prefix, after=after, limit=limit)


def open_line(controller: RunningController) -> socket.socket:
    return socket.create_connection(controller.address, timeout=60)


def test_a_body_that_drips_is_given_up_at_the_deadline() -> None:
    with serving(Site().open(), deadline_ms=20) as controller, open_line(controller) as line:
        line.sendall(
            f"POST {WORKFLOWS} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {controller.token}\r\n"
            'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"key":'.encode()
        )
        reply = read_reply(line)

        assert (reply.status, reply.code) == (503, "request_timeout")
        assert reply.header("connection") == "close"
        assert line.recv(1) == b""


@pytest.mark.parametrize("beginning", [b"", b"GET /livez HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_end_is_given_up(beginning: bytes) -> None:
    with serving(Site().open(), head_ms=20) as controller, open_line(controller) as line:
        line.sendall(beginning)

        assert line.recv(1) == b""


def test_a_head_without_a_bound_is_refused_while_it_comes() -> None:
    with serving(Site().open()) as controller, open_line(controller) as line:
        line.sendall(b"GET /livez HTTP/1.1\r\nX-Filler: ")
        sender = threading.Thread(target=send_until_refused, args=(line,))
        sender.start()
        reply = read_reply(line)
        sender.join()

        assert (reply.status, reply.code) == (400, "header_invalid")


def send_until_refused(line: socket.socket) -> None:
    try:
        for _ in range(1_024):
            line.sendall(b"a" * 65_536)
    except OSError:
        return  # The other side has closed, which ends this as it should.
    raise AssertionError("64 MiB of one header were taken")


def test_a_store_that_does_not_answer_in_time_leaves_the_outcome_open() -> None:
    site = Site()
    store = HeldStore(site.store)
    with serving(site.open(store), deadline_ms=600) as controller:
        with store.held():
            late = request(controller, "POST", WORKFLOWS, ORDER)
        again = request(controller, "POST", WORKFLOWS, ORDER)

    assert (late.status, late.code) == (503, "request_timeout")
    assert "may have happened" in late.json["detail"]
    assert again.status == 200


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (UnavailableError("connection refused"), 503, "store_unavailable"),
        (RefusedError("access denied"), 503, "store_refused"),
    ],
)
def test_a_store_that_cannot_be_read_is_never_an_empty_answer(
    error: StoreError, status: int, code: str
) -> None:
    site = Site()
    store = FaultyStore(site.store)
    with serving(site.open(store)) as controller:
        request(controller, "GET", "/v1/openapi.json")  # The credential is known from here on.
        store.fail("list", error, after_effect=False)
        reply = request(controller, "GET", f"/v1/workflows/wf_{'0' * 32}")

    assert (reply.status, reply.code) == (status, code)


def test_a_credential_that_cannot_be_looked_up_is_not_called_wrong() -> None:
    site = Site()
    store = FaultyStore(site.store)
    with serving(site.open(store)) as controller:
        for verb in ("get", "list"):
            store.fail(verb, UnavailableError("connection refused"), after_effect=False)
        reply = request(controller, "GET", "/v1/openapi.json")

    assert (reply.status, reply.code) == (503, "store_unavailable")


def test_a_write_of_unknown_outcome_is_told_as_such() -> None:
    site = Site()
    store = FaultyStore(site.store)
    with serving(site.open(store)) as controller:
        request(controller, "GET", "/v1/openapi.json")
        for _ in range(100):  # However often the log sends its bytes again.
            store.fail("create", OutcomeUnknownError("no answer"), after_effect=False)
        reply = request(controller, "POST", WORKFLOWS, ORDER)

    assert (reply.status, reply.code) == (503, "store_outcome_unknown")


def test_what_nobody_foresaw_is_logged_under_its_request_id_and_told_to_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    site = Site()
    with (
        serving(site.open(BrokenStore(site.store))) as controller,
        caplog.at_level(logging.ERROR, logger="onceward.api"),
    ):
        reply = request(controller, "GET", WORKFLOWS)

    assert (reply.status, reply.code) == (500, "internal")
    assert reply.json["request_id"] in caplog.text
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text + reply.content.decode()


def test_readiness_follows_the_store_and_remembers_for_a_moment() -> None:
    site = Site()
    faulty = FaultyStore(site.store)
    store = CountingStore(faulty)
    with serving(site.open(store)) as controller:
        faulty.fail("list", UnavailableError("connection refused"), after_effect=False)
        store.reset()
        unready = [request(controller, "GET", "/readyz", token="") for _ in range(3)]
        looks = store.calls["list"]
        alive = request(controller, "GET", "/livez", token="")
        site.clock.pass_ms(FRESH_MS)
        ready = request(controller, "GET", "/readyz", token="")

    assert [reply.code for reply in unready] == ["store_unavailable"] * 3
    assert b"refused" not in unready[0].content
    assert looks == 1
    assert alive.status == 200
    assert ready.json == {
        "status": "ready",
        "store": "reachable",
        "probe": "passed",
        "keys": "unlocked",
    }
