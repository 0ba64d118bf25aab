"""Asking for grants, and giving back what was not used or not heard of."""

import hashlib

import pytest

import onceward as ow
from onceward.client import Client
from onceward.runner import LATE_GRANTS_MAX
from onceward.wire import messages
from onceward.wire.decisions import Granted, Query
from onceward.wire.definitions import PayloadRef
from onceward.wire.messages import OperationStatus, Release
from onceward.wire.problems import ProblemCode, problem
from tests.support.earlier_runs import reuse, view
from tests.support.ports import ManualClock
from tests.support.scripted_controller import (
    WORKFLOW,
    ScriptedController,
    accepted,
    done,
    grant,
    lost,
    stop,
    unreachable,
)


def test_every_grant_is_asked_for_under_a_request_id_of_its_own(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", grant("a"))
    controller.script("complete", accepted(grant("b")), accepted(done(2)))

    client.run(WORKFLOW, [upload])

    first = controller.bodies("begin")[0]
    following = [body.then_begin for body in controller.bodies("complete")]
    assert len({first.request_id, *(begin.request_id for begin in following)}) == 3
    assert {begin.tools for begin in (first, *following)} == {(upload.offer,)}


@pytest.mark.parametrize("failure", [unreachable(), lost()], ids=["nothing-sent", "reply-lost"])
def test_a_question_without_an_answer_is_asked_again_under_the_same_request_id(
    controller: ScriptedController, client: Client, upload: ow.Tool, failure: Exception
) -> None:
    controller.script("begin", failure, failure, grant())
    controller.script("complete", accepted())

    client.run_operation(WORKFLOW, "upload", [upload])

    assert len({body.request_id for body in controller.bodies("begin")}) == 1


def test_a_question_given_up_after_a_lost_reply_is_taken_back_with_the_next_one(
    controller: ScriptedController, client: Client, clock: ManualClock, upload: ow.Tool
) -> None:
    def drag(body: messages.Begin) -> object:
        clock.pass_ms(20_000)
        raise lost()

    controller.script("begin", drag, drag)
    with pytest.raises(ow.UnknownWriteError):
        client.run_operation(WORKFLOW, "upload", [upload])
    abandoned = controller.bodies("begin")[0].request_id
    controller.script("release", None)
    controller.script("begin", reuse("upload"))

    client.run_operation(WORKFLOW, "upload", [upload])

    assert controller.bodies("release") == [Release(request_id=abandoned)]
    assert controller.bodies("begin")[-1].request_id != abandoned


def test_of_an_unnamed_question_every_attempt_in_flight_is_asked_about(
    controller: ScriptedController, client: Client, clock: ManualClock, upload: ow.Tool
) -> None:
    def drag(body: messages.Begin) -> object:
        clock.pass_ms(31_000)
        raise lost()

    controller.script("begin", drag)
    with pytest.raises(ow.UnknownWriteError):
        client.run(WORKFLOW, [upload])
    controller.script("workflow", view("a", "b", status=OperationStatus.IN_FLIGHT))
    controller.script("release", problem(ProblemCode.ATTEMPT_UNKNOWN, "not here"), None)
    controller.script("begin", stop())

    with pytest.raises(ow.Stopped):
        client.run(WORKFLOW, [upload])

    assert len(controller.bodies("release")) == 2


def test_a_stop_after_a_lost_reply_takes_the_question_back(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", lost(), stop(ow.StopReason.PAUSED))
    controller.script("release", None)

    with pytest.raises(ow.Stopped):
        client.run(WORKFLOW, [upload])

    (asked, _) = controller.bodies("begin")
    assert controller.bodies("release") == [Release(request_id=asked.request_id)]


def test_a_refused_question_is_raised_as_what_it_is(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", problem(ProblemCode.NOT_FOUND, "no such workflow"))

    with pytest.raises(ow.NotFoundError, match="no such workflow"):
        client.run(WORKFLOW, [upload])


def test_a_grant_that_comes_too_late_is_given_back_and_asked_for_anew(
    controller: ScriptedController,
    client: Client,
    clock: ManualClock,
    upload: ow.Tool,
    made: list[ow.Call],
) -> None:
    def slowly(body: messages.Begin) -> object:
        clock.pass_ms(10_000)
        return grant(call_before_ms=grant().now_ms + 10_000)

    controller.script("begin", slowly, grant(attempt=2))
    controller.script("release", None)
    controller.script("complete", accepted())

    client.run_operation(WORKFLOW, "upload", [upload])

    assert [call.attempt for call in made] == [2]
    assert controller.bodies("release") == [Release(1, grant().lease_token)]
    first, second = controller.bodies("begin")
    assert first.request_id != second.request_id


def test_grants_that_always_come_too_late_end_in_a_stop(
    controller: ScriptedController, client: Client, upload: ow.Tool, made: list[ow.Call]
) -> None:
    dead = grant(call_before_ms=grant().now_ms)
    controller.script("begin", *[dead] * LATE_GRANTS_MAX)
    controller.script("release", *[None] * LATE_GRANTS_MAX)

    with pytest.raises(ow.Stopped) as caught:
        client.run(WORKFLOW, [upload])

    assert caught.value.reason is ow.LocalReason.LATE_GRANT
    assert made == []


@pytest.mark.parametrize(
    "granted",
    [
        pytest.param(grant(tool="delete"), id="tool"),
        pytest.param(grant(version="2"), id="version"),
        pytest.param(grant(destination="s3://elsewhere"), id="destination"),
        pytest.param(grant(kind=Query), id="query"),
    ],
)
def test_a_grant_for_what_this_tool_is_not_is_given_back_uncalled(
    controller: ScriptedController,
    client: Client,
    upload: ow.Tool,
    made: list[ow.Call],
    granted: Granted,
) -> None:
    controller.script("begin", granted)
    controller.script("release", None)

    with pytest.raises(ow.Stopped) as caught:
        client.run(WORKFLOW, [upload])

    assert caught.value.reason is ow.LocalReason.TOOL_CHANGED
    assert made == []


def payload(content: bytes) -> PayloadRef:
    return PayloadRef("d" * 64, hashlib.sha256(content).hexdigest(), len(content))


def test_large_arguments_are_fetched_before_the_call(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    content = b'{"document":"long"}'
    controller.script("begin", grant(arguments_payload=payload(content)))
    controller.script("download", content)
    controller.script("complete", accepted())

    assert client.run_operation(WORKFLOW, "upload", [upload]) == {"document": "long"}


@pytest.mark.parametrize(
    ("stored", "found", "raised"),
    [
        pytest.param(b"{}", b'{"other":1}', ow.DamagedError, id="another-content"),
        pytest.param(b"[]", b"[]", ow.Stopped, id="no-object"),
        pytest.param(b"{", b"{", ow.Stopped, id="no-json"),
        pytest.param(b"{}", unreachable(), ow.UnavailableError, id="unreachable"),
    ],
)
def test_a_grant_whose_arguments_cannot_be_had_is_given_back_uncalled(
    controller: ScriptedController,
    client: Client,
    upload: ow.Tool,
    stored: bytes,
    found: object,
    raised: type[Exception],
) -> None:
    controller.script("begin", grant(arguments_payload=payload(stored)))
    controller.script("download", found)
    controller.script("release", None)

    with pytest.raises(raised):
        client.run(WORKFLOW, [upload])

    assert controller.verbs == ["begin", "download", "release"]
