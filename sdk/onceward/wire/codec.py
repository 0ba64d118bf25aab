"""Bytes to shapes and back, for JSON bodies on the wire."""

from typing import Any, TypeVar

import msgspec

from onceward.wire import canonical, limits
from onceward.wire.problems import ProblemCode, problem

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


def encode(shape: Any) -> bytes:
    """Return ``shape`` as JSON."""
    return _encoder.encode(shape)


def decode(body: bytes, shape: type[T], *, bytes_max: int = limits.BODY_BYTES_MAX) -> T:
    """Return ``body`` as ``shape``; strict in what it takes.

    Raises:
        InvalidError: The body is too large, is not JSON as every reader would read it, or does
            not have the shape. The message names the place, never a value.
    """
    return convert(parse(body, bytes_max=bytes_max), shape)


def parse(body: bytes, *, bytes_max: int = limits.BODY_BYTES_MAX) -> Any:
    """Return ``body`` as plain JSON values.

    Raises:
        InvalidError: See ``decode``.
    """
    try:
        return canonical.parse(body, bytes_max=bytes_max)
    except canonical.CanonicalError as error:
        raise refusal(error) from None


def convert(value: Any, shape: type[T]) -> T:
    """Return plain JSON values as ``shape``.

    Raises:
        InvalidError: ``body_invalid``, naming the field and what was expected there.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise problem(ProblemCode.BODY_INVALID, str(error)) from None


def refusal(error: canonical.CanonicalError) -> Exception:
    """Return the problem that says what a canonical error says."""
    return problem(error.code, str(error))
