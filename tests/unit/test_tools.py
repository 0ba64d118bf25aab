"""Declaring a tool: two forms of function, one declaration, nothing guessed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

import onceward as ow
from onceward.answers import Raised, Returned, receipt_of
from onceward.call import Cancellation
from onceward.callbacks import perform
from onceward.wire.capabilities import Capability
from onceward.wire.decisions import Mode
from onceward.wire.definitions import Retry
from tests.support.scripted_controller import operation_id

SECOND = timedelta(seconds=1)


CALL = ow.Call(
    arguments={"document": "d"},
    operation_id=operation_id("upload"),
    idempotency_key="key-upload",
    destination="s3://reports",
    timeout=30 * SECOND,
    attempt=1,
    mode=Mode.EXECUTE,
    fence=1,
    cancelled=Cancellation(),
)


def takes_call(call: ow.Call) -> ow.Receipt:
    return call.succeeded(effect_id="obj-17")


def takes_four(arguments: object, operation_id: str, key: str, timeout_seconds: float) -> object:
    return {
        "outcome": "confirmed_succeeded",
        "operation_id": operation_id,
        "effect_id": key,
        "result": [arguments, timeout_seconds],
    }


class Publisher:
    def execute(self, arguments: object, operation_id: str, key: str, timeout: float) -> object:
        return {"outcome": "confirmed_succeeded", "operation_id": operation_id, "result": key}

    def __call__(self, call: ow.Call) -> ow.Receipt:
        return call.succeeded()


def test_a_function_of_one_argument_gets_the_call() -> None:
    assert perform(takes_call).start(CALL) == CALL.succeeded(effect_id="obj-17")


def test_a_plain_function_gets_its_four_arguments_by_position() -> None:
    receipt = receipt_of(CALL, Returned(perform(takes_four).start(CALL)))

    assert receipt == CALL.succeeded(effect_id="key-upload", result=[{"document": "d"}, 30.0])


@pytest.mark.parametrize(
    "callback",
    [
        pytest.param(Publisher().execute, id="bound-method"),
        pytest.param(Publisher(), id="object-with-call"),
        pytest.param(lambda call, client=None: call.succeeded(), id="default-beside-the-call"),
        pytest.param(partial(takes_four), id="partial"),
    ],
)
def test_the_form_is_found_by_the_signature_whatever_kind_of_callable(
    callback: Callable[..., Any],
) -> None:
    receipt = receipt_of(CALL, Returned(perform(callback).start(CALL)))

    assert receipt.outcome is ow.Outcome.SUCCEEDED


@pytest.mark.parametrize(
    "callback",
    [
        pytest.param(lambda: None, id="none"),
        pytest.param(lambda one, two: None, id="two"),
        pytest.param(lambda *arguments: None, id="any-number"),
        pytest.param(lambda one, two=2, three=3, four=4: None, id="one-or-four"),
        pytest.param(lambda call, *, client: None, id="required-keyword"),
    ],
)
def test_a_signature_that_fits_both_forms_or_neither_is_refused_at_declaration(
    callback: Callable[..., Any],
) -> None:
    with pytest.raises(TypeError, match="fits"):
        ow.tool("upload")(callback)
    with pytest.raises(TypeError, match="fits"):
        ow.tool("upload", query=callback)(takes_call)


async def asynchronous(call: ow.Call) -> ow.Receipt:
    return call.succeeded()


class AsyncCallable:
    async def __call__(self, call: ow.Call) -> ow.Receipt:
        return call.succeeded()


@pytest.mark.parametrize("callback", [asynchronous, partial(asynchronous), AsyncCallable()])
def test_asynchronous_callables_are_known_at_declaration(callback: Callable[..., Any]) -> None:
    assert perform(callback).is_async
    assert not perform(takes_call).is_async


def test_the_operation_repeats_the_declaration() -> None:
    upload = ow.tool(
        "upload",
        version="2",
        destination="s3://reports",
        query=takes_call,
        idempotency=timedelta(hours=24),
        max_in_flight=60 * SECOND,
        timeout=30 * SECOND,
        lease=90 * SECOND,
        retry=ow.Retry(attempts=3, first=SECOND, factor=2.0, cap=timedelta(hours=1)),
    )(takes_call)

    operation = upload.operation("first", {"document": "d"}, after=["earlier"])

    assert operation.tool == "upload"
    assert operation.version == "2"
    assert operation.destination == "s3://reports"
    assert operation.capability == Capability(query=True, idempotency_ms=86_400_000)
    assert operation.max_in_flight_ms == 60_000
    assert operation.timeout_ms == 30_000
    assert operation.lease_ms == 90_000
    assert operation.retry == Retry(attempts=3, first_ms=1_000, factor=2.0, cap_ms=3_600_000)
    assert operation.arguments == {"document": "d"}
    assert operation.after == ("earlier",)


def test_a_tool_without_words_claims_nothing_about_its_destination() -> None:
    operation = ow.Tool("upload", execute=takes_call).operation("first")

    assert operation.capability == Capability()
    assert operation.retry is None
    assert operation.after is None


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param({"name": "Upload"}, id="name"),
        pytest.param({"version": "a b"}, id="version"),
        pytest.param({"timeout": timedelta(0)}, id="timeout"),
        pytest.param({"timeout": timedelta(hours=2)}, id="timeout-too-long"),
        pytest.param({"lease": timedelta(hours=1)}, id="lease"),
        pytest.param({"idempotency": SECOND}, id="idempotency"),
        pytest.param({"max_in_flight": timedelta(days=2)}, id="max-in-flight"),
        pytest.param({"retry": ow.Retry(attempts=0)}, id="retry"),
    ],
)
def test_a_value_out_of_range_is_refused_at_declaration(declared: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="tool cannot be declared so"):
        ow.Tool(**{"name": "upload", "execute": takes_call, **declared})


def test_a_declared_tool_can_be_called_in_a_test_of_its_own() -> None:
    assert ow.tool("upload")(takes_call)(CALL).effect_id == "obj-17"


def test_the_text_of_an_exception_is_never_recorded() -> None:
    receipt = receipt_of(CALL, Raised(ConnectionError("password=hunter2")))

    assert receipt == CALL.unknown("the tool raised ConnectionError")


def test_not_executed_is_the_one_exception_that_says_what_happened() -> None:
    receipt = receipt_of(CALL, Raised(ow.NotExecuted("the bucket is read-only")))

    assert receipt == CALL.not_executed("the bucket is read-only")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="none"),
        pytest.param("done", id="text"),
        pytest.param({"outcome": "done"}, id="dict-with-another-outcome"),
        pytest.param({"outcome": "unknown", "reason": 5}, id="dict-with-another-shape"),
        pytest.param({"outcome": "confirmed_succeeded", "status": 200}, id="dict-with-more"),
        pytest.param({5: "unknown"}, id="dict-with-other-keys"),
    ],
)
def test_what_is_no_receipt_is_an_unknown_outcome_and_never_a_failure(value: object) -> None:
    receipt = receipt_of(CALL, Returned(value))

    assert receipt.outcome is ow.Outcome.UNKNOWN
    assert receipt.reason == f"the tool returned no receipt: type=`{type(value).__name__}`"


def test_a_receipt_of_another_operation_is_an_unknown_outcome() -> None:
    other = replace(CALL, operation_id=operation_id("other")).succeeded()

    assert receipt_of(CALL, Returned(other)).outcome is ow.Outcome.UNKNOWN


def test_a_plain_receipt_that_names_no_operation_speaks_of_its_own() -> None:
    assert receipt_of(CALL, Returned({"outcome": "unknown"})) == ow.Receipt(
        ow.Outcome.UNKNOWN, operation_id("upload")
    )


def test_the_public_names_are_all_there() -> None:
    assert sorted(ow.__all__) == list(ow.__all__)
    assert all(hasattr(ow, name) for name in ow.__all__)
    assert set(ow.__all__) <= set(dir(ow))
    with pytest.raises(AttributeError):
        ow.nothing  # noqa: B018 - reading it is the test
