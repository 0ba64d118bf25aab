import json

import pytest

from onceward.wire.canonical import (
    CanonicalError,
    parse,
)

BYTES_MAX = 1_000_000


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("body", "code", "path", "fact"),
    [
        pytest.param(b"", "body_not_json", "$", "is empty", id="nothing"),
        pytest.param(b" \n\t\r", "body_not_json", "$", "is empty", id="only-white-space"),
        pytest.param(b"\xef\xbb\xbf{}", "body_not_json", "$", "order mark", id="byte-order-mark"),
        pytest.param('{"a":1}'.encode("utf-16"), "body_not_json", "$", "utf-8", id="utf-16"),
        pytest.param(b'"\xff"', "body_not_json", "$", "not utf-8 at byte 1", id="no-utf-8"),
        pytest.param(b'"\xed\xa0\x80"', "body_not_json", "$", "utf-8", id="surrogate-as-utf-8"),
        pytest.param(b'"\xc0\x80"', "body_not_json", "$", "utf-8", id="overlong-utf-8"),
        pytest.param(b"{", "body_not_json", "$", "line 1, column 2", id="unfinished"),
        pytest.param(b"{'a':1}", "body_not_json", "$", "not json", id="single-quotes"),
        pytest.param(b"[1,]", "body_not_json", "$", "not json", id="trailing-comma"),
        pytest.param(b"[01]", "body_not_json", "$", "not json", id="leading-zero"),
        pytest.param(b"[+1]", "body_not_json", "$", "not json", id="plus-sign"),
        pytest.param(b'["\x01"]', "body_not_json", "$", "not json", id="bare-control-character"),
        pytest.param(b"[1]//", "body_not_json", "$", "goes on", id="comment"),
        pytest.param(b"{} {}", "body_not_json", "$", "goes on", id="two-values"),
        pytest.param("[1]\xa0".encode(), "body_not_json", "$", "goes on", id="foreign-space"),
        pytest.param(b"]" * 100, "body_not_json", "$", "not json", id="brackets-closed-only"),
        pytest.param(b'{"a":1,"b":2,"a":1}', "json_duplicate_key", "a", "twice", id="name-twice"),
        pytest.param(
            b'[{"a":{"b":1,"\\u0062":1}}]', "json_duplicate_key", "[0].a.b", "twice",
            id="name-twice-once-escaped",
        ),
        pytest.param(b'{"a":NaN}', "json_number", "a", "not finite", id="nan"),
        pytest.param(b"[Infinity]", "json_number", "[0]", "not finite", id="infinity"),
        pytest.param(b"-Infinity", "json_number", "$", "not finite", id="minus-infinity"),
        pytest.param(b"[1e400]", "json_number", "[0]", "too large", id="float-that-overflows"),
        pytest.param(b"[-1e400]", "json_number", "[0]", "too large", id="float-below"),
        pytest.param(b"[9007199254740992]", "json_number", "[0]", "2**53", id="integer-by-one"),
        pytest.param(b"[-9007199254740992]", "json_number", "[0]", "2**53", id="below-by-one"),
        pytest.param(b"[18446744073709551616]", "json_number", "[0]", "2**53", id="2-to-the-64"),
        pytest.param(b"9" * 100_000, "json_number", "$", "2**53", id="integer-of-100,000-digits"),
        pytest.param(b'{"a":"\\ud800"}', "json_text", "a", "lone surrogate", id="half-a-pair"),
        pytest.param(b'["\\udc00\\ud800"]', "json_text", "[0]", "lone", id="pair-reversed"),
        pytest.param(b'{"\\udfff":1}', "json_text", r'["\udfff"]', "lone", id="half-in-a-name"),
        pytest.param(nested(33), "json_depth", "$", "depth_max=`32`", id="one-level-too-deep"),
        pytest.param(b'{"a":' * 33, "json_depth", "$", "deeply", id="objects-too-deep"),
        pytest.param(nested(200_000), "json_depth", "$", "deeply", id="200,000-brackets"),
        pytest.param(b"[" * 200_000, "json_depth", "$", "deeply", id="200,000-never-closed"),
        pytest.param(b" " * 1_000_001, "body_too_large", "$", "bytes_max=`1000000`", id="large"),
    ],
)  # fmt: skip  # One row, one line.
def test_a_body_that_readers_disagree_about_is_refused(
    body: bytes, code: str, path: str, fact: str
) -> None:
    with pytest.raises(CanonicalError, match="path=") as refused:
        parse(body, bytes_max=BYTES_MAX)

    assert refused.value.code == code
    assert refused.value.path == path
    assert fact in str(refused.value)
    assert str(refused.value).endswith(f"path=`{path}`")


def test_refusals_name_fields_but_never_show_values() -> None:
    for body in (b'{"a":"hunter2\\ud800"}', b'{"a":"hunter2"', b'{"a":"hunter2","a":"hunter2"}'):
        with pytest.raises(CanonicalError) as refused:
            parse(body, bytes_max=BYTES_MAX)
        assert "hunter2" not in str(refused.value)
        assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(nested(32), id="brackets"),
        pytest.param(b'{"a":' * 31 + b"{}" + b"}" * 31, id="objects"),
        pytest.param(json.dumps(["[" * 100, '"[\\"' * 100, "\\"]).encode(), id="brackets-in-text"),
        pytest.param(b"[" + b"[],{}," * 1_000 + b"1]", id="many-side-by-side"),
    ],
)
def test_depth_counts_containers_inside_each_other_and_nothing_else(body: bytes) -> None:
    assert parse(body, bytes_max=BYTES_MAX) == json.loads(body)


def test_text_that_never_ends_is_refused_for_what_it_is() -> None:
    with pytest.raises(CanonicalError) as refused:
        parse(b"[" * 20 + b'"' + b'\\"[' * 100_000 + b"\\", bytes_max=BYTES_MAX)

    assert refused.value.code == "body_not_json"


def test_a_body_of_exactly_the_limit_is_taken() -> None:
    assert parse(b"[1]", bytes_max=3) == [1]
