"""Several byte strings as one, so that no two lists of fields give the same bytes.

    u32 length | field | u32 length | field | ...

Whatever is hashed or authenticated as a whole is framed first: without lengths, ``("ab", "c")`` and
``("a", "bc")`` would be the same message. The number of fields needs no mark, since a list that is
longer also gives more bytes than any of its beginnings.
"""

from struct import Struct

_LENGTH = Struct(">I")


def frame(*fields: bytes) -> bytes:
    """Return the fields, each behind its length as a big-endian u32.

    Args:
        fields: Up to 4 GiB - 1 each; any number, none included.

    Returns:
        Bytes that determine the list of fields.
    """
    return b"".join([part for field in fields for part in (_LENGTH.pack(len(field)), field)])
