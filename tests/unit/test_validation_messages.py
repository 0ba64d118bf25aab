"""A misfit is told by its place and by what was expected there, never by its value."""

import msgspec
import pytest

from onceward.wire import codec, messages
from onceward.wire.decisions import Decision
from onceward.wire.problems import InvalidError

REQUEST_ID = "r" * 20


@pytest.mark.parametrize(
    ("value", "shape", "detail"),
    [
        pytest.param(
            {"request_id": 1},
            messages.Begin,
            "expected `str`, got `int`: path=`request_id`",
            id="wrong-type",
        ),
        pytest.param(
            {}, messages.Begin, "object missing required field `request_id`: path=`$`", id="missing"
        ),
        pytest.param(
            {"request_id": REQUEST_ID, "tools": [{"name": "t", "versio": "1"}]},
            messages.Begin,
            "object contains unknown field `versio`: path=`tools[0]`",
            id="unknown-field",
        ),
        pytest.param(
            {"request_id": REQUEST_ID, "a\n`b": 1},
            messages.Begin,
            'object contains unknown field `["a\\u000a`b"]`: path=`$`',
            id="unknown-field-with-a-name-that-would-forge-a-line",
        ),
        pytest.param(
            [], messages.Begin, "expected `object`, got `array`: path=`$`", id="no-object"
        ),
        pytest.param(
            {"decision": "hunter2"}, Decision, "invalid value: path=`decision`", id="unknown-tag"
        ),
        pytest.param(
            {"role": "hunter2", "principal": "p", "ttl_ms": 60_000},
            messages.CreateCredential,
            "invalid enum value: path=`role`",
            id="enum",
        ),
        pytest.param(
            {"role": "hunter2' - at `$.x`", "principal": "p", "ttl_ms": 60_000},
            messages.CreateCredential,
            "invalid enum value: path=`role`",
            id="enum-whose-value-looks-like-a-place",
        ),
    ],
)
def test_the_message_names_the_place_and_not_the_value(
    value: object, shape: type[object], detail: str
) -> None:
    with pytest.raises(InvalidError) as refused:
        codec.convert(value, shape)

    assert refused.value.detail == detail
    assert refused.value.code == "body_invalid"
    assert refused.value.__cause__ is None


def test_an_enum_at_the_root_cannot_smuggle_its_value_into_the_path() -> None:
    with pytest.raises(msgspec.ValidationError) as found:
        msgspec.convert("hunter2 - at `$.a`", messages.Standing)

    assert codec.without_values(str(found.value)) == "invalid enum value: path=`$`"


def test_a_parameter_is_named_by_its_own_name() -> None:
    assert codec.without_values("Expected `int` >= 1", root="limit") == (
        "expected `int` >= 1: path=`limit`"
    )
