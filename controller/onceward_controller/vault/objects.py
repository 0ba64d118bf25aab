"""Payload and page objects: sealed content too large, or too old, to ride in revisions.

Each is named by the digest of its sealed bytes and written before the revision that names it, so
that racing writers never share one, and what no revision names is an orphan that may be swept.
"""

from onceward.sealing import Context, IntegrityError, Kind, open_sealed, seal, sealed_digest
from onceward_controller.vault import layout
from onceward_controller.vault.commit import create_once
from onceward_controller.vault.damage import DamagedLogError
from onceward_controller.vault.log import SCHEMA, Desk, SealKey


class Objects:
    """The sealed objects of one workflow.

    Args:
        desk: The vault's.
        owner: Name of the workflow's log; part of every context, so that an object moved to
            another workflow does not open.
    """

    def __init__(self, desk: Desk, owner: str) -> None:
        self._desk = desk
        self._owner = owner

    def write(self, kind: Kind, content: bytes, key: SealKey) -> str:
        """Store ``content`` and return the digest (hex) that names it.

        Raises:
            StoreError: As the store's ``create``.
        """
        desk = self._desk
        sealed = seal(
            key.key,
            key_id=key.key_id,
            context=self._context(kind),
            plaintext=content,
            random=desk.entropy.take(32),
            salt_key=desk.salt_key,
        )
        digest = sealed_digest(sealed).hex()
        create_once(desk.store, layout.object_name(digest), sealed, desk.clock, desk.entropy)
        return digest

    def read(self, kind: Kind, digest: str, key: SealKey) -> bytes | None:
        """Return the content under ``digest``, None when this workflow has no such object.

        Bytes that have the digest which names them are as they were written: where they do not
        open, they were not written for this workflow, or not as this kind.

        Raises:
            IntegrityError: It is not what was written.
            StoreError: The store could not be read.
        """
        found = self._desk.store.get(layout.object_name(digest))
        if found is None:
            return None
        if sealed_digest(found.body).hex() != digest:
            raise DamagedLogError(f"an object does not have the digest that names it: `{digest}`")
        try:
            return open_sealed(key.key, context=self._context(kind), sealed=found.body)
        except IntegrityError:
            return None

    def _context(self, kind: Kind) -> Context:
        return Context(
            vault_id=self._desk.vault_id,
            name=self._owner,
            kind=kind,
            revision=0,
            schema=SCHEMA,
        )
