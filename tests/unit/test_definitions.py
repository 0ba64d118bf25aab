"""What a definition may be, and when two are the same."""

from typing import Any

import msgspec
import pytest

from onceward.wire import canonical, limits
from onceward.wire.capabilities import Capability
from onceward.wire.definitions import (
    DefinitionError,
    OperationDefinition,
    PayloadRef,
    Retry,
    order,
    resolve,
)
from onceward.wire.messages import CreateWorkflow
from tests.support.protocol import tool

PAYLOAD = PayloadRef(digest="a" * 64, sha256="b" * 64, size=9)


def names_in_order(*operations: OperationDefinition) -> list[str]:
    resolved = resolve(operations).operations
    return [resolved[at].name for at in order(resolved)]


# Order.


def test_an_operation_follows_the_one_before_it_unless_it_says_otherwise() -> None:
    resolved = resolve(
        (tool("a"), tool("b"), tool("c", after=("a",)), tool("d", after=()))
    ).operations
    assert [operation.after for operation in resolved] == [(), ("a",), ("a",), ()]


def test_operations_come_after_all_that_they_wait_for() -> None:
    join = tool("join", after=("right", "left"))
    assert names_in_order(join, tool("left", after=()), tool("right", after=("left",))) == [
        "left",
        "right",
        "join",
    ]


def test_what_is_declared_in_an_order_that_runs_stays_in_it() -> None:
    declared = (tool("a", after=()), tool("b", after=("a",)), tool("c", after=()))
    assert names_in_order(*declared) == ["a", "b", "c"]


def test_two_hundred_operations_are_ordered_and_one_more_is_refused() -> None:
    many = tuple(tool(f"operation-{number}") for number in range(limits.OPERATIONS_MAX))
    assert order(resolve(many).operations) == tuple(range(limits.OPERATIONS_MAX))
    assert refusal(*many, tool("one-more")) == "operations_limit"


# Refusals.


def refusal(*operations: OperationDefinition) -> str:
    with pytest.raises(DefinitionError) as refused:
        resolve(operations)
    return refused.value.code


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        pytest.param((), "operations_limit", id="none"),
        pytest.param((tool("a"), tool("b"), tool("a")), "operation_duplicate", id="a-name-twice"),
        pytest.param((tool("a", after=("z",)),), "operation_unknown", id="after-nobody"),
        pytest.param((tool("a", after=("a",)),), "definition_cyclic", id="after-itself"),
        pytest.param(
            (tool("a", after=("c",)), tool("b"), tool("c")), "definition_cyclic", id="in-a-circle"
        ),
        pytest.param(
            (tool("free", after=()), tool("a", after=("b",)), tool("b", after=("a",))),
            "definition_cyclic",
            id="in-a-circle-beside-one-that-runs",
        ),
        pytest.param(
            (OperationDefinition("a", "t", arguments={"x": 1}, arguments_payload=PAYLOAD),),
            "arguments_twice",
            id="arguments-inline-and-as-a-payload",
        ),
    ],
)
def test_a_definition_that_can_mean_nothing_is_refused(
    operations: tuple[OperationDefinition, ...], code: str
) -> None:
    assert refusal(*operations) == code


@pytest.mark.parametrize(("over", "refused"), [(0, False), (1, True)], ids=["at", "over"])
def test_arguments_have_a_limit_to_the_byte(over: int, refused: bool) -> None:
    padding = limits.ARGUMENTS_BYTES_MAX - len(canonical.encode({"x": ""})) + over
    operation = OperationDefinition("a", "t", arguments={"x": "y" * padding})
    if refused:
        assert refusal(operation) == "arguments_too_large"
    else:
        resolve((operation,))


def test_a_definition_has_a_limit_without_its_arguments() -> None:
    long = "d" * limits.DESTINATION_CHARACTERS_MAX
    after = tuple(f"{number:064}" for number in range(90))
    many = tuple(
        OperationDefinition(f"{number:064}", "t" * 64, destination=long, after=after[:number])
        for number in range(90)
    )
    assert refusal(*many) == "definition_too_large"


def test_large_arguments_do_not_count_toward_the_definition() -> None:
    large = {"x": "y" * (limits.ARGUMENTS_BYTES_MAX - 100)}
    resolve(tuple(OperationDefinition(name, "t", arguments=large) for name in ("a", "b", "c", "d")))


@pytest.mark.parametrize(
    "arguments",
    [{"x": float("nan")}, {"x": float("inf")}, {"x": 2**53}, {"x": "\ud800"}, {"x": {1, 2}}],
    ids=["nan", "infinity", "too-large", "surrogate", "set"],
)
def test_arguments_that_json_readers_disagree_about_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(canonical.CanonicalError):
        resolve((OperationDefinition("a", "t", arguments=arguments),))


def test_arguments_deeper_than_the_limit_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(limits.DEPTH_MAX + 1):
        deep = {"x": deep}
    with pytest.raises(canonical.CanonicalError):
        resolve((OperationDefinition("a", "t", arguments=deep),))


# Shapes on the wire.


GOOD: dict[str, Any] = {"name": "send", "tool": "mail"}


@pytest.mark.parametrize(
    "more",
    [
        {"lease": 5},
        {"name": "Send"},
        {"name": ""},
        {"name": "a" * 65},
        {"version": "1 2"},
        {"timeout_ms": 0},
        {"timeout_ms": limits.TIMEOUT_MAX_MS + 1},
        {"lease_ms": limits.LEASE_MIN_MS - 1},
        {"lease_ms": limits.LEASE_MAX_MS + 1},
        {"max_in_flight_ms": -1},
        {"max_in_flight_ms": limits.MAX_IN_FLIGHT_MAX_MS + 1},
        {"capability": {"idempotency_ms": limits.RETENTION_MIN_MS - 1}},
        {"capability": {"queries": True}},
        {"retry": {"attempts": 0}},
        {"retry": {"attempts": limits.ATTEMPTS_MAX + 1}},
        {"retry": {"factor": 0.5}},
        {"retry": {"first_ms": -1}},
        {"arguments": []},
        {"after": "first"},
    ],
    ids=str,
)
def test_a_shape_that_is_not_closed_or_out_of_bounds_is_refused(more: dict[str, Any]) -> None:
    msgspec.convert({"key": "k", "operations": [GOOD]}, CreateWorkflow)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"key": "k", "operations": [{**GOOD, **more}]}, CreateWorkflow)


@pytest.mark.parametrize("lease_ms", [999, 15 * limits.MINUTE_MS + 1])
def test_a_lease_lasts_a_second_to_fifteen_minutes(lease_ms: int) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**GOOD, "lease_ms": lease_ms}, OperationDefinition)


# Two definitions are equal exactly when they mean the same.


def of(*sent: dict[str, Any]) -> str:
    return resolve(msgspec.convert(list(sent), tuple[OperationDefinition, ...])).digest


A, B = {"name": "a", "tool": "t"}, {"name": "b", "tool": "t"}
C = {"name": "c", "tool": "t"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param((A, B), (A, {**B, "after": ["a"]}), id="the-previous-one-said-or-not"),
        pytest.param((A,), ({**A, "after": []},), id="the-first-waits-for-nobody"),
        pytest.param((A,), ({**A, "version": "1", "timeout_ms": 30_000},), id="defaults-said"),
        pytest.param((A,), ({**A, "capability": {"query": False}},), id="no-capability-said"),
        pytest.param(
            ({**A, "arguments": {"x": 1, "y": 2}},),
            ({**A, "arguments": {"y": 2, "x": 1}},),
            id="keys-in-another-order",
        ),
        pytest.param(
            (A, B, {**C, "after": ["a", "b", "a"]}),
            (A, B, {**C, "after": ["a", "b"]}),
            id="a-predecessor-said-twice",
        ),
        pytest.param(
            (A, B, {**C, "after": ["a", "b"]}),
            (A, B, {**C, "after": ["b", "a"]}),
            id="predecessors-in-another-order",
        ),
        pytest.param(
            ({**A, "retry": {"factor": 2}},), ({**A, "retry": {"factor": 2.0}},), id="2-or-2.0"
        ),
    ],
)
def test_what_means_the_same_has_the_same_digest(
    one: tuple[dict[str, Any], ...], other: tuple[dict[str, Any], ...]
) -> None:
    assert of(*one) == of(*other)


@pytest.mark.parametrize(
    "more",
    [
        {"tool": "u"},
        {"version": "2"},
        {"destination": "elsewhere"},
        {"arguments": {"x": 1}},
        {"capability": {"query": True}},
        {"capability": {"idempotency_ms": limits.DAY_MS}},
        {"timeout_ms": 30_001},
        {"lease_ms": 120_001},
        {"max_in_flight_ms": 60_001},
        {"retry": {}},
        {"retry": {"attempts": 4}},
    ],
    ids=str,
)
def test_any_other_word_is_another_digest(more: dict[str, Any]) -> None:
    assert of(A) != of({**A, **more})


def test_the_order_of_operations_is_part_of_the_digest() -> None:
    first, second = {**A, "after": []}, {**B, "after": []}
    assert of(first, second) != of(second, first)


def test_a_resolved_definition_resolves_to_itself() -> None:
    resolved = resolve((tool("a"), tool("b", query=True, retry=Retry())))
    assert resolve(resolved.operations) == resolved


# Backoff.


@pytest.mark.parametrize(
    ("reports", "wait_ms"),
    [(1, 1_000), (2, 2_000), (3, 4_000), (12, 2_048_000), (13, 3_600_000), (10_000, 3_600_000)],
)
def test_each_wait_is_longer_by_the_factor_up_to_the_cap(reports: int, wait_ms: int) -> None:
    assert Retry().backoff_ms(reports) == wait_ms


def test_the_largest_declarable_backoff_is_its_cap() -> None:
    widest = Retry(
        attempts=100, first_ms=limits.BACKOFF_CAP_MAX_MS, factor=100.0, cap_ms=limits.DAY_MS
    )
    assert widest.backoff_ms(100) == limits.DAY_MS


@pytest.mark.parametrize(
    ("capability", "guarantee"),
    [
        (Capability(), "at most once"),
        (Capability(idempotency_ms=limits.DAY_MS), "exactly once while the key is valid"),
        (Capability(query=True), "exactly once if calls land within max_in_flight"),
    ],
)
def test_no_more_is_promised_than_was_declared(capability: Capability, guarantee: str) -> None:
    assert capability.guarantee == guarantee
