"""The two forms in which a tool may be written, told apart when it is declared.

    def upload(call): ...                                               one argument
    def upload(arguments, operation_id, idempotency_key, timeout): ...  four, by position

Either may be ``async``. The signature alone decides, at declaration: a function that can be called
with one argument takes the call, one that can be called with four takes the four. A function that
fits both, or neither, is refused there and then; nothing is guessed when an effect is at stake.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from onceward.call import Call

Callback = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Perform:
    """A callback in the one form that the runner knows.

    Attributes:
        start: Calls it: gives its answer, or what will give the answer once awaited.
        is_async: Which of the two.
    """

    start: Callable[[Call], Any]
    is_async: bool


def perform(callback: Callback) -> Perform:
    """Return ``callback`` as something to call with a ``Call``.

    Raises:
        TypeError: Its signature fits neither form, or both.
    """
    is_async = inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(
        getattr(callback, "__call__", None)  # noqa: B004 - an object whose call is async counts too
    )
    takes_call, takes_four = _fits(callback, 1), _fits(callback, 4)
    if takes_call == takes_four:
        fits = "both forms" if takes_call else "neither form"
        raise TypeError(
            f"a tool takes (call) or (arguments, operation_id, idempotency_key, timeout_seconds); "
            f"this signature fits {fits}: function=`{_name(callback)}`"
        )
    return Perform(callback if takes_call else _spread(callback), is_async)


def _fits(callback: Callback, count: int) -> bool:
    try:
        inspect.signature(callback).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def _spread(callback: Callback) -> Callable[[Call], object]:
    def start(call: Call) -> object:
        timeout_seconds = call.timeout / timedelta(seconds=1)
        return callback(
            dict(call.arguments), call.operation_id, call.idempotency_key, timeout_seconds
        )

    return start


def _name(callback: Callback) -> str:
    return str(getattr(callback, "__qualname__", type(callback).__qualname__))
