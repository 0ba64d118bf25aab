"""One call: its timeout, its cancellation, and answers that come when nobody waits any more."""

import errno
import threading
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

import onceward as ow
from onceward.client import Client
from onceward.spool import Spool, SpooledReceipt
from onceward.wire.messages import Renew, Renewed
from onceward.wire.problems import ProblemCode, problem
from tests.support.interrupts import interrupt_main
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.scripted_client import SOON_MS, client_of
from tests.support.scripted_controller import WORKFLOW, ScriptedController, accepted, grant, stop
from tests.support.spools import opened


@pytest.fixture
def client(spooling_client: Client) -> Client:
    return spooling_client


def test_a_tool_that_says_nothing_in_time_is_told_and_reported_as_unknown(
    controller: ScriptedController, client: Client
) -> None:
    was_told = threading.Event()

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        call.cancelled.wait()
        was_told.set()
        return call.unknown("told")

    controller.script("begin", grant(timeout_ms=SOON_MS))
    controller.script("complete", accepted(stop()))

    with pytest.raises(ow.Stopped):
        client.run_operation(WORKFLOW, "upload", [upload])

    assert was_told.wait(10)
    assert controller.receipt.outcome is ow.Outcome.UNKNOWN
    assert controller.receipt.reason == f"timed out after {SOON_MS} ms"


def test_a_success_after_the_timeout_is_kept_for_a_person_and_never_sent(
    controller: ScriptedController, client: Client, clock: ManualClock, spool_path: Path
) -> None:
    may_end = threading.Event()
    threads: list[threading.Thread] = []

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        threads.append(threading.current_thread())
        may_end.wait()
        return call.succeeded(effect_id="obj-17")

    controller.script("begin", grant(timeout_ms=SOON_MS))
    controller.script("complete", accepted(stop()))

    with pytest.raises(ow.Stopped):
        client.run_operation(WORKFLOW, "upload", [upload])
    may_end.set()
    ended(client, threads)

    with closing(opened(spool_path, clock, seed="next")) as spool:
        (late,) = spool.dead_letters()
    assert late.receipt.effect_id == "obj-17"
    assert late.why == "came after its timeout"
    assert controller.receipt.outcome is ow.Outcome.UNKNOWN


def test_the_answer_to_an_interrupted_caller_is_delivered_all_the_same(
    controller: ScriptedController, client: Client
) -> None:
    threads: list[threading.Thread] = []

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        threads.append(threading.current_thread())
        interrupt_main()
        call.cancelled.wait()
        return call.succeeded(effect_id="obj-17")

    controller.script("begin", grant())
    controller.script("complete", accepted())

    with pytest.raises(KeyboardInterrupt):
        client.run_operation(WORKFLOW, "upload", [upload])
    ended(client, threads)

    assert controller.receipt.effect_id == "obj-17"


def test_closing_the_client_tells_running_tools_and_waits_for_their_receipts(
    controller: ScriptedController, client: Client
) -> None:
    started = threading.Event()

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        started.set()
        call.cancelled.wait()
        return call.succeeded(result="finished")

    controller.script("begin", grant())
    controller.script("complete", accepted())
    results: list[object] = []
    errand = threading.Thread(
        target=lambda: results.append(client.run_operation(WORKFLOW, "upload", [upload]))
    )
    errand.start()
    started.wait()

    client.close()
    errand.join()

    assert results == ["finished"]
    assert controller.is_closed


def test_a_call_that_outlives_two_thirds_of_its_lease_is_renewed(
    controller: ScriptedController, client: Client
) -> None:
    renewed = threading.Event()

    def renew(body: Renew) -> Renewed:
        renewed.set()
        return Renewed(lease_until_ms=body.attempt + 240_000, now_ms=body.attempt)

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        renewed.wait()
        assert not call.cancelled.is_set()
        return call.succeeded(result="kept")

    # Two thirds of this lease are two milliseconds; by the test's clock it never ends.
    controller.script("begin", grant(lease_ms=3))
    controller.script("renew", renew)
    controller.script("complete", accepted())

    assert client.run_operation(WORKFLOW, "upload", [upload]) == "kept"


def test_a_refused_renewal_tells_the_tool_whose_receipt_is_still_sent(
    controller: ScriptedController, client: Client
) -> None:
    def pause(body: Renew) -> Renewed:
        raise problem(ProblemCode.PAUSED, "paused")

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        call.cancelled.wait()
        return call.succeeded(result="late")

    controller.script("begin", grant(lease_ms=3, timeout_ms=60_000))
    controller.script("renew", pause)
    controller.script("complete", accepted())

    assert client.run_operation(WORKFLOW, "upload", [upload]) == "late"


def test_a_tool_that_changes_its_arguments_changes_nothing_that_was_declared(
    controller: ScriptedController, client: Client
) -> None:
    granted = grant(arguments={"lines": [1, 2]})

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        call.arguments["lines"].clear()
        return call.succeeded()

    controller.script("begin", granted)
    controller.script("complete", accepted())

    client.run_operation(WORKFLOW, "upload", [upload])

    assert granted.arguments == {"lines": [1, 2]}


def test_a_receipt_that_nobody_can_read_gives_no_grant_back(
    controller: ScriptedController, client: Client
) -> None:
    class Unreadable:
        def __str__(self) -> str:
            raise LookupError("no words for it")

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        return call.succeeded(effect_id=cast("str", Unreadable()))

    controller.script("begin", grant())

    with pytest.raises(LookupError):
        client.run_operation(WORKFLOW, "upload", [upload])

    assert controller.verbs == ["begin"]


def test_a_disk_that_refuses_a_late_success_does_not_disturb_the_errand_that_went_on(
    controller: ScriptedController, clock: ManualClock, tmp_path: Path
) -> None:
    has_refused = threading.Event()
    may_end = threading.Event()

    class FullSpool(Spool):
        def set_aside(self, receipt: SpooledReceipt) -> None:
            has_refused.set()
            raise OSError(errno.ENOSPC, "no space left")

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        if call.attempt == 1:
            may_end.wait()
            return call.succeeded(result="late")
        may_end.set()
        has_refused.wait()
        return call.succeeded(result="in time")

    controller.script("begin", grant(timeout_ms=SOON_MS))
    controller.script("complete", accepted(grant(attempt=2)), accepted())

    spool = FullSpool.open(tmp_path / "full", clock=clock, entropy=SeededEntropy())
    with client_of(controller, clock, spool=spool) as client:
        assert client.run_operation(WORKFLOW, "upload", [upload]) == "in time"


def test_a_result_is_the_same_value_now_and_when_it_is_reused(
    controller: ScriptedController, client: Client
) -> None:
    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        return call.succeeded(result=("a", {"b": (1, 2)}))

    controller.script("begin", grant())
    controller.script("complete", accepted())

    assert client.run_operation(WORKFLOW, "upload", [upload]) == ["a", {"b": [1, 2]}]


def ended(client: Client, threads: list[threading.Thread]) -> None:
    """Close the client and wait until the tools' threads have done all they do."""
    client.close()
    for thread in threads:
        thread.join()
