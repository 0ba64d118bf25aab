"""Bytes to shapes and back, for JSON bodies on the wire."""

import re
from typing import TypeVar

import msgspec

from onceward.wire import canonical, json_path, limits
from onceward.wire.problems import ProblemCode, problem

T = TypeVar("T")

_encoder = msgspec.json.Encoder()

_PLACE = re.compile(
    r"(?P<fact>.*) - at `(?P<path>(?:key in )?\$(?:\.\w+|\[\d+\]|\[\.\.\.\])*)`", re.DOTALL
)
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)


def encode(shape: object) -> bytes:
    """Return ``shape`` as JSON."""
    return _encoder.encode(shape)


def decode(body: bytes, shape: type[T], *, bytes_max: int = limits.BODY_BYTES_MAX) -> T:
    """Return ``body`` as ``shape``; strict in what it takes.

    Raises:
        InvalidError: The body is too large, is not JSON as every reader would read it, or does
            not have the shape. The message names the place, never a value.
    """
    return convert(parse(body, bytes_max=bytes_max), shape)


def parse(body: bytes, *, bytes_max: int = limits.BODY_BYTES_MAX) -> canonical.Json:
    """Return ``body`` as plain JSON values.

    Raises:
        InvalidError: See ``decode``.
    """
    try:
        return canonical.parse(body, bytes_max=bytes_max)
    except canonical.CanonicalError as error:
        raise refusal(error) from None


def convert(value: object, shape: type[T]) -> T:
    """Return plain JSON values as ``shape``.

    Raises:
        InvalidError: ``body_invalid``, naming the field and what was expected there.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        # Not chained: the error may hold the value.
        raise problem(ProblemCode.BODY_INVALID, without_values(str(error))) from None


def without_values(message: str, root: str = json_path.ROOT) -> str:
    """Return what a validation error of msgspec says, without any value it quotes.

    Args:
        message: Such as ``Invalid enum value 'x' - at `$.role```.
        root: What stands for the whole value in the path that is returned.

    Returns:
        Such as ``invalid enum value: path=`role```. Names of unknown fields stay, cut and escaped.
    """
    placed = _PLACE.fullmatch(message)
    fact, path = (placed["fact"], placed["path"]) if placed else (message, json_path.ROOT)
    unknown = _UNKNOWN_FIELD.fullmatch(fact)
    if unknown:
        fact = f"object contains unknown field `{json_path.render((None, unknown['name']))}`"
    elif not fact.startswith(("Expected ", "Object missing required field ")):
        fact = re.split("['\"]", fact, maxsplit=1)[0].rstrip()  # What is quoted is a value.
    if root != json_path.ROOT:
        path = path.replace(json_path.ROOT, root, 1)
    else:
        path = path.replace("$.", "", 1)
    return f"{fact[:1].lower()}{fact[1:]}: path=`{path}`"


def refusal(error: canonical.CanonicalError) -> Exception:
    """Return the problem that says what a canonical error says."""
    return problem(error.code, str(error))
