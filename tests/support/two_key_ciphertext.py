"""An attacker who makes one AES-GCM ciphertext that is authentic under two keys.

The tag of AES-GCM is linear in every ciphertext block, under each key with another factor. So one
block can be solved for, such that the tags under two known keys are the same. The arithmetic is of
NIST SP 800-38D: blocks are polynomials over GF(2), reduced by x^128 + x^7 + x^2 + x + 1, and the
first bit of a block is the coefficient of x^0.
"""

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

BLOCK_BYTES = 16
_REDUCTION = 0xE1 << 120
_ONE = 1 << 127


def key_stream(key: bytes, nonce: bytes, size: int) -> bytes:
    """Return the first ``size`` bytes that AES-GCM adds to a plaintext."""
    blocks = -(-size // BLOCK_BYTES)
    counters = b"".join(nonce + (2 + block).to_bytes(4, "big") for block in range(blocks))
    return _encipher(key, counters)[:size]


def with_equal_tags(
    keys: tuple[bytes, bytes], nonce: bytes, aad: bytes, ciphertext: bytes, free_block: int
) -> bytes:
    """Return ``ciphertext`` and its tag, authentic under both keys.

    Args:
        keys: Two AES keys, known to the attacker.
        nonce: 12 bytes.
        aad: Additional data.
        ciphertext: A whole number of blocks.
        free_block: Which of its blocks may be replaced.
    """
    at = free_block * BLOCK_BYTES
    before, after = ciphertext[:at], ciphertext[at + BLOCK_BYTES :]
    with_gap = before + bytes(BLOCK_BYTES) + after
    power = len(ciphertext) // BLOCK_BYTES - free_block + 1
    first, second = (_hash_key(key) for key in keys)
    difference = _tag(keys[0], nonce, aad, with_gap) ^ _tag(keys[1], nonce, aad, with_gap)
    factor = _power(first, power) ^ _power(second, power)
    solution = _multiply(difference, _power(factor, 2**128 - 2))  # The power inverts.
    solved = before + solution.to_bytes(BLOCK_BYTES, "big") + after
    return solved + _tag(keys[0], nonce, aad, solved).to_bytes(BLOCK_BYTES, "big")


def _encipher(key: bytes, blocks: bytes) -> bytes:
    # ECB is the bare block cipher, of which the other modes are made.
    return Cipher(AES(key), ECB()).encryptor().update(blocks)  # noqa: S305  # See above.


def _hash_key(key: bytes) -> int:
    return int.from_bytes(_encipher(key, bytes(BLOCK_BYTES)), "big")


def _tag(key: bytes, nonce: bytes, aad: bytes, ciphertext: bytes) -> int:
    lengths = (len(aad) * 8).to_bytes(8, "big") + (len(ciphertext) * 8).to_bytes(8, "big")
    message = aad + bytes(-len(aad) % BLOCK_BYTES) + ciphertext + lengths
    hashed, factor = 0, _hash_key(key)
    for at in range(0, len(message), BLOCK_BYTES):
        block = int.from_bytes(message[at : at + BLOCK_BYTES], "big")
        hashed = _multiply(hashed ^ block, factor)
    return hashed ^ int.from_bytes(_encipher(key, nonce + b"\0\0\0\1"), "big")


def _multiply(left: int, right: int) -> int:
    product = 0
    for bit in range(127, -1, -1):
        if left >> bit & 1:
            product ^= right
        right = right >> 1 ^ (_REDUCTION if right & 1 else 0)
    return product


def _power(base: int, exponent: int) -> int:
    result = _ONE
    while exponent:
        if exponent & 1:
            result = _multiply(result, base)
        base = _multiply(base, base)
        exponent >>= 1
    return result
