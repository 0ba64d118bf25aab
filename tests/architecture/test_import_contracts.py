"""The import contracts of pyproject.toml hold, and each of them can be broken.

A contract with a slip in it holds for ever and checks nothing. So each is tried on a copy of the
packages in which one offending import was planted.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sdk/onceward", "worker/onceward_worker", "controller/onceward_controller")
SDK, WORKER, CONTROLLER = PACKAGES

OFFENCES = [
    ("worker-and-controller", f"{WORKER}/planted.py", "import onceward_controller.protocol"),
    ("worker-and-controller", f"{CONTROLLER}/service/planted.py", "import onceward_worker"),
    ("sdk-alone", f"{SDK}/planted.py", "import onceward_worker"),
    ("sdk-alone", f"{SDK}/planted.py", "def late():\n    import onceward_controller.protocol"),
    ("controller-layers", f"{CONTROLLER}/service/planted.py", "import onceward_controller.api"),
    ("controller-layers", f"{CONTROLLER}/vault/planted.py", "import onceward_controller.service"),
    ("controller-layers", f"{CONTROLLER}/api/planted.py", "import onceward_controller.cli"),
    ("controller-layers", f"{CONTROLLER}/planted.py", "'''A module with no place.'''"),
    ("purity", f"{CONTROLLER}/protocol/planted.py", "import time"),
    ("purity", f"{CONTROLLER}/protocol/planted.py", "from datetime import datetime"),
    ("purity", f"{CONTROLLER}/protocol/planted.py", "import logging"),
    ("purity", f"{SDK}/wire/planted.py", "from os import urandom"),
    ("purity", f"{SDK}/wire/planted.py", "import threading"),
    ("purity", f"{SDK}/wire/planted.py", "import onceward.system"),
    ("stores", f"{CONTROLLER}/service/planted.py", "import boto3"),
    ("stores", f"{CONTROLLER}/cli/planted.py", "from botocore.config import Config"),
    ("stores", f"{WORKER}/planted.py", "import sqlite3"),
    ("scheduler", f"{CONTROLLER}/api/planted.py", "import apscheduler"),
    ("scheduler", f"{CONTROLLER}/vault/planted.py", "from apscheduler import schedulers"),
    ("sdk-light", f"{SDK}/planted.py", "import litestar"),
    ("sdk-light", f"{SDK}/planted.py", "def late():\n    from typer import Typer"),
]

EXCEPTIONS = [
    (f"{SDK}/embedded.py", "def late():\n    import onceward_controller.service"),
    (f"{CONTROLLER}/vault/planted.py", "import boto3\nimport botocore\nimport sqlite3"),
    (f"{CONTROLLER}/clockwork/planted.py", "from apscheduler.schedulers import asyncio"),
    (f"{CONTROLLER}/functions.py", "import onceward_controller.service"),
]


def contracts() -> list[dict[str, Any]]:
    with (ROOT / "pyproject.toml").open("rb") as project:
        found: list[dict[str, Any]] = tomllib.load(project)["tool"]["importlinter"]["contracts"]
    return found


def broken_contracts(root: Path) -> set[str]:
    """Run import-linter over the packages under ``root`` and return the ids that it reports."""
    sources = [str((root / package).parent) for package in PACKAGES]
    linted = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=root,
        # The names of contracts would be wrapped at the width of a terminal.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sources), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    broken = {
        contract["id"]
        for contract in contracts()
        if re.search(rf"^{re.escape(contract['name'])} BROKEN", linted.stdout, re.MULTILINE)
    }
    assert "Contracts: " in linted.stdout, linted.stdout + linted.stderr
    assert f"{len(broken)} broken" in linted.stdout, linted.stdout
    assert linted.returncode == (1 if broken else 0)
    return broken


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def plant(root: Path, place: str, source: str) -> None:
    planted = root / place
    if not planted.parent.exists():
        planted.parent.mkdir()
        planted.with_name("__init__.py").touch()
    planted.write_text(source + "\n", encoding="utf-8")


def test_every_contract_holds() -> None:
    assert broken_contracts(ROOT) == set()


@pytest.mark.parametrize(("contract", "place", "source"), OFFENCES)
def test_an_offending_import_breaks_its_contract_and_no_other(
    copied: Path, contract: str, place: str, source: str
) -> None:
    plant(copied, place, source)
    assert broken_contracts(copied) == {contract}


@pytest.mark.parametrize(("place", "source"), EXCEPTIONS)
def test_the_imports_that_the_design_allows_break_no_contract(
    copied: Path, place: str, source: str
) -> None:
    plant(copied, place, source)
    assert broken_contracts(copied) == set()


def test_every_contract_is_tried_by_an_offence() -> None:
    assert {offence[0] for offence in OFFENCES} == {contract["id"] for contract in contracts()}
