"""Who holds which part of a spool, and what is known of grants after a process died."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from onceward.errors import SpoolError
from onceward.spool import Spool, SpooledReceipt, machine_identity
from onceward.spool_lanes import LANES_MAX
from onceward.wire.identifiers import LeaseToken, OperationName
from onceward.wire.receipts import Outcome, Receipt
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.scripted_client import ORIGIN
from tests.support.scripted_controller import WORKFLOW, operation_id

CANARY = "canary-7c2e"
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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state" / "spool"


def opened(root: Path, *, seed: str = "spool", key: str | None = None) -> Spool:
    return Spool.open(root, clock=ManualClock(), entropy=SeededEntropy(seed), key=key)


def receipt(effect_id: str = CANARY, *, origin: str = ORIGIN) -> SpooledReceipt:
    return SpooledReceipt(
        origin,
        WORKFLOW,
        OperationName("upload"),
        1,
        LeaseToken("token"),
        Receipt(Outcome.SUCCEEDED, operation_id("upload"), effect_id, {"document": CANARY}),
    )


@pytest.fixture
def spool(root: Path) -> Iterator[Spool]:
    with closing(opened(root)) as spool:
        yield spool


def test_two_processes_with_one_spool_hold_lanes_of_their_own(root: Path) -> None:
    with closing(opened(root)) as one, closing(opened(root, seed="two")) as two:
        one.keep(receipt())

        assert two.undelivered(ORIGIN) == []
        assert len(one.undelivered(ORIGIN)) == 1


def test_what_a_lane_without_holder_holds_is_taken_over(root: Path) -> None:
    with closing(opened(root)) as one:
        two = opened(root, seed="two")
        two.keep(receipt())
        two.close()
        assert one.undelivered(ORIGIN) == []

        with closing(opened(root, seed="three")) as three:
            assert len(three.undelivered(ORIGIN)) == 1

    with closing(opened(root, seed="four")) as four:
        assert len(four.undelivered(ORIGIN)) == 1


def test_more_processes_than_lanes_are_refused(root: Path) -> None:
    held = [opened(root, seed=str(number)) for number in range(LANES_MAX)]
    try:
        with pytest.raises(SpoolError, match="lanes"):
            opened(root, seed="one too many")
    finally:
        for spool in held:
            spool.close()


def died(root: Path, *, is_called: bool) -> None:
    """Let a process note a grant on the spool and be killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_LANE, root, ORIGIN, "called" if is_called else ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with closing(opened(root, seed="beside")) as beside:
            assert beside.uncalled(ORIGIN) == []
        child.kill()


@pytest.mark.skipif(machine_identity() is None, reason="this machine has no identity")
def test_a_grant_that_a_killed_process_never_called_is_known(root: Path) -> None:
    died(root, is_called=False)

    with closing(opened(root, seed="next")) as spool:
        ((name, note),) = spool.uncalled(ORIGIN)
        assert (note.workflow, note.operation, note.attempt) == (WORKFLOW, "upload", 7)
        assert note.lease_token == "token"
        assert spool.uncalled(OTHER) == []
        spool.released(name)

    with closing(opened(root, seed="after")) as spool:
        assert spool.uncalled(ORIGIN) == []


@pytest.mark.skipif(machine_identity() is None, reason="this machine has no identity")
def test_of_a_grant_whose_call_may_have_been_made_nothing_is_known(root: Path) -> None:
    died(root, is_called=True)

    with closing(opened(root, seed="next")) as spool:
        assert spool.uncalled(ORIGIN) == []


@pytest.mark.parametrize(
    "identity", [lambda: "another boot", lambda: None], ids=["another", "unknown"]
)
@pytest.mark.skipif(machine_identity() is None, reason="this machine has no identity")
def test_on_another_machine_or_after_another_boot_nothing_is_known(
    root: Path, identity: Callable[[], str | None]
) -> None:
    died(root, is_called=False)

    with closing(
        Spool.open(root, clock=ManualClock(), entropy=SeededEntropy("next"), identity=identity)
    ) as spool:
        assert spool.uncalled(ORIGIN) == []


def test_a_lane_stays_held_while_a_child_has_its_lock(root: Path) -> None:
    spool = opened(root)
    spool.keep(receipt())
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=[spool.lock_descriptor],
    )
    spool.close()

    with closing(opened(root, seed="while it lives")) as other:
        assert other.undelivered(ORIGIN) == []
    with child:
        child.kill()
    with closing(opened(root, seed="once it is gone")) as other:
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
