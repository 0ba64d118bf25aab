"""Pages: where a long workflow keeps its finished operations, so that snapshots stay small.

Once ``FINISHED_PER_PAGE`` operations are finished, they leave the snapshot for a page object that
every later snapshot names. A page is written once. Its reference says which operations it holds,
as a bitmap, so that only a question about one of them reads it.
"""

import msgspec
from msgspec import Struct

FINISHED_PER_PAGE = 256


class Finished(Struct, frozen=True, array_like=True):
    """A final operation, by the revision that carries its full record."""

    revision: int
    succeeded: bool
    suspected: bool = False


Content = dict[int, Finished]
"""What lies on a page: final operations, by index."""


class PageRef(Struct, frozen=True, array_like=True):
    """Which operations lie on a page, all of them succeeded.

    Attributes:
        digest: Of the page object's sealed bytes; its name.
        first: The lowest index it holds.
        members: Bit ``i`` (least significant first) is set if it holds index ``first + i``.
        count: How many it holds.
    """

    digest: str
    first: int
    members: bytes
    count: int

    def holds(self, at: int) -> bool:
        """Return whether the operation at index ``at`` lies on this page."""
        bit = at - self.first
        return 0 <= bit < 8 * len(self.members) and bool(self.members[bit // 8] >> bit % 8 & 1)


def reference(digest: str, content: Content) -> PageRef:
    """Return the reference to a page with ``content`` (not empty) under the name ``digest``."""
    first = min(content)
    members = bytearray((max(content) - first) // 8 + 1)
    for at in content:
        members[(at - first) // 8] |= 1 << (at - first) % 8
    return PageRef(digest=digest, first=first, members=bytes(members), count=len(content))


def overflow(finished: Content, pages: tuple[PageRef, ...]) -> Content:
    """Return what of ``finished`` should move to a page now; empty while it is too little.

    An operation that was given up or whose success is in doubt stays: a person may look for it.
    One that came back from its page, with new evidence, stays as well.
    """
    plain = sorted(
        at
        for at, each in finished.items()
        if each.succeeded and not each.suspected and not any(page.holds(at) for page in pages)
    )
    if len(plain) < FINISHED_PER_PAGE:
        return {}
    return {at: finished[at] for at in plain[:FINISHED_PER_PAGE]}


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Content)


def encode(content: Content) -> bytes:
    """Return the bytes of a page, to seal."""
    return _encoder.encode(content)


def decode(body: bytes) -> Content:
    """Return what ``encode`` wrote."""
    return _decoder.decode(body)
