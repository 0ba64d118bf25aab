"""The loop: ask, call, report and ask for the next, and obey what is answered."""

from datetime import timedelta

import pytest

import onceward as ow
from onceward.client import Client
from onceward.wire.decisions import Query
from onceward.wire.messages import Completed, OperationStatus, Standing
from tests.support.earlier_runs import reuse, view
from tests.support.ports import ManualClock
from tests.support.scripted_client import uploader
from tests.support.scripted_controller import (
    WORKFLOW,
    ScriptedController,
    accepted,
    done,
    grant,
    stop,
    wait,
)

SECONDS = timedelta(seconds=1)


def test_a_chain_costs_one_question_and_one_report_for_each_operation(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", grant("a", arguments={"at": 1}))
    controller.script(
        "complete",
        accepted(grant("b", arguments={"at": 2})),
        accepted(grant("c", arguments={"at": 3})),
        accepted(done(3)),
    )

    results = client.run(WORKFLOW, [upload])

    assert results == {"a": {"at": 1}, "b": {"at": 2}, "c": {"at": 3}}
    assert controller.verbs == ["begin", "complete", "complete", "complete"]


def test_the_call_carries_what_the_grant_says(
    controller: ScriptedController, client: Client, upload: ow.Tool, made: list[ow.Call]
) -> None:
    granted = grant("upload", attempt=3, arguments={"document": "d"}, timeout_ms=1_500)
    controller.script("begin", granted)
    controller.script("complete", accepted())

    client.run_operation(WORKFLOW, "upload", [upload])

    (call,) = made
    assert call.arguments == {"document": "d"}
    assert call.operation_id == granted.operation_id
    assert call.idempotency_key == granted.idempotency_key
    assert (call.attempt, call.fence, call.timeout) == (3, 3, timedelta(milliseconds=1_500))
    assert not call.cancelled.is_set()


def test_one_operation_that_succeeds_asks_for_nothing_more(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", grant(arguments={"document": "d"}))
    controller.script("complete", accepted())

    assert client.run_operation(WORKFLOW, "upload", [upload]) == {"document": "d"}
    assert controller.bodies("complete")[0].then_begin is None


def test_one_operation_without_success_asks_what_may_follow(
    controller: ScriptedController, client: Client
) -> None:
    def find(call: ow.Call) -> ow.Receipt:
        return call.succeeded(result="found")

    @ow.tool("upload", query=find)
    def upload(call: ow.Call) -> ow.Receipt:
        raise ConnectionError

    controller.script("begin", grant())
    controller.script("complete", accepted(grant(kind=Query, attempt=2)), accepted())

    assert client.run_operation(WORKFLOW, "upload", [upload]) == "found"
    first, second = controller.bodies("complete")
    assert first.receipt.outcome is ow.Outcome.UNKNOWN
    assert first.then_begin.operation == "upload"
    assert second.attempt == 2


def test_what_has_succeeded_before_is_reused(
    controller: ScriptedController, client: Client, upload: ow.Tool, made: list[ow.Call]
) -> None:
    controller.script("begin", reuse("upload", {"url": "u"}))

    assert client.run_operation(WORKFLOW, "upload", [upload]) == {"url": "u"}
    assert made == []


def test_results_from_before_this_run_are_read_once_at_the_end(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", grant("b", arguments={"at": 2}))
    controller.script("complete", accepted(done(2)))
    controller.script("workflow", view("a", "b", status=OperationStatus.SUCCEEDED, receipts=True))

    assert client.run(WORKFLOW, [upload]) == {"a": "seen a", "b": {"at": 2}}


def test_a_result_that_the_view_leaves_out_is_asked_for_by_name(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", done(1), reuse("a", "kept"))
    controller.script("workflow", view("a", status=OperationStatus.SUCCEEDED))

    assert client.run(WORKFLOW, [upload]) == {"a": "kept"}
    assert controller.bodies("begin")[1].operation == "a"


def test_a_stop_is_raised_in_the_words_of_the_controller(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", stop(ow.StopReason.PAUSED, "b"))

    with pytest.raises(ow.Stopped, match="look at the destination") as caught:
        client.run(WORKFLOW, [upload])

    assert caught.value.reason is ow.StopReason.PAUSED
    assert caught.value.operation == "b"
    assert caught.value.retry_after is None


def test_a_wait_without_patience_stops_and_says_when_to_ask_again(
    controller: ScriptedController, client: Client, clock: ManualClock, upload: ow.Tool
) -> None:
    controller.script("begin", wait(retry_after_ms=5_000))

    with pytest.raises(ow.Stopped) as caught:
        client.run(WORKFLOW, [upload])

    assert caught.value.reason is ow.WaitReason.ATTEMPT_IN_PROGRESS
    assert caught.value.retry_after == 5 * SECONDS
    assert clock.slept_ms == 0


def test_a_wait_with_patience_asks_again_ever_more_slowly_under_the_same_request_id(
    controller: ScriptedController, client: Client, clock: ManualClock, upload: ow.Tool
) -> None:
    controller.script("begin", *[wait(retry_after_ms=60_000)] * 7, grant())
    controller.script("complete", accepted())

    client.run_operation(WORKFLOW, "upload", [upload], wait=30 * SECONDS)

    assert clock.slept_ms == 100 + 200 + 400 + 800 + 1_600 + 2_000 + 2_000
    assert len({body.request_id for body in controller.bodies("begin")}) == 1


def test_patience_ends(
    controller: ScriptedController, client: Client, clock: ManualClock, upload: ow.Tool
) -> None:
    controller.script("begin", *[wait(retry_after_ms=60_000)] * 4)

    with pytest.raises(ow.Stopped):
        client.run(WORKFLOW, [upload], wait=timedelta(milliseconds=500))

    assert clock.slept_ms == 500


def test_a_success_that_is_only_evidence_is_no_result(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", grant(), stop())
    controller.script("complete", Completed(Standing.EVIDENCE))

    with pytest.raises(ow.Stopped):
        client.run_operation(WORKFLOW, "upload", [upload])


def test_a_closing_client_takes_no_further_grant(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    client.close()

    with pytest.raises(ow.Stopped) as caught:
        client.run(WORKFLOW, [upload])

    assert caught.value.reason is ow.LocalReason.CLOSING
    assert controller.is_closed
    assert controller.asked == []


def test_two_tools_of_one_name_and_version_are_refused(client: Client, upload: ow.Tool) -> None:
    with pytest.raises(ValueError, match="share name and version"):
        client.run(WORKFLOW, [upload, uploader([])])
