"""Ways to open a vault: each wraps the same root secret under a secret of its own.

    unlocker's secret 32 --seals--> root secret 32 --derives--> all else (see ``keys.derive``)

The keyring keeps one ``Wrapping`` for each way. A wrapping says in clear what its unlocker needs to
find its secret again, such as the cost of hashing a passphrase, and is sealed in a context that
contains those parameters: who changes them makes the wrapping useless, not weaker.

Another way to open is another value of ``Unlocker``: it finds 32 bytes by its own means and leaves
the rest to ``wrap_root`` and ``unwrap_root``. Adding or removing one does not change the root, so
whoever once held the root unwrapped goes on holding the vault.
"""

import hashlib
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from onceward.sealing import Context, IntegrityError, Kind, open_sealed, seal
from onceward_controller.vault.keys.derive import RootKeys
from onceward_controller.vault.keys.key_file import UnlockError, read_key_file

_SCHEMA = 1


class Wrapping(Struct, frozen=True):
    """The root secret under one unlocker's secret, as the keyring keeps it.

    Attributes:
        kind: Which unlocker made it: ``file``.
        parameters: What that unlocker needs to find its secret again; clear, but bound.
        sealed: The root.
    """

    kind: str
    parameters: bytes
    sealed: bytes


class Unlocker(Protocol):
    """One way to open a vault."""

    @property
    def kind(self) -> str:
        """The name that its wrappings bear."""
        ...

    def wrap(self, root: bytes, *, vault_id: bytes, random: bytes) -> Wrapping:
        """Return ``root`` wrapped; ``random`` is 32 fresh bytes.

        Raises:
            UnlockError: The unlocker's secret is out of reach; the message says what to do.
        """
        ...

    def unwrap(self, wrapping: Wrapping, *, vault_id: bytes) -> bytes:
        """Return the root.

        Raises:
            UnlockError: The unlocker's secret is out of reach, or is not the one that wrapped.
        """
        ...


class FileUnlocker(Struct, frozen=True):
    """Opens with the secret in a key file, read anew each time.

    Attributes:
        path: Of a file that ``create_key_file`` made.
    """

    path: Path

    @property
    def kind(self) -> str:
        """See ``Unlocker``."""
        return "file"

    def wrap(self, root: bytes, *, vault_id: bytes, random: bytes) -> Wrapping:
        """See ``Unlocker``."""
        secret = read_key_file(self.path)
        return wrap_root(root, secret, kind=self.kind, vault_id=vault_id, random=random)

    def unwrap(self, wrapping: Wrapping, *, vault_id: bytes) -> bytes:
        """See ``Unlocker``."""
        return unwrap_root(wrapping, read_key_file(self.path), kind=self.kind, vault_id=vault_id)


def wrap_root(
    root: bytes,
    secret: bytes,
    *,
    kind: str,
    vault_id: bytes,
    random: bytes,
    parameters: bytes = b"",
) -> Wrapping:
    """Return ``root`` sealed under an unlocker's secret.

    Args:
        root: 32 bytes.
        secret: 32 bytes, uniformly random or derived so.
        kind: The unlocker's.
        vault_id: The wrapping opens in this vault alone.
        random: 32 unpredictable bytes.
        parameters: What the unlocker will need to find ``secret`` again; not secret.
    """
    sealed = seal(
        secret,
        key_id=0,
        context=_context(kind, parameters, vault_id),
        plaintext=root,
        random=random,
        # Opening needs no salt key, so the root, which nobody has before it, can give its own.
        salt_key=RootKeys(root).salt,
    )
    return Wrapping(kind, parameters, sealed)


def unwrap_root(wrapping: Wrapping, secret: bytes, *, kind: str, vault_id: bytes) -> bytes:
    """Return the root that ``wrap_root`` sealed.

    Args:
        wrapping: What it returned.
        secret: The unlocker's, 32 bytes.
        kind: The unlocker's: a wrapping made in another way does not open.
        vault_id: The vault's.

    Raises:
        UnlockError: The secret is another, or wrapping and vault do not belong together.
    """
    context = _context(kind, wrapping.parameters, vault_id)
    try:
        return open_sealed(secret, context=context, sealed=wrapping.sealed)
    except IntegrityError as error:
        raise UnlockError(
            "this secret does not open this vault: use the one that the vault was made with; "
            f"if it is that one, the keyring is damaged: unlocker=`{kind}`"
        ) from error


def _context(kind: str, parameters: bytes, vault_id: bytes) -> Context:
    # Without a revision: a wrapping is carried unchanged from one keyring revision to the next.
    digest = hashlib.sha256(parameters).hexdigest()
    name = f"unlocker/{kind}/{digest}"
    return Context(vault_id, name, Kind.KEYRING, revision=0, schema=_SCHEMA)
