"""The demos, run as a person would; what they claim is checked against what lies on the disk."""

import hashlib
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from onceward.client import Client
from onceward.system import SystemClock
from onceward.wire.messages import WorkflowView
from onceward.wire.receipts import Assurance
from onceward_controller.vault.sqlite import SqliteStore

COMMAND = [sys.executable, "-m", "onceward_controller", "demo"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "place"


@dataclass(frozen=True)
class Played:
    """A crash that was played once, for tests that only look at what it left.

    Attributes:
        place: The demo's folder.
        output: What it showed.
    """

    place: Path
    output: str


@pytest.fixture(scope="module")
def crash(tmp_path_factory: pytest.TempPathFactory) -> Played:
    place = tmp_path_factory.mktemp("crash") / "place"
    ended = played(place, "crash")
    assert (ended.returncode, ended.stderr) == (0, "")
    return Played(place, ended.stdout)


def played(place: Path, demo: str, *more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, demo, "--exit", "--no-browser", "--dir", str(place), *more],
        cwd=place.parent,
        env=quiet(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def quiet() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("ONCEWARD_")}


def steps(output: str) -> list[str]:
    return re.findall(r"^ \[([1-5]/5)\] ", output, re.MULTILINE)


def workflow(place: Path, key: str) -> WorkflowView:
    """Read from the vault itself, once no controller is there any more."""
    with Client.embedded(place / "vault") as client:
        rows = client.workflows().rows
        (found,) = [row.id for row in rows if row.key.startswith(key)]
        return client.workflow(found)


def objects(place: Path) -> list[str]:
    """Return the name of everything that was ever stored and not removed."""
    names: list[str] = []
    with closing(SqliteStore(place / "vault" / "vault.db", SystemClock())) as store:
        while True:
            page = store.list("", after=names[-1] if names else "")
            names += page.names
            if not page.more:
                return names


def published(place: Path) -> Path:
    (file,) = (place / "published").iterdir()
    return file


def children(pid: int) -> list[int]:
    """Return the processes that ``pid`` started and that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:  # It ended while we looked.
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
    return found


@contextmanager
def watched(pid: int) -> Iterator[int]:
    """Give a descriptor that can be read once the process has ended."""
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_a_killed_worker_leaves_one_file_two_attempts_and_one_effect(crash: Played) -> None:
    assert steps(crash.output) == ["1/5", "2/5", "3/5", "4/5", "5/5"]
    assert "1 file, 2 attempts, 1 effect" in crash.output
    sha256 = hashlib.sha256(published(crash.place).read_bytes()).hexdigest()
    assert sha256[:12] in crash.output
    operation = workflow(crash.place, "publish").operations[0]
    assert operation.receipt is not None
    assert operation.receipt.result["sha256"] == sha256
    assert [attempt.mode for attempt in operation.attempts] == ["execute", "query"]
    assert operation.attempts[0].outcome is None  # The first was killed, and never reported.


def test_what_it_shows_fits_a_terminal_of_80_columns(crash: Played) -> None:
    *shown, _command = crash.output.strip().splitlines()

    assert [line for line in shown if len(line) > 80] == []
    assert "\x1b" not in crash.output  # Nobody looks: nothing is coloured.


def test_the_command_that_it_ends_with_works_when_it_is_pasted(crash: Played) -> None:
    command = crash.output.strip().splitlines()[-1]
    shown = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=crash.place.parent,
        env=quiet(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert shown.returncode == 0, shown.stderr
    assert '"status": "completed"' in shown.stdout


def test_played_again_it_reuses_the_receipt_and_writes_nothing(crash: Played) -> None:
    place = crash.place
    before, stored = published(place).stat(), objects(place)

    ended = played(place, "crash")

    assert ended.returncode == 0, ended.stderr
    assert steps(ended.stdout) == ["1/5", "2/5", "3/5", "4/5", "5/5"]
    assert "reused, nothing written" in ended.stdout
    assert "1 file, 2 attempts, 1 effect" in ended.stdout
    after = published(place).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert objects(place) == stored


def test_a_document_of_the_users_is_published_as_it_is(place: Path) -> None:
    document = place.parent / "letter to the editor.txt"
    document.write_bytes(b"Dear editor,\n")

    ended = played(place, "crash", "--document", str(document))

    assert ended.returncode == 0, ended.stderr
    assert published(place).read_bytes() == b"Dear editor,\n"


def test_a_demo_that_is_killed_itself_leaves_no_process_and_can_be_played_again(
    place: Path,
) -> None:
    demo = subprocess.Popen(
        [*COMMAND, "crash", "--exit", "--dir", str(place)],
        env=quiet(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with demo:
        assert demo.stdout is not None
        while "CRASH" not in demo.stdout.readline():
            assert demo.poll() is None
        (controller,) = children(demo.pid)
        with watched(controller) as is_gone:
            demo.send_signal(signal.SIGKILL)
            demo.wait()
            # It ends by itself: nobody is left to tell it to.
            assert select.select([is_gone], [], [], 30)[0]

    again = played(place, "crash")

    assert again.returncode == 0, again.stderr
    assert steps(again.stdout) == ["1/5", "2/5", "3/5", "4/5", "5/5"]
    assert "1 file, 2 attempts, 1 effect" in again.stdout


def test_a_folder_of_somebody_elses_is_left_alone(place: Path) -> None:
    place.mkdir()
    (place / "thesis.tex").write_text("ten years of work")

    ended = played(place, "crash")

    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert [each.name for each in place.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("answer", "letters", "attempts"),
    [
        pytest.param("happened", 1, ["execute"], id="it-happened"),
        pytest.param("not", 2, ["execute", "execute"], id="it-did-not-and-the-person-was-wrong"),
    ],
)
def test_a_lost_receipt_is_decided_by_a_person_and_the_rest_goes_on(
    place: Path, answer: str, letters: int, attempts: list[str]
) -> None:
    ended = played(place, "lost-receipt", "--answer", answer)

    assert ended.returncode == 0, ended.stderr
    assert steps(ended.stdout) == ["1/5", "2/5", "3/5", "4/5", "5/5"]
    assert "needs_decision, exit code 3" in ended.stdout
    assert "plays the person" not in ended.stdout
    assert len(list((place / "outbox").iterdir())) == letters
    assert len(list((place / "copies").iterdir())) == 1
    view = workflow(place, "letter")
    assert view.status == "completed"
    assert [attempt.mode for attempt in view.operations[0].attempts] == attempts


def test_a_person_who_cannot_tell_leaves_it_undecided_until_somebody_can(place: Path) -> None:
    undecided = played(place, "lost-receipt", "--answer", "ask")

    assert undecided.returncode == 3
    assert workflow(place, "letter").operations[0].next == "needs_decision"
    assert not list((place / "copies").iterdir())

    decided = played(place, "lost-receipt", "--answer", "happened")

    assert decided.returncode == 0, decided.stderr
    assert len(list((place / "outbox").iterdir())) == 1
    assert workflow(place, "letter").status == "completed"


def test_without_an_answer_the_demo_plays_the_person_and_says_so(place: Path) -> None:
    ended = played(place, "lost-receipt")

    assert ended.returncode == 0, ended.stderr
    assert "the demo plays the person" in ended.stdout
    operation = workflow(place, "letter").operations[0]
    assert operation.assurance is Assurance.OPERATOR_ATTESTED
    assert operation.receipt is not None
    assert operation.receipt.effect_id == "letter-1.txt"
