"""A wrapper that keeps a secret out of everything that prints.

Logs, f-strings and the variables beside a traceback show ``<secret>``; JSON encoders and pickle
refuse. The text itself leaves through ``reveal`` alone, so that a search for ``reveal`` lists every
place where it can leak.
"""

import hmac
from typing import Generic, NoReturn, TypeVar

Hidden = TypeVar("Hidden", str, bytes)


class Secret(Generic[Hidden]):
    """A string or byte string that shows itself only when asked by name.

    Two secrets compare in time that does not depend on where they differ. A secret has no hash: a
    table that is keyed by it would be searched in leaky time. Key tables by something public.
    """

    __slots__ = ("_hidden",)
    __hash__ = None  # type: ignore[assignment]  # Deliberately unhashable, see above.

    def __init__(self, hidden: Hidden) -> None:
        self._hidden: Hidden = hidden

    def reveal(self) -> Hidden:
        """Return the secret itself."""
        return self._hidden

    def __eq__(self, other: object) -> bool:
        """Compare in constant time; a secret never equals bare text."""
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_as_bytes(self._hidden), _as_bytes(other._hidden))

    def __repr__(self) -> str:
        """Show that there is a secret, and nothing of it."""
        return "<secret>"

    def __format__(self, spec: str) -> str:
        """Show as ``repr`` does whatever the format asks for: its precision would cut, not leak."""
        return repr(self)

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied into a pickle.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a secret cannot be pickled")


def _as_bytes(hidden: str | bytes) -> bytes:
    # A prefix keeps text and bytes apart, so that no secret of one type equals one of the other.
    return b"t" + hidden.encode("utf-8") if isinstance(hidden, str) else b"b" + hidden
