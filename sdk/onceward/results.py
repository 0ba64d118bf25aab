"""A result on its way into a receipt and out of it again.

    receipt with its result <= 64 KiB      rides along
    result <= 16 MiB                       a payload object, uploaded first
    larger                                 left out, with its size and SHA-256
    not JSON                               left out, with the reason

What cannot be kept never costs the success: the effect is there, and that is what is recorded.
"""

import hashlib
from collections.abc import Callable

import msgspec

from onceward.wire import canonical, codec, limits, receipts
from onceward.wire.canonical import CanonicalError
from onceward.wire.definitions import PayloadRef
from onceward.wire.messages import PayloadStored
from onceward.wire.problems import DamagedError, ProblemCode
from onceward.wire.receipts import Receipt, ResultOmitted

Upload = Callable[[bytes], PayloadStored]
Download = Callable[[str], bytes]


def tidy(receipt: Receipt) -> Receipt:
    """Return ``receipt`` with whatever no controller would take put right, and why.

    Its outcome stays. Needs no controller, so that what it returns can also be kept on disk.
    """
    notes: list[str] = []
    effect_id, reason, result = receipt.effect_id, receipt.reason, receipt.result
    if effect_id is not None:
        effect_id = _text(effect_id, limits.EFFECT_ID_CHARACTERS_MAX)
        if effect_id != receipt.effect_id:
            notes.append("the effect id was no text of at most 256 characters")
    if reason is not None:
        reason = _text(reason, limits.REASON_CHARACTERS_MAX)
    if result is not None:
        try:
            # There and back, so that the value is from the start what a reuse will give: a tuple
            # is an array, and what the tool does with its objects afterwards changes nothing. In
            # a request it stands two levels down, and only so deep may the whole be.
            ((result,),) = msgspec.json.decode(canonical.encode([[result]]))
        except CanonicalError as error:
            result = None
            notes.append(f"the result is not JSON and was left out: {error.code}")
    words = "; ".join([*notes, *([] if reason is None else [reason])])
    return msgspec.structs.replace(
        receipt,
        effect_id=effect_id,
        reason=words[: limits.REASON_CHARACTERS_MAX] or None,
        result=result,
    )


def pack(receipt: Receipt, upload: Upload) -> Receipt:
    """Return a tidy receipt with its result where it fits.

    Args:
        receipt: From ``tidy``.
        upload: Stores a payload of the workflow; called for a large result only.

    Raises:
        ProblemError: Whatever ``upload`` raises; the receipt is then as it was.
    """
    if receipt.result is None or _fits(receipt):
        return receipt
    content = canonical.encode(receipt.result)
    if len(content) > limits.PAYLOAD_BYTES_MAX:
        omitted = ResultOmitted(hashlib.sha256(content).hexdigest(), len(content))
        return msgspec.structs.replace(receipt, result=None, result_omitted=omitted)
    stored = upload(content)
    reference = PayloadRef(stored.digest, stored.sha256, stored.size)
    return msgspec.structs.replace(receipt, result=None, result_payload=reference)


def result_of(receipt: Receipt, download: Download) -> object:
    """Return the result that a receipt speaks of.

    Returns:
        The JSON value; for one too large to keep the ``ResultOmitted`` that stands for it.

    Raises:
        DamagedError: The payload is not what was stored.
        ProblemError: Whatever ``download`` raises.
    """
    if receipt.result_payload is not None:
        return read_payload(receipt.result_payload, download)
    return receipt.result if receipt.result_omitted is None else receipt.result_omitted


def read_payload(reference: PayloadRef, download: Download) -> object:
    """Return the JSON value of a payload.

    Raises:
        DamagedError: The content is not what the reference speaks of.
        InvalidError: The content is not JSON.
        ProblemError: Whatever ``download`` raises.
    """
    content = download(reference.digest)
    if hashlib.sha256(content).hexdigest() != reference.sha256:
        raise DamagedError(
            ProblemCode.INTEGRITY,
            f"payload is not what was stored: digest=`{reference.digest}`",
        )
    return codec.parse(content, bytes_max=limits.PAYLOAD_BYTES_MAX)


def _fits(receipt: Receipt) -> bool:
    # The canonical bytes cost ten times as much, and differ only in how floats and control
    # characters are spelled: by less than half, so that most receipts need no second look.
    if len(codec.encode(receipt)) <= limits.RECEIPT_BYTES_MAX // 2:
        return True
    return len(receipts.encode(receipt)) <= limits.RECEIPT_BYTES_MAX


def _text(value: object, characters_max: int) -> str:
    # Half a surrogate pair has no bytes; a question mark is what is left of it.
    return str(value)[:characters_max].encode("utf-8", "replace").decode("utf-8")
