"""JSON text to plain values, losing nothing that must be refused.

The standard library's scanner does the work. It would accept equal names, ``NaN`` and integers of
any size, but asks a hook about each, and knows no paths. So the hooks leave a ``Refused`` in place
of such a value, and the walk that checks all values anyway (``onceward.wire.canonical``) finds it
and knows where it stands. The scanner also recurses, so the depth is counted beforehand, in a loop.
"""

import json
import math
import re
from collections import Counter

from onceward.wire import json_path, limits
from onceward.wire.json_path import Path
from onceward.wire.problems import ProblemCode

_WHITE_SPACE = " \t\n\r"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INTEGER_CHARACTERS_MAX = len(str(-limits.INTEGER_MAX))

# Possessive, so that text without a closing quote is read once to its end and never again.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class CanonicalError(ValueError):
    """JSON readers would disagree about the value. Correct it and send it again.

    Attributes:
        code: The problem code that says so on the wire.
        path: Where, for example ``operations[3].arguments.account``; ``$`` for the whole. It holds
            names of fields, never values.
    """

    def __init__(self, code: ProblemCode, fact: str, path: Path = None) -> None:
        self.code = code
        self.path = json_path.render(path)
        super().__init__(f"{fact}: path=`{self.path}`")


class Refused:
    """Stands in a tree where the text had something that may not be taken.

    Attributes:
        code: The problem code that says so on the wire.
        fact: The rule that was broken.
        name: For an object with equal names, the first that occurs twice.
    """

    def __init__(self, code: ProblemCode, fact: str, name: str | None = None) -> None:
        self.code = code
        self.fact = fact
        self.name = name


def read(body: bytes, *, bytes_max: int) -> object:
    """Return what ``body`` spells, with a ``Refused`` wherever a rule about one value was broken.

    Args:
        body: UTF-8 without a byte order mark.
        bytes_max: The most bytes that ``body`` may have.

    Returns:
        A value still to be checked.

    Raises:
        CanonicalError: ``body`` is too large, is no JSON text, or is nested too deeply.
    """
    if len(body) > bytes_max:
        fact = f"body is too large: size=`{len(body)}` bytes_max=`{bytes_max}`"
        raise CanonicalError(ProblemCode.BODY_TOO_LARGE, fact)
    if body.startswith(_BYTE_ORDER_MARK):
        raise _not_json("begins with a byte order mark")
    try:
        text = body.decode("utf-8").strip(_WHITE_SPACE)
    except UnicodeDecodeError as error:
        raise _not_json(f"is not utf-8 at byte {error.start}") from None
    if not text:
        raise _not_json("is empty")
    if _is_too_deep(body):
        fact = f"nested too deeply: depth_max=`{limits.DEPTH_MAX}`"
        raise CanonicalError(ProblemCode.JSON_DEPTH, fact)
    value: object
    try:
        value, end = _scanner.raw_decode(text)
    except json.JSONDecodeError as error:
        # Not chained: the error holds the whole body.
        raise _not_json(f"is not json at line {error.lineno}, column {error.colno}") from None
    if end != len(text):
        raise _not_json("goes on after its value")
    return value


def _not_json(fact: str) -> CanonicalError:
    return CanonicalError(ProblemCode.BODY_NOT_JSON, f"body {fact}")


def _is_too_deep(body: bytes) -> bool:
    if body.count(b"[") + body.count(b"{") <= limits.DEPTH_MAX:
        return False
    depth = 0
    for bracket in _TEXT.sub(b"", body).translate(None, _NOT_BRACKETS):
        if bracket in b"[{":
            depth += 1
            if depth > limits.DEPTH_MAX:
                return True
        else:
            depth -= 1
    return False


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | Refused:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    occurrences = Counter(name for name, _ in pairs)
    name = next(name for name, count in occurrences.items() if count > 1)
    return Refused(ProblemCode.JSON_DUPLICATE_KEY, "name occurs twice in one object", name)


def _integer(digits: str) -> int | Refused:
    # The length is looked at first: converting thousands of digits takes quadratic time.
    if len(digits) <= _INTEGER_CHARACTERS_MAX:
        return int(digits)
    return Refused(ProblemCode.JSON_NUMBER, "integer is beyond 2**53 - 1")


def _float(digits: str) -> float | Refused:
    number = float(digits)
    if math.isfinite(number):
        return number
    return Refused(ProblemCode.JSON_NUMBER, "number is too large for a float")


def _constant(_: str) -> Refused:
    return Refused(ProblemCode.JSON_NUMBER, "number is not finite")


_scanner = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)
