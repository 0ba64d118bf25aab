import enum
import math
from collections import OrderedDict
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceward.wire import limits
from onceward.wire.canonical import (
    CanonicalError,
    check,
    digest,
    encode,
    first_difference,
    parse,
)

BYTES_MAX = 1_000_000

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
floats = st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers(-limits.INTEGER_MAX, limits.INTEGER_MAX)
scalars = st.none() | st.booleans() | integers | floats | texts


def containers(inside: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inside, max_size=5) | st.dictionaries(texts, inside, max_size=5)


values = st.recursive(scalars, containers, max_leaves=20)
values_without_floats = st.recursive(
    st.none() | st.booleans() | integers | texts, containers, max_leaves=20
)


def nested_value(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def shuffled(value: object) -> object:
    """Return the same value with the names of every object in the opposite order."""
    if isinstance(value, dict):
        return {name: shuffled(item) for name, item in reversed(value.items())}
    if isinstance(value, list):
        return tuple(shuffled(item) for item in value)
    return value


class Colour(enum.StrEnum):
    RED = "red"


class Number(int):
    pass


@pytest.mark.parametrize(
    ("value", "code", "path", "fact"),
    [
        pytest.param({"a": [math.nan]}, "json_number", "a[0]", "finite", id="nan"),
        pytest.param(math.inf, "json_number", "$", "finite", id="infinity"),
        pytest.param([1.5, 2**53], "json_number", "[1]", "2**53", id="large-integer-after-float"),
        pytest.param(-(2**53), "json_number", "$", "2**53", id="integer-below"),
        pytest.param({"a": "\ud800"}, "json_text", "a", "surrogate", id="lone-surrogate"),
        pytest.param({"a": {"\ud800": 1}}, "json_text", r'a["\ud800"]', "lone", id="in-a-name"),
        pytest.param({"a": {1: 2}}, "json_type", "a", "name is not text: type=`int`", id="name"),
        pytest.param({Colour.RED: 1}, "json_type", "$", "type=`Colour`", id="name-of-enum"),
        pytest.param([Colour.RED], "json_type", "[0]", "type=`Colour`", id="enum"),
        pytest.param([Number(1)], "json_type", "[0]", "type=`Number`", id="subclass-of-int"),
        pytest.param([OrderedDict()], "json_type", "[0]", "type=`OrderedDict`", id="ordered-dict"),
        pytest.param([b""], "json_type", "[0]", "type=`bytes`", id="bytes"),
        pytest.param([{1}], "json_type", "[0]", "type=`set`", id="set"),
        pytest.param(datetime.now(UTC), "json_type", "$", "type=`datetime`", id="date"),
        pytest.param(nested_value(33), "json_depth", "[0]" * 32, "deeply", id="deep"),
    ],
)
def test_a_python_value_without_a_canonical_form_is_refused(
    value: object, code: str, path: str, fact: str
) -> None:
    for refuse in (check, encode, digest):
        with pytest.raises(CanonicalError, match="path=") as refused:
            refuse(value)

        assert refused.value.code == code
        assert refused.value.path == path
        assert fact in str(refused.value)


def test_a_value_that_contains_itself_is_refused_for_its_depth() -> None:
    circle: list[object] = []
    circle.append(circle)

    with pytest.raises(CanonicalError, match="nested too deeply"):
        encode(circle)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        pytest.param("account", "a.account", id="plain"),
        pytest.param("due-date", "a.due-date", id="hyphen"),
        pytest.param("x.y", 'a["x.y"]', id="dot"),
        pytest.param("", 'a[""]', id="empty"),
        pytest.param("$", 'a["$"]', id="like-the-root"),
        pytest.param('"\\', 'a["\\"\\\\"]', id="quote-and-backslash"),
        pytest.param("\n\x1b[2J", 'a["\\u000a\\u001b[2J"]', id="terminal-control"),
        pytest.param("größe", 'a["gr\\u00f6\\u00dfe"]', id="not-ascii"),
        pytest.param("n" * 65, 'a["' + "n" * 64 + '..."]', id="long-names-are-cut"),
    ],
)
def test_a_path_quotes_names_that_could_mislead_a_reader(name: str, path: str) -> None:
    with pytest.raises(CanonicalError) as refused:
        check({"a": {name: math.nan}})

    assert refused.value.path == path


# Recorded: a change of these bytes changes the digest of everything that is stored.
GOLDEN = [
    (None, b"null"),
    (True, b"true"),
    (False, b"false"),
    (0, b"0"),
    (-limits.INTEGER_MAX, b"-9007199254740991"),
    (1.0, b"1.0"),
    (-0.0, b"-0.0"),
    (0.1, b"0.1"),
    (1e16, b"1e+16"),
    (1e-5, b"1e-05"),
    (123456789012345680.0, b"1.2345678901234568e+17"),
    (5e-324, b"5e-324"),
    ("", b'""'),
    ('"\\/\b\f\n\r\t', b'"\\"\\\\/\\b\\f\\n\\r\\t"'),
    ("\x00\x1f\x7f", b'"\\u0000\\u001f\x7f"'),
    ("é\u2028\U0001f600", '"é\u2028\U0001f600"'.encode()),
    ([1, (2, [])], b"[1,[2,[]]]"),
    ({"b": 1, "a": {"d": 0, "c": 1.5}}, b'{"a":{"c":1.5,"d":0},"b":1}'),
    # Code points, not UTF-16 units: U+E000 comes before U+1F600.
    ({"\U0001f600": 1, "\ue000": 2, "a": 3}, '{"a":3,"\ue000":2,"\U0001f600":1}'.encode()),
    ({"a": "ü\x1f", "b": 1.0}, '{"a":"ü\\u001f","b":1.0}'.encode()),
]  # fmt: skip  # One row, one line.


@pytest.mark.parametrize(("value", "expected"), GOLDEN)
def test_the_canonical_bytes_are_the_recorded_ones(value: object, expected: bytes) -> None:
    assert encode(value) == expected


def test_the_digest_is_the_sha_256_of_the_canonical_bytes() -> None:
    expected = "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"

    assert digest({"b": 2, "a": 1}) == expected


def test_values_of_different_types_have_different_bytes() -> None:
    distinct = [1, 1.0, True, "1", "true", [1], {"1": 1}, None, 0, 0.0, -0.0, False, "", [], {}]

    assert len({encode(value) for value in distinct}) == len(distinct)


@given(values)
def test_parsing_gives_back_what_was_encoded(value: object) -> None:
    encoded = encode(value)

    assert encode(parse(encoded, bytes_max=BYTES_MAX)) == encoded
    assert parse(encoded, bytes_max=BYTES_MAX) == value


@given(values)
def test_neither_the_order_of_names_nor_the_kind_of_sequence_matters(value: object) -> None:
    assert encode(shuffled(value)) == encode(value)
    assert first_difference(shuffled(value), value) is None


@given(values_without_floats)
def test_both_writers_agree_on_all_but_floats(value: object) -> None:
    # A float beside the value sends it through the other writer.
    with_float = encode([value, 0.5])

    assert with_float == b"[" + encode(value) + b",0.5]"
    assert with_float == b"[" + orjson.dumps(value, option=orjson.OPT_SORT_KEYS) + b",0.5]"


@given(floats)
def test_a_float_is_never_written_as_an_integer(number: float) -> None:
    again = parse(encode(number), bytes_max=BYTES_MAX)

    assert type(again) is float
    assert math.copysign(1, again) == math.copysign(1, number)
    assert again == number


@given(values, values)
def test_a_difference_is_found_exactly_when_the_bytes_differ(left: object, right: object) -> None:
    assert (first_difference(left, right) is None) == (encode(left) == encode(right))
    assert first_difference(left, right) == first_difference(right, left)


@pytest.mark.parametrize(
    ("left", "right", "path"),
    [
        pytest.param({"a": 1}, {"a": 1}, None, id="equal"),
        pytest.param([1, 2], (1, 2), None, id="list-and-tuple"),
        pytest.param(1, 2, "$", id="whole-documents"),
        pytest.param([], {}, "$", id="array-and-object"),
        pytest.param(1, 1.0, "$", id="integer-and-float"),
        pytest.param({"a": True}, {"a": 1}, "a", id="boolean-and-integer"),
        pytest.param([0.0], [-0.0], "[0]", id="two-zeros"),
        pytest.param({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1]", id="deep"),
        pytest.param({"b": 1, "a": 1}, {"b": 2, "a": 2}, "a", id="first-in-canonical-order"),
        pytest.param({"a": 1, "c": 1}, {"b": 1, "c": 2}, "a", id="only-on-the-left"),
        pytest.param({"a": 1}, {"a": 1, "b": None}, "b", id="absent-is-not-null"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, "a[1]", id="longer-on-the-right"),
        pytest.param(
            {"operations": [{}, {"arguments": {"amount": 82_000}}]},
            {"operations": [{}, {"arguments": {"amount": 820_000}}]},
            "operations[1].arguments.amount",
            id="an-amount",
        ),
    ],
)
def test_the_first_difference_is_named(left: object, right: object, path: str | None) -> None:
    assert first_difference(left, right) == path


def test_a_difference_is_looked_for_only_between_values_with_a_canonical_form() -> None:
    for pair in ((1, math.nan), (math.nan, 1)):
        with pytest.raises(CanonicalError, match="not finite"):
            first_difference(*pair)
