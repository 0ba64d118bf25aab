"""Results of every size and kind, none of which costs the success."""

import hashlib

import pytest

import onceward as ow
from onceward.client import Client
from onceward.delivery import Flushed
from onceward.wire import canonical, limits
from onceward.wire.definitions import PayloadRef
from onceward.wire.messages import PayloadStored
from onceward.wire.receipts import ResultOmitted
from tests.support.ports import ManualClock
from tests.support.scripted_controller import (
    WORKFLOW,
    ScriptedController,
    accepted,
    grant,
    lost,
    unreachable,
)


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture
def client(spooling_client: Client) -> Client:
    return spooling_client


def returning(result: object, *, effect_id: str = "obj-17") -> ow.Tool:
    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        return call.succeeded(effect_id=effect_id, result=result)

    return upload


def test_a_result_too_large_for_a_receipt_is_uploaded_and_named(
    controller: ScriptedController, client: Client
) -> None:
    result = {"document": "x" * limits.RECEIPT_BYTES_MAX}
    content = canonical.encode(result)
    stored = PayloadStored("d" * 64, hashlib.sha256(content).hexdigest(), len(content))
    controller.script("begin", grant())
    controller.script("upload_result", stored)
    controller.script("complete", accepted())

    assert client.run_operation(WORKFLOW, "upload", [returning(result)]) == result
    assert controller.bodies("upload_result") == [content]
    (receipt,) = controller.receipts
    assert receipt.result is None
    assert receipt.result_payload == PayloadRef(stored.digest, stored.sha256, stored.size)


def test_a_result_is_uploaded_once_however_often_its_receipt_is_sent(
    controller: ScriptedController, client: Client
) -> None:
    controller.script("begin", grant())
    controller.script("upload_result", PayloadStored("d" * 64, "0" * 64, 70_000))
    controller.script("complete", lost(), lost(), accepted())

    client.run_operation(WORKFLOW, "upload", [returning("x" * 70_000)])

    assert controller.verbs.count("upload_result") == 1
    assert len({receipt.result_payload for receipt in controller.receipts}) == 1


def test_a_large_result_whose_upload_failed_is_kept_whole_and_uploaded_later(
    controller: ScriptedController, client: Client, clock: ManualClock
) -> None:
    def fail(content: bytes) -> PayloadStored:
        clock.pass_ms(31_000)
        raise unreachable()

    controller.script("begin", grant())
    controller.script("upload_result", fail)
    with pytest.raises(ow.UnavailableError):
        client.run_operation(WORKFLOW, "upload", [returning("x" * 70_000)])
    controller.script("upload_result", PayloadStored("d" * 64, "0" * 64, 70_000))
    controller.script("complete", lost(), accepted())

    assert client.flush() == Flushed(waiting=1)
    assert client.flush() == Flushed(delivered=1)

    first, second = controller.receipts
    assert first == second
    assert first.result_payload is not None
    assert controller.verbs.count("upload_result") == 2


def test_a_result_beyond_every_bound_is_left_out_and_its_success_recorded(
    controller: ScriptedController, client: Client
) -> None:
    result = "x" * limits.PAYLOAD_BYTES_MAX
    content = canonical.encode(result)
    controller.script("begin", grant())
    controller.script("complete", accepted())

    omitted = ResultOmitted(hashlib.sha256(content).hexdigest(), len(content))
    assert client.run_operation(WORKFLOW, "upload", [returning(result)]) == omitted
    assert controller.receipts[0].outcome is ow.Outcome.SUCCEEDED


@pytest.mark.parametrize(
    "result",
    [
        pytest.param({"when": object()}, id="no-json-type"),
        pytest.param(float("nan"), id="not-a-number"),
        pytest.param(2**64, id="too-large-an-integer"),
        pytest.param("\ud800", id="lone-surrogate"),
        pytest.param(nested(limits.DEPTH_MAX - 1), id="too-deep-for-a-request"),
    ],
)
def test_a_result_that_is_no_json_is_left_out_and_its_success_recorded(
    controller: ScriptedController, client: Client, result: object
) -> None:
    controller.script("begin", grant())
    controller.script("complete", accepted())

    assert client.run_operation(WORKFLOW, "upload", [returning(result)]) is None

    (receipt,) = controller.receipts
    assert receipt.outcome is ow.Outcome.SUCCEEDED
    assert receipt.effect_id == "obj-17"
    assert (receipt.reason or "").startswith("the result is not JSON and was left out")


def test_a_result_as_deep_as_a_request_can_carry_is_kept(
    controller: ScriptedController, client: Client
) -> None:
    result = nested(limits.DEPTH_MAX - 2)
    controller.script("begin", grant())
    controller.script("complete", accepted())

    assert client.run_operation(WORKFLOW, "upload", [returning(result)]) == result
    assert controller.receipts[0].result == result


def test_an_effect_id_that_no_controller_takes_does_not_cost_the_success(
    controller: ScriptedController, client: Client
) -> None:
    controller.script("begin", grant())
    controller.script("complete", accepted())

    client.run_operation(WORKFLOW, "upload", [returning(1, effect_id="\ud800" + "x" * 300)])

    (receipt,) = controller.receipts
    assert receipt.outcome is ow.Outcome.SUCCEEDED
    assert receipt.effect_id == "?" + "x" * 255
