"""What a tool reports about its one intended effect.

A receipt says what is known, never what is hoped: ``confirmed_succeeded``, the effect is there;
``confirmed_not_executed``, it is not and will not come; ``unknown``, nobody can tell. A query's
receipt says the same of the destination: found, absent, could not tell.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from onceward.wire import canonical, limits
from onceward.wire.definitions import PayloadRef, Sha256
from onceward.wire.identifiers import OPERATION_ID_PATTERN


class Outcome(StrEnum):
    """The three things that can be known."""

    SUCCEEDED = "confirmed_succeeded"
    NOT_EXECUTED = "confirmed_not_executed"
    UNKNOWN = "unknown"


class Assurance(StrEnum):
    """Who says so. Nobody can prove an arbitrary callback truthful."""

    HOST_REPORTED = "host_reported"
    OPERATOR_ATTESTED = "operator_attested"


class ResultOmitted(Struct, frozen=True, forbid_unknown_fields=True):
    """What is left of a result too large to keep."""

    sha256: Sha256
    size: Annotated[int, Meta(ge=0)]


class Receipt(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The tool's word on one operation.

    Attributes:
        outcome: What is known.
        operation_id: The operation it speaks of; a receipt for another one is refused.
        effect_id: The destination's own name for the effect, where it has one.
        result: JSON value handed to whoever asked for the operation.
        result_payload: A result too large to ride along.
        result_omitted: Size and digest of a result too large to keep at all.
        reason: Why the outcome is not a success, in words; never an argument or a secret.
    """

    outcome: Outcome
    operation_id: Annotated[str, Meta(pattern=OPERATION_ID_PATTERN)]
    effect_id: Annotated[str, Meta(max_length=limits.EFFECT_ID_CHARACTERS_MAX)] | None = None
    result: Any = None
    result_payload: PayloadRef | None = None
    result_omitted: ResultOmitted | None = None
    reason: Annotated[str, Meta(max_length=limits.REASON_CHARACTERS_MAX)] | None = None


def encode(receipt: Receipt) -> bytes:
    """Return the canonical bytes under which a receipt is stored, compared and given back.

    Raises:
        CanonicalError: The result holds what JSON readers disagree about.
    """
    return canonical.encode(msgspec.to_builtins(receipt))


def decode(body: bytes) -> Receipt:
    """Return the receipt that ``encode`` wrote."""
    return msgspec.json.decode(body, type=Receipt)
