"""One opened vault: its store, its keys, its names and its time, for the service to work with."""

from msgspec import Struct

from onceward.ports import Clock, Entropy, Spawner
from onceward.wire.identifiers import WorkflowId
from onceward_controller.vault.gather import Gather
from onceward_controller.vault.index import Index
from onceward_controller.vault.keys.datakeys import DataKeys
from onceward_controller.vault.keys.keyring import Keyring, open_keyring
from onceward_controller.vault.keys.unlockers import Unlocker
from onceward_controller.vault.log import Desk
from onceward_controller.vault.naming import VaultNaming
from onceward_controller.vault.store import Store
from onceward_controller.vault.trusted_time import TimedStore, TrustedTime
from onceward_controller.vault.workflow_log import WorkflowLog


class Vault(Struct, frozen=True):
    """What the service holds of a vault."""

    desk: Desk
    keyring: Keyring
    naming: VaultNaming
    keys: DataKeys
    index: Index
    time: TrustedTime

    def workflow_log(self, workflow: WorkflowId) -> WorkflowLog:
        """Return the log of ``workflow``, whether it exists or not."""
        return WorkflowLog(
            self.desk,
            self.keys,
            name=self.naming.workflow_log(workflow),
            key_name=self.naming.key_log(workflow),
        )

    def close(self) -> None:
        """Let go of the store."""
        self.desk.store.close()


def open_vault(
    store: Store,
    unlocker: Unlocker,
    *,
    clock: Clock,
    entropy: Entropy,
    spawner: Spawner,
    reads_at_once: int,
) -> Vault:
    """Return the vault in ``store``.

    Reading the keyring is also what tells the time first: nothing is decided before the store has
    answered once.

    Args:
        store: Where its objects lie.
        unlocker: Opens its root secret.
        clock: The host's clocks.
        entropy: The random source.
        spawner: Starts threads for reads side by side.
        reads_at_once: How many reads the store answers in the time of one.

    Raises:
        NoVaultError: There is none.
        UnlockError: The unlocker does not fit this vault.
        IntegrityError: The keyring is not what was written.
        StoreError: The store could not be read.
    """
    time = TrustedTime(clock)
    timed = TimedStore(store, time, clock)
    keyring = open_keyring(timed, unlocker)
    naming = VaultNaming(keyring.root)
    desk = Desk(
        store=timed,
        clock=clock,
        entropy=entropy,
        vault_id=keyring.vault_id,
        salt_key=keyring.root.salt,
        gather=Gather(spawner, width=reads_at_once),
    )
    return Vault(
        desk=desk,
        keyring=keyring,
        naming=naming,
        keys=DataKeys(desk, keyring.wrapping, keyring.primary),
        index=Index(timed, keyring.vault_id, keyring.root, naming),
        time=time,
    )
