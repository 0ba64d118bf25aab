"""The controller as a process: it serves, refuses to start in vain, and ends when told to."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onceward_controller import bootstrap
from onceward_controller.settings import BucketStore, read_settings
from onceward_controller.vault.s3 import connect
from onceward_controller.vault.store import RefusedError, UnavailableError
from tests.support.http_controller import exchange, read_reply
from tests.support.s3_server import S3Server

ROOT = Path(__file__).parents[2]
END_SECONDS = 60
READY = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def serving_process(
    *arguments: str, environment: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
    """Run ``onceward serve`` on any free port; give the process and where it listens."""
    sources = os.pathsep.join(str(ROOT / folder) for folder in ("sdk", "worker", "controller"))
    process = subprocess.Popen(
        [sys.executable, "-m", "onceward_controller", "serve", "--port", "0", *arguments],
        env={**os.environ, "PYTHONPATH": sources, **(environment or {})},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://(127\.0\.0\.1):(\d+)", line):
                yield process, (found[1], int(found[2]))
                return
        raise AssertionError(f"it ended before it listened: {process.wait(END_SECONDS)}")
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bootstrap.open_embedded_service(tmp_path / "vault").close()
    return tmp_path / "vault"


def test_it_ends_at_sigterm_whatever_its_clients_are_doing(folder: Path) -> None:
    with (
        serving_process("--store", str(folder)) as (process, address),
        socket.create_connection(address) as idle,
        socket.create_connection(address) as slow,
    ):
        idle.sendall(READY)
        ready = read_reply(idle)
        slow.sendall(b"GET /readyz HTTP/1.1\r\nHost: local")
        process.send_signal(signal.SIGTERM)
        code = process.wait(END_SECONDS)

        assert (ready.status, code) == (200, 0)
        assert idle.recv(1) == b""


def test_it_serves_a_vault_in_a_bucket_that_passes_the_probe(
    s3_server: S3Server, s3_prefix: str, tmp_path: Path
) -> None:
    key_file = tmp_path / "vault.key"
    store = connect(s3_server.settings(s3_prefix))
    bootstrap.create_vault(store, key_file)
    before = store.list("").names
    environment = {
        "AWS_ACCESS_KEY_ID": s3_server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": s3_server.secret_access_key,
        "ONCEWARD_STORE": f"s3://{s3_server.bucket}/{s3_prefix}",
        "ONCEWARD_KEY_FILE": str(key_file),
        "ONCEWARD_S3_ENDPOINT_URL": s3_server.endpoint_url,
        "ONCEWARD_S3_ADDRESSING": "path",
    }

    with serving_process(environment=environment) as (_, address):
        ready = exchange(address, READY)

    assert (ready.status, ready.json["probe"]) == (200, "passed")
    assert store.list("").names == before, "the probe leaves nothing behind"
    store.close()


def test_a_bucket_that_cannot_be_examined_is_not_served(tmp_path: Path) -> None:
    settings = read_settings(
        {
            "ONCEWARD_STORE": "s3://records",
            "ONCEWARD_KEY_FILE": str(tmp_path / "vault.key"),
            "ONCEWARD_S3_ENDPOINT_URL": "http://127.0.0.1:9",  # Nothing listens on discard.
        }
    )
    assert isinstance(settings.store, BucketStore)

    with pytest.raises((UnavailableError, RefusedError)):
        bootstrap.open_controller(settings)
