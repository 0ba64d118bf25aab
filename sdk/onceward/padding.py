"""Sizes that tell little, and how a plaintext is filled up to one.

    u32 length | plaintext | zeros

Whoever reads a bucket sees sizes. Up to 16 KiB they grow in steps of 1 KiB; above, in eighths of a
power of two, so that padding costs at most 12.5 % and a size gives away three bits below its
magnitude. Index rows, of which a listing shows thousands side by side, all have one size that the
caller chooses.
"""

from struct import Struct

from onceward.wire import limits

STEP_BYTES = limits.KIB
PLAINTEXT_BYTES_MAX = 2 * limits.PAYLOAD_BYTES_MAX
"""No object is larger than a payload and what goes with it."""

_LENGTH = Struct(">I")

LENGTH_BYTES = _LENGTH.size

assert PLAINTEXT_BYTES_MAX < 2 ** (8 * LENGTH_BYTES), "the length must fit before the plaintext"


def padded_bytes(plaintext_bytes: int) -> int:
    """Return the size to which ``plaintext_bytes`` bytes, and their length, are padded.

    Args:
        plaintext_bytes: From 0 to ``PLAINTEXT_BYTES_MAX``.
    """
    framed = LENGTH_BYTES + plaintext_bytes
    step = max(STEP_BYTES, (1 << (framed - 1).bit_length() - 1) // 8)
    return -(-framed // step) * step


def pad(plaintext: bytes, size: int | None = None) -> bytes:
    """Return ``plaintext`` with its length before it and zeros behind it.

    Args:
        plaintext: At most ``PLAINTEXT_BYTES_MAX`` bytes.
        size: Bytes of the result; by default what ``padded_bytes`` says.

    Raises:
        ValueError: The plaintext is too large, at all or for ``size``.
    """
    if len(plaintext) > PLAINTEXT_BYTES_MAX:
        raise ValueError(f"plaintext is too large: bytes_max=`{PLAINTEXT_BYTES_MAX}`")
    if size is None:
        size = padded_bytes(len(plaintext))
    zeros = size - LENGTH_BYTES - len(plaintext)
    if zeros < 0:
        raise ValueError(f"plaintext does not fit: bytes_max=`{size - LENGTH_BYTES}`")
    return _LENGTH.pack(len(plaintext)) + plaintext + bytes(zeros)


def unpad(padded: bytes) -> bytes:
    """Return the plaintext that ``pad`` filled up to ``padded``.

    Raises:
        ValueError: ``pad`` makes no such bytes: the length points beyond them, or what follows the
            plaintext is not all zeros.
    """
    if len(padded) < LENGTH_BYTES:
        raise ValueError("padding is damaged")
    (length,) = _LENGTH.unpack_from(padded)
    end = LENGTH_BYTES + length
    if end > len(padded) or padded.count(0, end) != len(padded) - end:
        raise ValueError("padding is damaged")
    return padded[LENGTH_BYTES:end]
