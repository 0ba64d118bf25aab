"""The bytes under which a receipt is stored, compared and given back."""

from onceward.wire import canonical, codec, limits, receipts
from onceward.wire.problems import ProblemCode, problem
from onceward.wire.receipts import Receipt


def receipt_bytes(receipt: Receipt) -> bytes:
    """Return the canonical bytes of ``receipt``.

    Raises:
        InvalidError: It is too large, or holds what JSON readers disagree about.
    """
    try:
        body = receipts.encode(receipt)
    except canonical.CanonicalError as error:
        raise codec.refusal(error) from None
    if len(body) > limits.RECEIPT_BYTES_MAX:
        raise problem(
            ProblemCode.RECEIPT_TOO_LARGE,
            "the receipt is too large: store the result as a payload and name it",
            bytes=len(body),
            bytes_max=limits.RECEIPT_BYTES_MAX,
        )
    return body
