"""Outside ``onceward.system`` the linter refuses clocks, random sources and threads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUFF = Path(sys.executable).with_name("ruff")

PLACES = [
    "sdk/onceward/planted.py",
    "sdk/onceward/integrations/planted.py",
    "worker/onceward_worker/planted.py",
    "worker/onceward_worker/cli.py",
    "controller/onceward_controller/protocol/planted.py",
    "controller/onceward_controller/vault/planted.py",
    "controller/onceward_controller/cli/planted.py",
]

SOURCES = [
    pytest.param("import time\ntime.time()", id="time.time"),
    pytest.param("from time import monotonic_ns as now\nnow()", id="time-renamed"),
    pytest.param("from datetime import UTC, datetime\ndatetime.now(UTC)", id="datetime.now"),
    pytest.param("import os\nos.urandom(16)", id="os.urandom"),
    pytest.param("import secrets\nsecrets.token_bytes(16)", id="secrets"),
    pytest.param("from random import Random\nRandom()", id="random"),
    pytest.param("import uuid\nuuid.uuid4()", id="uuid.uuid4"),
    pytest.param("import threading\nthreading.Thread(target=print).start()", id="thread"),
    pytest.param("from threading import Timer\nTimer(1, print).start()", id="timer"),
    pytest.param("from concurrent.futures import ThreadPoolExecutor", id="executor"),
    pytest.param("import asyncio\nasyncio.run(print())", id="asyncio.run"),
]


def banned_apis(source: str, place: str) -> list[str]:
    """Lint ``source`` as if it lay at ``place`` and return what was said of banned APIs."""
    linted = subprocess.run(
        [RUFF, "check", "--no-cache", "--output-format=json", "--stdin-filename", ROOT / place],
        cwd=ROOT,
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    return [
        finding["message"] for finding in json.loads(linted.stdout) if finding["code"] == "TID251"
    ]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("source", SOURCES)
def test_a_call_past_the_ports_is_refused_in_every_package(source: str, place: str) -> None:
    assert any(
        "onceward.ports" in said or "event loop" in said for said in banned_apis(source, place)
    )


@pytest.mark.parametrize("source", SOURCES)
def test_the_module_of_the_real_ports_may_call_what_it_wraps(source: str) -> None:
    assert banned_apis(source, "sdk/onceward/system.py") == []


@pytest.mark.parametrize(
    "source",
    [
        "import threading\nthreading.Lock()\nthreading.Condition()",
        "from datetime import timedelta\ntimedelta(seconds=1)",
        "import os\nos.fsync(3)",
        "import asyncio\nasyncio.to_thread(print)",
    ],
)
def test_what_neither_reads_a_clock_nor_starts_anything_is_allowed(source: str) -> None:
    assert banned_apis(source, "sdk/onceward/planted.py") == []
