"""From what a tool did to what is recorded of it.

    returned a receipt for this operation   that receipt
    raised NotExecuted                      confirmed_not_executed, with its reason
    raised anything else                    unknown, with the name of the exception's class
    returned anything else                  unknown: an error after the effect is no failure of it
    said nothing in time                    unknown

The text of an exception is never recorded: it may hold an argument or a secret.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias, cast

import msgspec

from onceward.call import Call
from onceward.errors import NotExecuted
from onceward.wire.limits import REASON_CHARACTERS_MAX
from onceward.wire.receipts import Outcome, Receipt


@dataclass(frozen=True, slots=True)
class Returned:
    """The tool came back with ``value``."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """The tool raised; ``error`` is looked at for its class alone."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The tool said nothing in time; nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class NotCalled:
    """The tool was not called, and will not be."""


Answer: TypeAlias = Returned | Raised
"""What a tool does."""
Settled: TypeAlias = Answer | TimedOut | NotCalled
"""How a call comes to its end."""


def receipt_of(call: Call, answer: Answer | TimedOut) -> Receipt:
    """Return the receipt that a tool's answer amounts to.

    The receipt is complete but for its result, which ``results.pack`` makes fit to send.
    """
    if isinstance(answer, TimedOut):
        return call.unknown(f"timed out after {call.timeout // timedelta(milliseconds=1)} ms")
    if isinstance(answer, Raised):
        if isinstance(answer.error, NotExecuted):
            return call.not_executed(answer.error.reason)
        return call.unknown(f"the tool raised {type(answer.error).__name__}")
    value = answer.value
    receipt = value if isinstance(value, Receipt) else _from_object(call, value)
    if receipt is None or not isinstance(receipt.outcome, Outcome):
        return call.unknown(f"the tool returned no receipt: type=`{type(value).__name__}`")
    if receipt.operation_id != call.operation_id:
        return call.unknown("the tool returned a receipt of another operation")
    return receipt


def _from_object(call: Call, value: object) -> Receipt | None:
    """Return the receipt that a plain callback spelled as a dict; None where it is none.

    One that names no operation speaks of the one it was called for. Everything but the result is
    held to the shape of a receipt; the result is whatever the tool says it is.
    """
    if not isinstance(value, dict):
        return None
    fields = {"operation_id": call.operation_id, **cast("dict[object, Any]", value)}
    result = fields.pop("result", None)
    reason = fields.get("reason")
    if isinstance(reason, str):
        fields["reason"] = reason[:REASON_CHARACTERS_MAX]
    try:
        receipt = msgspec.convert(fields, Receipt)
    except msgspec.ValidationError:
        # Also drops the validation error, whose text may hold part of the value.
        return None
    return msgspec.structs.replace(receipt, result=result)
