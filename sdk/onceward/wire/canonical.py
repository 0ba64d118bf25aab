"""Strict JSON in, canonical JSON out.

A digest is worth something only if both sides hash the same value, and JSON readers disagree about
some texts: which of two equal names wins, what ``NaN`` is, whether 2**53 + 1 is exact, what half a
surrogate pair means. Such values are refused on the way in (``parse``) and before they are hashed
(``check``, ``encode``), under one set of rules:

- objects with text names, each once; arrays (a tuple counts as one); text; true, false, null;
- integers within +-(2**53 - 1), the range that every reader keeps exact;
- finite floats. A number written with a fraction or an exponent is a float and stays one however
  large it is: 1e20 is the same double to every reader. What overflows a double is refused;
- text without lone surrogates, and at most ``DEPTH_MAX`` containers inside each other;
- exact types: an enum, a date or a subclass of dict is refused by the name of its type rather than
  converted by a rule that the other side does not know.

The canonical form has no white space, sorts names by code point and keeps types apart: ``1``,
``1.0``, ``true`` and ``"1"`` are four values, and so are ``0.0`` and ``-0.0`` two. It is not RFC
8785, which writes 1.0 as 1 and sorts names by UTF-16 units.

Why it never changes, though digests are kept for years and libraries are not. Names: orjson sorts
their UTF-8 bytes, which is code point order, the order of ``sorted`` on ``str``. Integers have one
decimal form. Text: quote, backslash and control characters have the same escapes in orjson and in
the standard library; all else stands for itself. Floats are the exception: the shortest digits that
give a double back are unique, but whether they are written 1e16 or 1e+16, 1e-5 or 0.00001 is each
library's taste, and orjson promises none. So a value that holds a float anywhere is written by the
standard library, whose floats are Python's ``repr``. Tests hold the two writers against each other
and both against recorded bytes.
"""

import hashlib
import json
import math
from typing import TypeAlias, cast

import orjson

from onceward.wire import json_path, limits, strict_json
from onceward.wire.json_path import Path
from onceward.wire.problems import ProblemCode
from onceward.wire.strict_json import CanonicalError, Refused

__all__ = ["CanonicalError", "Json", "check", "digest", "encode", "first_difference", "parse"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_write_with_floats = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,  # The depth is bounded by then, so no cycle arrives here.
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
).encode


def parse(body: bytes, *, bytes_max: int) -> Json:
    """Return the JSON value that ``body`` spells.

    The time is linear in the size of ``body`` whatever it holds; no nesting exhausts the stack.

    Args:
        body: UTF-8 without a byte order mark.
        bytes_max: The most bytes that ``body`` may have.

    Returns:
        The value; objects are dicts and arrays are lists.

    Raises:
        CanonicalError: ``body`` is too large, is no JSON text, or breaks a rule of this module.
    """
    value = strict_json.read(body, bytes_max=bytes_max)
    check(value)
    return cast("Json", value)


def check(value: object) -> None:
    """Return if ``value`` has a canonical form.

    Raises:
        CanonicalError: It breaks a rule of this module. The message names the rule and the place.
    """
    _has_float(value, None, limits.DEPTH_MAX)


def encode(value: object) -> bytes:
    """Return the canonical bytes of ``value``: equal for equal values, different for others.

    Raises:
        CanonicalError: See ``check``.
    """
    if _has_float(value, None, limits.DEPTH_MAX):
        return _write_with_floats(value).encode("utf-8")
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical bytes of ``value``, as 64 hexadecimal digits.

    Raises:
        CanonicalError: See ``check``.
    """
    return hashlib.sha256(encode(value)).hexdigest()


def first_difference(left: object, right: object) -> str | None:
    """Return where two values first differ in canonical order, or None where they are equal.

    Args:
        left: A value.
        right: Another.

    Returns:
        A path such as ``operations[1].arguments.amount``, without values; ``$`` when the values
        differ as wholes. A name or a position that only one side has is itself the difference.

    Raises:
        CanonicalError: One of the two has no canonical form; see ``check``.
    """
    check(left)
    check(right)
    return _difference(left, right, None)


def _has_float(value: object, path: Path, depth_left: int) -> bool:
    """Check ``value`` and return whether it holds a float; it recurses no deeper than the limit."""
    if type(value) is str:
        _check_text(value, path)
    elif type(value) is int:
        if not -limits.INTEGER_MAX <= value <= limits.INTEGER_MAX:
            raise CanonicalError(ProblemCode.JSON_NUMBER, "integer is beyond 2**53 - 1", path)
    elif value is None or type(value) is bool:
        pass
    elif type(value) is dict or type(value) is list or type(value) is tuple:
        return _container_has_float(value, path, depth_left)
    elif type(value) is float:
        if not math.isfinite(value):
            raise CanonicalError(ProblemCode.JSON_NUMBER, "number is not finite", path)
        return True
    elif type(value) is Refused:
        where = path if value.name is None else (path, value.name)
        raise CanonicalError(value.code, value.fact, where)
    else:
        fact = f"not a json value: type=`{type(value).__qualname__}`"
        raise CanonicalError(ProblemCode.JSON_TYPE, fact, path)
    return False


def _container_has_float(
    value: dict[object, object] | list[object] | tuple[object, ...], path: Path, depth_left: int
) -> bool:
    if depth_left == 0:
        fact = f"nested too deeply: depth_max=`{limits.DEPTH_MAX}`"
        raise CanonicalError(ProblemCode.JSON_DEPTH, fact, path)
    # Found or not, every item is looked at: a float excuses no later item from the check.
    found = False
    if isinstance(value, dict):
        for name, item in value.items():
            found |= _has_float(item, (path, _text_name(name, path)), depth_left - 1)
    else:
        for position, item in enumerate(value):
            found |= _has_float(item, (path, position), depth_left - 1)
    return found


def _text_name(name: object, path: Path) -> str:
    if type(name) is not str:
        fact = f"name is not text: type=`{type(name).__qualname__}`"
        raise CanonicalError(ProblemCode.JSON_TYPE, fact, path)
    _check_text(name, (path, name))
    return name


def _check_text(text: str, path: Path) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Not chained: the error holds the text.
        raise CanonicalError(ProblemCode.JSON_TEXT, "text has a lone surrogate", path) from None


def _difference(left: object, right: object, path: Path) -> str | None:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            if name not in left or name not in right:
                return json_path.render((path, name))
            if found := _difference(left[name], right[name], (path, name)):
                return found
        return None
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        for position, (one, other) in enumerate(zip(left, right, strict=False)):
            if found := _difference(one, other, (path, position)):
                return found
        if len(left) == len(right):
            return None
        return json_path.render((path, min(len(left), len(right))))
    # As bytes, because 1, 1.0 and True are equal to Python, and so are the two zeros.
    return None if encode(left) == encode(right) else json_path.render(path)
