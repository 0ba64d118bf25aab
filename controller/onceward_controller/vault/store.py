"""The store: where sealed objects lie, and the four ways in which a write can fail.

All truth goes through ``create``: a name is written once and its bytes are never replaced by other
bytes. Put-if-absent is the only condition asked of a store (``If-None-Match: *`` on S3, a primary
key in SQLite, a dict in memory), and it leaves no lock behind that could go stale. ``put`` and
``delete`` are for index rows and hints, which may be lost; ``blank`` takes the content of an object
away without ever freeing its name.

Names are ASCII, ``0-9 a-z`` and ``/``, one to 1,000 bytes long, neither beginning nor ending in
``/``, and no name is a folder of another (``a`` beside ``a/b``): stores differ on everything
outside that. Every answer carries the store's own time, from which leases are judged.

Each call is one try. Sending again after an unknown outcome is the caller's rule to apply, because
only the caller can tell its own bytes from another's.
"""

from typing import Protocol

import msgspec

NAME_BYTES_MAX = 1000
"""Longest name a caller may use, in bytes; S3 allows 1,024 and the difference is for a prefix."""

PAGE_NAMES_MAX = 1000
"""Most names in one page: S3 gives no more in one answer."""


class StoreError(Exception):
    """A call that did not do what was asked; the subclass says what is true and what to do."""


class ConflictError(StoreError):
    """The name is taken, and not by this call: read and decide again."""


class OutcomeUnknownError(StoreError):
    """We may or may not have written, and may yet: create the same bytes again, or read first.

    A read that shows nothing proves nothing, since a delayed write can still land.
    """


class UnavailableError(StoreError):
    """Nothing happened: make the same call later."""


class RefusedError(StoreError):
    """Nothing happened and nothing will: a person must act, and the message says how."""


class Stored(msgspec.Struct, frozen=True):
    """One object as it was read.

    Attributes:
        body: The whole content; empty when the object was blanked (or created empty).
        time_ms: The store's clock when it answered (not when the object was written), Unix time in
            milliseconds.
    """

    body: bytes
    time_ms: int


class Page(msgspec.Struct, frozen=True):
    """One answer to a listing.

    Attributes:
        names: Names in byte order.
        time_ms: The store's clock when it answered, Unix time in milliseconds.
        more: Whether names may follow; then ask again with ``after`` set to the last of these.
    """

    names: tuple[str, ...]
    time_ms: int
    more: bool


class Store(Protocol):
    """A flat map from names to bytes in which a name can be taken once.

    Safe to call from many threads. Every method may raise ``UnavailableError`` and
    ``RefusedError``; those that write may also raise ``OutcomeUnknownError``. A read never does.
    """

    def create(self, name: str, body: bytes) -> int:
        """Store ``body`` under a name that nothing has.

        Once this returns, the object is durable, every later ``get`` and ``list`` shows it, and no
        other ``create`` of this name has succeeded or ever will.

        Args:
            name: A name that was never used.
            body: The content, 0 bytes to 16 MiB.

        Returns:
            The store's clock, in milliseconds, when it answered.

        Raises:
            ConflictError: The name is taken; its content is as it was.
            OutcomeUnknownError: The object may exist now or later.
            UnavailableError: The object was not created.
            RefusedError: The object was not created, and a person must act.
        """
        ...

    def get(self, name: str) -> Stored | None:
        """Return what is stored under ``name``, or None when the name is free.

        None is an answer of the store itself; a store that cannot be asked raises.

        Raises:
            UnavailableError: The store could not be asked, or its answer broke off.
            RefusedError: The store will not answer until a person acts.
        """
        ...

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        """Return names that begin with ``prefix`` and come strictly after ``after``, in byte order.

        Every object created before the call is covered; one created or deleted meanwhile may be
        missing or shown. A page may hold fewer than ``limit`` names although more follow.

        Args:
            prefix: The beginning of the names, as text (it need not end at a ``/``); may be empty.
            after: The name to start behind; need not exist. Empty means from the start.
            limit: The most names wanted, 1 to 1,000.

        Raises:
            UnavailableError: The store could not be asked, or its answer broke off.
            RefusedError: The store will not answer until a person acts.
        """
        ...

    def put(self, name: str, body: bytes) -> int:
        """Store ``body`` under ``name``, whatever was there; for index rows and hints only.

        Once this returns, the object is durable and later reads show this body or a newer one.

        Returns:
            The store's clock, in milliseconds, when it answered.

        Raises:
            OutcomeUnknownError: Either body may be there, and may change yet.
            UnavailableError: What was there is there.
            RefusedError: What was there is there, and a person must act.
        """
        ...

    def blank(self, name: str) -> None:
        """Replace the content of ``name`` by nothing; the name stays taken for ever.

        Once this returns, ``get`` answers an empty body, ``list`` shows the name and ``create`` of
        it conflicts, whether or not it existed before. Doing it again changes nothing.

        Raises:
            OutcomeUnknownError: The content may be there or gone: blank it again.
            UnavailableError: The content is there.
            RefusedError: The content is there, and a person must act.
        """
        ...

    def delete(self, name: str) -> None:
        """Remove ``name``; for index rows and hints only, since it frees the name.

        Once this returns, ``get`` answers None and ``list`` does not show the name. Deleting what
        is not there succeeds.

        Raises:
            OutcomeUnknownError: The object may be there or gone: delete it again.
            UnavailableError: The object is there.
            RefusedError: The object is there, and a person must act.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections; later calls raise ``RefusedError``. May be repeated."""
        ...
