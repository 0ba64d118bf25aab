"""Text from elsewhere, made safe to show on a terminal.

Labels, keys, evidence and effect ids come from agents and destinations. A terminal obeys escape
sequences in what it is shown: such a text could hide a line, or make one operation look like
another at the moment of a decision. So every control character, and every character that changes
the direction of writing, is shown as its code instead.
"""

import re

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def printable(text: str) -> str:
    r"""Return ``text`` with nothing in it that a terminal obeys: an escape shows as ``\x1b``."""
    return _UNSAFE.sub(_code, text)


def printable_json(text: str) -> str:
    """Return JSON text that means the same and holds nothing that a terminal obeys.

    Such characters occur in JSON only inside strings, but for the line ends between its parts.
    """
    return _UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else _json_code(found), text)


def _code(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


def _json_code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
