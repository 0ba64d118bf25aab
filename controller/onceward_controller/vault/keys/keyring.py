"""The keyring: the vault's identity, its wrapped root secret, its key-encryption keys.

    keyring/<revision> = vault id, root secret as each unlocker wraps it   (clear, and worthless
                         without an unlocker)
                       | key-encryption keys, sealed under a key derived from the root

The sealed part names the digest of the clear part in its context, so that neither can be
exchanged alone. Like every log it grows by revisions and is never rewritten.
"""

from hashlib import sha256

import msgspec
from msgspec import Struct

from onceward.ports import Clock, Entropy
from onceward.sealing import Context, Kind, open_sealed, seal
from onceward_controller.vault import layout
from onceward_controller.vault.commit import create_once
from onceward_controller.vault.damage import DamagedLogError
from onceward_controller.vault.keys.datakeys import KEY_BYTES
from onceward_controller.vault.keys.derive import RootKeys
from onceward_controller.vault.keys.key_file import UnlockError
from onceward_controller.vault.keys.unlockers import Unlocker, Wrapping
from onceward_controller.vault.store import ConflictError, Store

VAULT_ID_BYTES = 16
SCHEMA = 1


class NoVaultError(Exception):
    """There is no vault here: make one with ``onceward init``."""


class VaultExistsError(Exception):
    """There is a vault here already; it is never overwritten."""


class _Clear(Struct, frozen=True, array_like=True):
    schema: int
    vault_id: bytes
    roots: tuple[Wrapping, ...]


class _Hidden(Struct, frozen=True, array_like=True):
    primary: int
    wrapping: dict[int, bytes]


class _Revision(Struct, frozen=True, array_like=True):
    clear: bytes
    sealed: bytes


class Keyring(Struct, frozen=True):
    """The opened keyring.

    Attributes:
        wrapping: Key-encryption keys by number.
        primary: The number of the one that seals new data keys.
    """

    vault_id: bytes
    root: RootKeys
    wrapping: dict[int, bytes]
    primary: int


def create(store: Store, unlocker: Unlocker, clock: Clock, entropy: Entropy) -> Keyring:
    """Make a vault: a new root secret and a first key-encryption key.

    Raises:
        VaultExistsError: One is there.
        StoreError: The store could not be written.
    """
    vault_id = entropy.take(VAULT_ID_BYTES)
    root = entropy.take(KEY_BYTES)
    wrapped = unlocker.wrap(root, vault_id=vault_id, random=entropy.take(32))
    clear = msgspec.msgpack.encode(_Clear(SCHEMA, vault_id, (wrapped,)))
    keys = RootKeys(root)
    hidden = _Hidden(primary=1, wrapping={1: entropy.take(KEY_BYTES)})
    sealed = seal(
        keys.keyring,
        key_id=1,
        context=_context(vault_id, clear, 1),
        plaintext=msgspec.msgpack.encode(hidden),
        random=entropy.take(32),
        salt_key=keys.salt,
    )
    body = msgspec.msgpack.encode(_Revision(clear=clear, sealed=sealed))
    try:
        create_once(store, layout.revision_name(layout.KEYRING, 1), body, clock, entropy)
    except ConflictError:
        raise VaultExistsError("there is a vault in this store already") from None
    return Keyring(vault_id=vault_id, root=keys, wrapping=hidden.wrapping, primary=hidden.primary)


def is_untouched(store: Store) -> bool:
    """Return whether there is nothing in ``store``: no vault, and none that lost its keyring.

    Raises:
        StoreError: The store could not be read.
    """
    return not store.list("", limit=1).names


def open_keyring(store: Store, unlocker: Unlocker) -> Keyring:
    """Read the newest keyring and unlock it.

    Raises:
        NoVaultError: There is none.
        UnlockError: The unlocker does not fit this vault.
        IntegrityError: It is not what was written.
        StoreError: The store could not be read.
    """
    names = store.list(f"{layout.KEYRING}/", limit=1).names
    found = store.get(names[0]) if names else None
    if found is None:
        raise NoVaultError("there is no vault in this store: make one with `onceward init`")
    try:
        revision = msgspec.msgpack.decode(found.body, type=_Revision)
        clear = msgspec.msgpack.decode(revision.clear, type=_Clear)
    except msgspec.MsgspecError:
        raise DamagedLogError("the keyring cannot be read") from None
    if clear.schema != SCHEMA:
        raise DamagedLogError(f"the keyring has a schema that is not ours: `{clear.schema}`")
    mine = [each for each in clear.roots if each.kind == unlocker.kind]
    if not mine:
        raise UnlockError(f"this vault has no unlocker of the kind `{unlocker.kind}`")
    root = RootKeys(unlocker.unwrap(mine[0], vault_id=clear.vault_id))
    context = _context(clear.vault_id, revision.clear, layout.revision_of(layout.KEYRING, names[0]))
    opened = open_sealed(root.keyring, context=context, sealed=revision.sealed)
    hidden = msgspec.msgpack.decode(opened, type=_Hidden)
    return Keyring(
        vault_id=clear.vault_id, root=root, wrapping=hidden.wrapping, primary=hidden.primary
    )


def _context(vault_id: bytes, clear: bytes, revision: int) -> Context:
    return Context(
        vault_id=vault_id,
        name=f"{layout.KEYRING}/{sha256(clear).hexdigest()}",
        kind=Kind.KEYRING,
        revision=revision,
        schema=SCHEMA,
    )
