"""Who holds which part of a spool, and what is known of grants after a process died."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from onceward.errors import SpoolError
from onceward.spool import Spool, machine_identity
from onceward.spool_lanes import LANES_MAX
from onceward.wire.identifiers import LeaseToken, OperationName
from tests.support.scripted_client import ORIGIN
from tests.support.scripted_controller import WORKFLOW
from tests.support.spools import opened, spooled

OTHER = "http://127.0.0.1:2"

HOLDS_A_LANE = """
import os, sys
from onceward.spool import Spool
from onceward.system import SystemClock, SystemEntropy
from onceward.wire.identifiers import LeaseToken, OperationName, WorkflowId

path, origin, is_called = sys.argv[1], sys.argv[2], sys.argv[3] == "called"
spool = Spool.open(path, clock=SystemClock(), entropy=SystemEntropy())
name = spool.note_grant(
    origin, WorkflowId("wf_" + "0" * 32), OperationName("upload"), attempt=7,
    lease_token=LeaseToken("token"),
)
if is_called:
    spool.mark_called(name)
print("held", flush=True)
sys.stdin.read()
"""


def test_two_processes_with_one_spool_hold_lanes_of_their_own(spool_path: Path) -> None:
    with closing(opened(spool_path)) as one, closing(opened(spool_path, seed="two")) as two:
        one.keep(spooled())

        assert two.undelivered(ORIGIN) == []
        assert len(one.undelivered(ORIGIN)) == 1


def test_what_a_lane_without_holder_holds_is_taken_over(spool_path: Path) -> None:
    with closing(opened(spool_path)) as one:
        two = opened(spool_path, seed="two")
        two.keep(spooled())
        two.close()
        assert one.undelivered(ORIGIN) == []

        with closing(opened(spool_path, seed="three")) as three:
            assert len(three.undelivered(ORIGIN)) == 1

    with closing(opened(spool_path, seed="four")) as four:
        assert len(four.undelivered(ORIGIN)) == 1


def test_more_processes_than_lanes_are_refused(spool_path: Path) -> None:
    held = [opened(spool_path, seed=str(number)) for number in range(LANES_MAX)]
    try:
        with pytest.raises(SpoolError, match="lanes"):
            opened(spool_path, seed="one too many")
    finally:
        for spool in held:
            spool.close()


def died(spool_path: Path, *, is_called: bool) -> None:
    """Let a process note a grant on the spool and be killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_LANE, spool_path, ORIGIN, "called" if is_called else ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with closing(opened(spool_path, seed="beside")) as beside:
            assert beside.uncalled(ORIGIN) == []
        child.kill()


@pytest.mark.skipif(machine_identity() is None, reason="this machine has no identity")
def test_a_grant_that_a_killed_process_never_called_is_known(spool_path: Path) -> None:
    died(spool_path, is_called=False)

    with closing(opened(spool_path, seed="next")) as spool:
        ((name, note),) = spool.uncalled(ORIGIN)
        assert (note.workflow, note.operation, note.attempt) == (WORKFLOW, "upload", 7)
        assert note.lease_token == "token"
        assert spool.uncalled(OTHER) == []
        spool.released(name)

    with closing(opened(spool_path, seed="after")) as spool:
        assert spool.uncalled(ORIGIN) == []


@pytest.mark.skipif(machine_identity() is None, reason="this machine has no identity")
def test_of_a_grant_whose_call_may_have_been_made_nothing_is_known(spool_path: Path) -> None:
    died(spool_path, is_called=True)

    with closing(opened(spool_path, seed="next")) as spool:
        assert spool.uncalled(ORIGIN) == []


@pytest.mark.parametrize(
    "identity", [lambda: "another boot", lambda: None], ids=["another", "unknown"]
)
@pytest.mark.skipif(machine_identity() is None, reason="this machine has no identity")
def test_on_another_machine_or_after_another_boot_nothing_is_known(
    spool_path: Path, identity: Callable[[], str | None]
) -> None:
    died(spool_path, is_called=False)

    with closing(opened(spool_path, seed="next", identity=identity)) as spool:
        assert spool.uncalled(ORIGIN) == []


def test_a_lane_stays_held_while_a_child_has_its_lock(spool_path: Path) -> None:
    spool = opened(spool_path)
    spool.keep(spooled())
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=[spool.lock_descriptor],
    )
    spool.close()

    with closing(opened(spool_path, seed="while it lives")) as other:
        assert other.undelivered(ORIGIN) == []
    with child:
        child.kill()
    with closing(opened(spool_path, seed="once it is gone")) as other:
        assert len(other.undelivered(ORIGIN)) == 1


def test_the_grants_of_this_process_are_not_taken_for_a_predecessors(spool: Spool) -> None:
    spool.note_grant(
        ORIGIN, WORKFLOW, OperationName("upload"), attempt=1, lease_token=LeaseToken("token")
    )

    assert spool.uncalled(ORIGIN) == []


def test_a_machine_that_cannot_be_told_from_others_has_no_identity(tmp_path: Path) -> None:
    machine, boot = tmp_path / "machine-id", tmp_path / "boot_id"
    assert machine_identity(machine, boot) is None

    machine.write_text("m\n")
    boot.write_text("b\n")
    assert machine_identity(machine, boot) == "m b"

    boot.write_text("\n")
    assert machine_identity(machine, boot) is None
