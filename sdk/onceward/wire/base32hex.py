"""Bytes as lowercase base32hex without padding: the alphabet of names, ids and tokens.

Digits then letters keep the order of the bytes (RFC 4648, section 7), one case survives every store
and file system, and neither ``-`` nor ``_`` occurs, so that both may separate.
"""

import base64
import binascii

ALPHABET = "0123456789abcdefghijklmnopqrstuv"


def encode(data: bytes) -> str:
    """Return ``data`` as text: 8 characters for 5 bytes, rounded up to a whole character."""
    return base64.b32hexencode(data).decode("ascii").rstrip("=").lower()


def decode(text: str) -> bytes:
    """Return the bytes that ``encode`` turns into exactly ``text``.

    Raises:
        ValueError: ``encode`` gives that text for no bytes: another alphabet or case, a length that
            cannot be, or bits beyond the last byte that are not zero.
    """
    try:
        data = base64.b32hexdecode(text.upper() + "=" * (-len(text) % 8))
    except binascii.Error:
        data = b""
    if encode(data) != text:
        raise ValueError("not lowercase base32hex without padding")
    return data
