"""Arguments too large to ride along, uploaded before the workflow that names them.

What is uploaded follows from the operations alone, so that the same workflow created again, by
whatever kind of client, has the same definition: every argument object beyond its own bound, then
the largest ones until the request fits its bound.
"""

from collections.abc import Callable, Iterable

import msgspec

from onceward.wire import canonical, codec, limits
from onceward.wire.definitions import OperationDefinition, PayloadRef
from onceward.wire.messages import PayloadStored

ENVELOPE_BYTES_MAX = 16 * limits.KIB
"""More than a key, a label and tags take in the request, however they are escaped."""
UPLOAD_BYTES_MIN = 512
"""Arguments smaller than this are hardly larger than the reference that would replace them."""


def fitted(
    operations: Iterable[OperationDefinition], upload: Callable[[bytes], PayloadStored]
) -> tuple[OperationDefinition, ...]:
    """Return the operations with arguments as payloads wherever they would not fit.

    Args:
        operations: As declared.
        upload: Stores one payload for the workflow to be.

    Raises:
        InvalidError: Arguments are not JSON as every reader would read it.
        ProblemError: Whatever ``upload`` raises.
    """
    declared = list(operations)
    try:
        contents = [canonical.encode(operation.arguments) for operation in declared]
    except canonical.CanonicalError as error:
        raise codec.refusal(error) from None
    # Arguments of their own: what the caller does with its objects afterwards changes nothing.
    fitting = [
        msgspec.structs.replace(operation, arguments=msgspec.json.decode(content))
        for operation, content in zip(declared, contents, strict=True)
    ]
    room_bytes = limits.BODY_BYTES_MAX - ENVELOPE_BYTES_MAX - len(codec.encode(fitting))
    largest_first = sorted(range(len(fitting)), key=lambda at: (-len(contents[at]), at))
    for at in largest_first:
        size = len(contents[at])
        if size < UPLOAD_BYTES_MIN or (size <= limits.ARGUMENTS_BYTES_MAX and room_bytes >= 0):
            break
        stored = upload(contents[at])
        reference = PayloadRef(stored.digest, stored.sha256, stored.size)
        smaller = msgspec.structs.replace(fitting[at], arguments={}, arguments_payload=reference)
        room_bytes += len(codec.encode(fitting[at])) - len(codec.encode(smaller))
        fitting[at] = smaller
    return tuple(fitting)
