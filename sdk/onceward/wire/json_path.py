"""Where a value stands inside a JSON document, in words that are safe to log.

    operations[3].arguments.account        names and positions
    arguments["user name"]                 a name that is no plain word is quoted, and cut if long
    $                                      the document itself

A path holds names, never values. It is built backwards, as nested pairs ``(path of the parent, name
or position)``, so that a walk which finds nothing wrong pays one small tuple for each container.
"""

import re
from typing import Final, TypeAlias

Path: TypeAlias = "tuple[Path, str | int] | None"
"""None is the document itself."""

ROOT: Final = "$"
NAME_CHARACTERS_MAX = 64
"""Names longer than this are cut: whoever sends a document also chooses its names."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def render(path: Path) -> str:
    """Return ``path`` as printable ASCII."""
    steps: list[str | int] = []
    while path is not None:
        path, step = path
        steps.append(step)
    return "".join(_rendered(step) for step in reversed(steps)).removeprefix(".") or ROOT


def _rendered(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    name = step if len(step) <= NAME_CHARACTERS_MAX else step[:NAME_CHARACTERS_MAX] + "..."
    if _PLAIN.fullmatch(name):
        return f".{name}"
    # Whatever is not printable ASCII, lone surrogates included, becomes an escape.
    return '["' + "".join(_escaped(character) for character in name) + '"]'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isascii() and character.isprintable():
        return character
    return f"\\u{ord(character):04x}"
