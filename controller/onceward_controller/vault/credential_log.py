"""One credential's log: who it is, what it may do, until when. Never its secret.

    <hh>/c/<opaque of accessor>/<revision> = record, sealed under the credentials' data key

A log for each, so that making one and revoking one race by the same rule as everything else.
"""

import msgspec
from msgspec import Struct

from onceward.sealing import Kind
from onceward.wire.tokens import Role
from onceward_controller.vault import layout
from onceward_controller.vault.damage import DamagedLogError
from onceward_controller.vault.keys.datakeys import DataKeys
from onceward_controller.vault.log import EMPTY, Desk, RevisionLog, SealKey
from onceward_controller.vault.naming import VaultNaming


class CredentialRecord(Struct, frozen=True, array_like=True):
    """What is stored of a credential.

    Attributes:
        verifier: Keyed hash of the secret.
        not_before_ms: Trusted time from which it is good.
        expires_ms: Trusted time from which it is not.
        parent: Accessor of the credential that made it; empty for one made on the host.
    """

    role: Role
    principal: str
    workspace: str | None
    workflow: str | None
    verifier: bytes
    not_before_ms: int
    expires_ms: int
    parent: str = ""
    is_revoked: bool = False


class CredentialLogs:
    """The credentials of one vault.

    Args:
        desk: The vault's.
        keys: Its data keys; one seals all credentials.
        naming: Its names.
    """

    def __init__(self, desk: Desk, keys: DataKeys, naming: VaultNaming) -> None:
        self._desk = desk
        self._keys = keys
        self._naming = naming
        self._key: SealKey | None = None

    def create(self, accessor: str, record: CredentialRecord) -> None:
        """Write the first revision of a credential.

        Raises:
            StoreError: It may not have been written.
        """
        self._log(accessor).append(EMPTY, msgspec.msgpack.encode(record), self._sealing_key())

    def read(self, accessor: str) -> CredentialRecord | None:
        """Return what is stored of a credential, None when there is none. One LIST, one GET.

        Raises:
            IntegrityError: It is not what was written.
            StoreError: It could not be read.
        """
        log = self._log(accessor)
        newest = log.newest()
        if newest == 0:
            # An accessor that nobody has costs the round trips of one that somebody has.
            self._desk.store.get(layout.revision_name(self._naming.credential_log(accessor), 1))
            return None
        [stored] = log.fetch([newest])
        body = log.open(newest, stored, self._sealing_key())
        try:
            return msgspec.msgpack.decode(body, type=CredentialRecord)
        except msgspec.MsgspecError:
            raise DamagedLogError("a credential cannot be read") from None

    def _log(self, accessor: str) -> RevisionLog:
        return RevisionLog(self._desk, self._naming.credential_log(accessor), Kind.CREDENTIAL)

    def _sealing_key(self) -> SealKey:
        if self._key is None:
            self._key, _ = self._keys.make(self._naming.credentials_key_log())
        return self._key
