"""A revision log: the one durable structure.

    revision n = header | sealed body        n is written by ``create``, once, by whoever is first
                 header bears SHA-256 of revision n-1 as stored

Nothing is rewritten: the newest revision is the state's, the digests make the log its own
evidence. Whoever loses the race for n reads it and decides again. An empty object where a
revision should be, a gap, or a digest that does not fit is damage, never a shorter log.
"""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from onceward.ports import Clock, Entropy
from onceward.sealing import (
    NO_PREVIOUS,
    Context,
    Kind,
    open_sealed,
    read_header,
    seal,
    sealed_digest,
)
from onceward_controller.vault import layout
from onceward_controller.vault.commit import create_once
from onceward_controller.vault.damage import DamagedLogError
from onceward_controller.vault.gather import Gather
from onceward_controller.vault.store import Store

SCHEMA = 1


class Desk(Struct, frozen=True):
    """What every log of one vault is written with.

    Attributes:
        vault_id: 16 random bytes that name the vault; part of every sealed context.
        salt_key: Mixed into every salt, so that a repeating random source repeats nothing.
        gather: Runs several reads, side by side where the store gains from it.
    """

    store: Store
    clock: Clock
    entropy: Entropy
    vault_id: bytes
    salt_key: bytes
    gather: Gather


class SealKey(Struct, frozen=True):
    """A key and the number under which the header names it."""

    key: bytes
    key_id: int


class Tip(Struct, frozen=True):
    """The newest known revision of a log: what the next one builds on."""

    revision: int
    digest: bytes


EMPTY = Tip(revision=0, digest=NO_PREVIOUS)


class RevisionLog:
    """One log by name. Holds no state: tips are handed in and out."""

    def __init__(self, desk: Desk, name: str, kind: Kind) -> None:
        self._desk = desk
        self._name = name
        self._kind = kind

    def newest(self) -> int:
        """Return the newest revision, 0 when the log is empty. One LIST.

        Raises:
            IntegrityError: The newest name is none of ours.
            StoreError: As the store's ``list``.
        """
        page = self._desk.store.list(f"{self._name}/", limit=1)
        return layout.revision_of(self._name, page.names[0]) if page.names else 0

    def fetch(self, revisions: Sequence[int]) -> list[bytes]:
        """Return the stored bytes of ``revisions``, in that order, read side by side.

        Raises:
            IntegrityError: One is missing or blanked.
            StoreError: As the store's ``get``.
        """
        return self._desk.gather(self.reads(revisions))

    def reads(self, revisions: Sequence[int]) -> list[Callable[[], bytes]]:
        """Return the calls that ``fetch`` makes, for a caller who gathers more beside them."""
        return [partial(self._stored, revision) for revision in revisions]

    def open(self, revision: int, stored: bytes, key: SealKey) -> bytes:
        """Return the body of ``stored``, which lies at ``revision``.

        Raises:
            IntegrityError: It is not what was written there.
        """
        context = self._context(revision, read_header(stored, name=self._name).previous)
        return open_sealed(key.key, context=context, sealed=stored)

    def verify(self, stored: Sequence[bytes], since: Tip | None = None) -> Tip:
        """Check that consecutive revisions follow each other; return the last one's tip.

        Args:
            stored: Bytes of consecutive revisions, oldest first, not empty.
            since: What the first must follow; None when it is taken as it is.

        Raises:
            IntegrityError: A digest or number does not fit.
        """
        tip = since
        for body in stored:
            header = read_header(body, name=self._name)
            if tip is not None and (header.previous, header.revision) != (
                tip.digest,
                tip.revision + 1,
            ):
                raise DamagedLogError(f"the chain is broken at revision {header.revision}")
            tip = Tip(revision=header.revision, digest=sealed_digest(body))
        assert tip is not None, "verify is called with at least one revision"
        return tip

    def append(self, tip: Tip, body: bytes, key: SealKey) -> tuple[Tip, int]:
        """Write the revision after ``tip``; the only way in which a log grows.

        Returns:
            The new tip and the store's time, in milliseconds.

        Raises:
            ConflictError: Another revision stands there: read and decide again.
            OutcomeUnknownError: It may stand there now or later: read before deciding again.
            UnavailableError: Nothing was written.
            RefusedError: A person must act.
        """
        desk, revision = self._desk, tip.revision + 1
        sealed = seal(
            key.key,
            key_id=key.key_id,
            context=self._context(revision, tip.digest),
            plaintext=body,
            random=desk.entropy.take(32),
            salt_key=desk.salt_key,
        )
        name = layout.revision_name(self._name, revision)
        time_ms = create_once(desk.store, name, sealed, desk.clock, desk.entropy)
        return Tip(revision=revision, digest=sealed_digest(sealed)), time_ms

    def _stored(self, revision: int) -> bytes:
        found = self._desk.store.get(layout.revision_name(self._name, revision))
        if found is None or not found.body:
            raise DamagedLogError(f"revision {revision} is missing from its log")
        return found.body

    def _context(self, revision: int, previous: bytes) -> Context:
        return Context(
            vault_id=self._desk.vault_id,
            name=self._name,
            kind=self._kind,
            revision=revision,
            schema=SCHEMA,
            previous=previous,
        )
