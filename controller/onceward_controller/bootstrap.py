"""The composition root: the one place that knows which store, clock and keys are real."""

import contextlib
from pathlib import Path

from onceward.ports import Clock, Entropy, Spawner
from onceward.system import SystemClock, SystemEntropy, ThreadSpawner
from onceward.wire.tokens import Role
from onceward_controller.protocol.authority import Caller
from onceward_controller.service.service import Service
from onceward_controller.service.service import assemble as assemble_service
from onceward_controller.settings import BucketStore, FolderStore, Settings
from onceward_controller.vault.keys import keyring
from onceward_controller.vault.keys.key_file import SECRET_BYTES, UnlockError, create_key_file
from onceward_controller.vault.keys.unlockers import FileUnlocker
from onceward_controller.vault.probe import probe
from onceward_controller.vault.sqlite import SqliteStore
from onceward_controller.vault.store import Store
from onceward_controller.vault.vault import open_vault

HOST = Caller(principal="host", role=Role.ADMIN)
"""Whoever holds the key file on the host: there is nothing to protect from them."""
READS_AT_ONCE_S3 = 32


def open_service(
    store: Store,
    key_file: Path,
    *,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    spawner: Spawner | None = None,
    reads_at_once: int = 1,
) -> Service:
    """Return the service of the vault in ``store``.

    Args:
        store: Where the vault lies.
        key_file: The 0600 file that unlocks it.
        clock: The host's clocks; the real ones unless a test says otherwise.
        entropy: The random source, likewise.
        spawner: Starts threads, likewise.
        reads_at_once: How many reads the store answers in the time of one.

    Raises:
        NoVaultError: There is no vault in the store.
        UnlockError: The key file does not open it.
        StoreError: The store could not be read.
    """
    clock, entropy = clock or SystemClock(), entropy or SystemEntropy()
    spawner = spawner or ThreadSpawner()
    vault = open_vault(
        store,
        FileUnlocker(key_file),
        clock=clock,
        entropy=entropy,
        spawner=spawner,
        reads_at_once=reads_at_once,
    )
    return assemble_service(vault, spawner)


def open_controller(settings: Settings) -> Service:
    """Return the service that a controller process with ``settings`` hosts.

    A bucket is probed first, each time: a store that breaks its promises licenses double effects,
    and a bucket's settings can change between two starts.

    Raises:
        RefusedError: The store is not safe to use, or a person must act.
        NoVaultError: There is no vault in the store.
        UnlockError: The key file does not open it.
        StoreError: The store could not be read.
    """
    store = open_store(settings.store, connections_max=settings.threads)
    try:
        if isinstance(settings.store, FolderStore):
            return open_service(store, settings.key_file)
        probe(store, SystemEntropy(), ThreadSpawner())
        return open_service(store, settings.key_file, reads_at_once=READS_AT_ONCE_S3)
    except BaseException:
        store.close()
        raise


def open_store(
    where: FolderStore | BucketStore, *, clock: Clock | None = None, connections_max: int = 32
) -> Store:
    """Return the store that ``where`` names; a folder is made if it is not there.

    Args:
        where: From the settings.
        clock: What time a folder's store tells; the host's unless a test says otherwise.
        connections_max: Requests to a bucket at once.

    Raises:
        RefusedError: The file is no store of ours, or the bucket's settings are not usable.
        UnavailableError: Other processes kept the file locked.
    """
    if isinstance(where, FolderStore):
        where.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return SqliteStore(where.file, clock or SystemClock())
    # Imported here because embedded mode comes this way too, and is installed without boto3.
    from onceward_controller.vault import s3  # noqa: PLC0415
    from onceward_controller.vault.s3 import client as s3_client  # noqa: PLC0415

    return s3.connect(
        s3_client.S3Settings(
            bucket=where.bucket,
            prefix=where.prefix,
            endpoint_url=where.endpoint_url,
            region=where.region,
            addressing_style=where.addressing,
            instance_metadata=where.instance_metadata,
            connections_max=connections_max,
        )
    )


def create_vault(
    store: Store, key_file: Path, *, clock: Clock | None = None, entropy: Entropy | None = None
) -> None:
    """Make a vault in ``store`` and the key file that opens it; overwrites neither.

    A key file that is there is used: a first try may have been ended between the two.

    Raises:
        VaultExistsError: The store holds a vault.
        UnlockError: The key file is not fit for use.
        StoreError: The store could not be written.
    """
    clock, entropy = clock or SystemClock(), entropy or SystemEntropy()
    with contextlib.suppress(UnlockError):  # It is there: whether it is fit, the next line says.
        create_key_file(key_file, entropy.take(SECRET_BYTES))
    keyring.create(store, FileUnlocker(key_file), clock, entropy)


def open_embedded_service(
    folder: Path,
    *,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    spawner: Spawner | None = None,
) -> Service:
    """Return the service of a vault that lives in ``folder``, made now if it is not there.

    Raises:
        UnlockError: The key file does not open the vault.
        StoreError: The store could not be read or written.
    """
    where, clock = FolderStore(folder), clock or SystemClock()
    store, key_file = open_store(where, clock=clock), where.key_file
    try:
        if keyring.is_untouched(store):
            with contextlib.suppress(keyring.VaultExistsError):  # Another process was first.
                create_vault(store, key_file, clock=clock, entropy=entropy)
        return open_service(store, key_file, clock=clock, entropy=entropy, spawner=spawner)
    except BaseException:
        store.close()
        raise
