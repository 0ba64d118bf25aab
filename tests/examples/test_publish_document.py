"""The example, run as its README says: three commands, and a worker of its own."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onceward.system import SystemClock
from onceward.wire.identifiers import WorkflowId
from onceward.wire.tokens import Role
from onceward_controller.cli.demo import controller
from onceward_controller.cli.demo.controller import Hosted
from onceward_controller.cli.demo.place import Place, prepare

ROOT = Path(__file__).parents[2]
CONTENT = b"# A report\n\nAll is well.\n"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    file = tmp_path / "report.md"
    file.write_bytes(CONTENT)
    return file


class Example:
    """Runs the commands on one controller.

    Args:
        where: ``--vault DIR`` or ``--url U``.
        token: For a controller behind a URL.
    """

    def __init__(self, folder: Path, where: list[str], token: str = "") -> None:
        self._where = where
        self._variables = {**os.environ, "ONCEWARD_TOKEN": token}
        self.directory = folder / "published"

    def __call__(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        into = ["--dir", str(self.directory)] if program != "enable" else []
        return subprocess.run(
            [
                *(sys.executable, "-m", f"examples.publish_document.{program}"),
                *(*arguments, *into, *self._where),
            ],
            cwd=ROOT,
            env=self._variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def prepared(self, document: Path) -> str:
        done = self("prepare", str(document))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def embedded(tmp_path: Path) -> Example:
    return Example(tmp_path, ["--vault", str(tmp_path / "vault")])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return prepare(tmp_path_factory.mktemp("controller") / "place")


@pytest.fixture(scope="module")
def hosted(place: Place) -> Iterator[Hosted]:
    with controller.hosted(place, SystemClock()) as found:
        yield found


def test_a_document_is_prepared_reviewed_and_published(embedded: Example, document: Path) -> None:
    workflow = embedded.prepared(document)

    reviewed = embedded("enable", workflow)
    published = embedded("run", workflow)

    assert reviewed.returncode == published.returncode == 0, published.stderr
    assert hashlib.sha256(CONTENT).hexdigest() in reviewed.stdout
    assert str(embedded.directory) in reviewed.stdout
    path = Path(published.stdout.strip())
    assert path.read_bytes() == CONTENT
    assert list(embedded.directory.iterdir()) == [path]


def test_nothing_is_published_before_somebody_enabled_it(embedded: Example, document: Path) -> None:
    refused = embedded("run", embedded.prepared(document))

    assert refused.returncode == 3
    assert refused.stderr.startswith("not_enabled: ")
    assert list(embedded.directory.iterdir()) == []


def test_a_second_run_reuses_the_receipt_and_writes_nothing(
    embedded: Example, document: Path
) -> None:
    workflow = embedded.prepared(document)
    embedded("enable", workflow)
    first = embedded("run", workflow)
    path = Path(first.stdout.strip())
    before = path.stat()
    document.unlink()  # Whatever is written now could only be written from nothing.

    second = embedded("run", workflow)

    assert second.stdout == first.stdout
    assert second.stderr.startswith("reused, nothing written: ")
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_changed_document_under_the_same_key_is_refused_with_the_difference(
    embedded: Example, document: Path
) -> None:
    embedded.prepared(document)
    document.write_bytes(CONTENT.replace(b"well", b"lost"))

    refused = embedded("prepare", str(document))

    assert refused.returncode == 5
    assert refused.stderr.startswith("definition_conflict: ")
    assert "first difference at `operations[0].arguments.sha256`" in refused.stderr


def test_a_document_that_changed_after_its_review_is_not_published(
    embedded: Example, document: Path
) -> None:
    workflow = embedded.prepared(document)
    embedded("enable", workflow)
    document.write_bytes(b"something else")

    refused = embedded("run", workflow)

    assert refused.returncode == 3
    assert refused.stderr.startswith("not_executed: ")
    assert list(embedded.directory.iterdir()) == []


def test_it_is_the_same_against_a_controller_with_the_worker_as_a_process_of_its_own(
    hosted: Hosted, place: Place, document: Path, tmp_path: Path
) -> None:
    example = Example(tmp_path, ["--url", hosted.url], place.token(Role.OPERATOR))
    workflow = example.prepared(document)
    example("enable", workflow)

    worker = subprocess.run(
        [
            *(sys.executable, "-m", "onceward_worker", "run"),
            *("examples/publish_document/tools.py", "--workflow", workflow),
            *("--url", hosted.url),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "ONCEWARD_TOKEN": place.token(Role.WORKER, WorkflowId(workflow)),
            "PUBLISH_DIR": str(example.directory),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert worker.returncode == 0, worker.stderr
    result = json.loads(worker.stdout)["results"]["publish"]
    assert Path(result["path"]).read_bytes() == CONTENT
    assert (result["sha256"], result["bytes"]) == (
        hashlib.sha256(CONTENT).hexdigest(),
        len(CONTENT),
    )


TUTORIAL = ROOT / "docs" / "tutorial" / "publish-a-document.md"
BLOCK = re.compile(r"^```(sh[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tutorial_can_be_followed_from_top_to_bottom(tmp_path: Path) -> None:
    """Run its commands as they stand there, but for the set-up and a port that is free."""
    lines = [f". {tmp_path}/settings", "set -e"]
    for kind, commands in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8")):
        kept = commands.replace("sh infra/setup\n. .venv/bin/activate\n", "")
        if kind == "sh":
            lines.append(kept)
            continue
        # The other terminal: it is ready once the controller has told its address.
        lines.append(f"{kept.strip()} --port 0 2>{tmp_path}/controller & CONTROLLER=$!")
        lines.append("trap 'kill $CONTROLLER; wait' EXIT")
        lines.append(f"until grep -q http {tmp_path}/controller; do kill -0 $CONTROLLER; done")
    script = "\n".join(lines).replace(
        "http://127.0.0.1:8686", f"$(grep -o 'http://[0-9.:]*' {tmp_path}/controller)"
    )
    (tmp_path / "settings").write_text(
        f"PATH={Path(sys.executable).parent}:$PATH\nTMPDIR={tmp_path}\nexport PATH TMPDIR\n"
    )

    followed = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if not name.startswith("ONCEWARD_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert followed.returncode == 0, followed.stderr
    assert "reused, nothing written" in followed.stderr
    assert "exit code 5" in followed.stdout
    (folder,) = tmp_path.glob("tmp.*")
    assert len(list((folder / "published").iterdir())) == 2
