"""Bearer credentials: made once, shown once, looked up on every request."""

import hmac
import threading
from collections import OrderedDict

from onceward.wire import messages, tokens
from onceward.wire.identifiers import WorkflowId, is_workflow_id
from onceward.wire.problems import ProblemCode, problem
from onceward.wire.tokens import Role
from onceward_controller.protocol.authority import ISSUED, Action, Caller
from onceward_controller.service.failures import told_to_the_caller
from onceward_controller.vault.credential_log import CredentialLogs, CredentialRecord
from onceward_controller.vault.vault import Vault

FRESH_MS = 5_000
"""How long a record that was read is trusted before it is read again, in boot time."""
REMEMBERED_MAX = 1_000


class Credentials:
    """The credentials of one vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._logs = CredentialLogs(vault.desk, vault.keys, vault.naming)
        self._lock = threading.Lock()
        self._read: OrderedDict[str, tuple[int, CredentialRecord | None]] = OrderedDict()

    def create(self, caller: Caller, body: messages.CreateCredential) -> messages.CredentialCreated:
        """Make a credential; the token in the reply is shown this once.

        Raises:
            InvalidError: The scope does not fit the role.
            ProblemError: The caller may not, or the store failed.
        """
        caller.require(Action.CREDENTIAL_CREATE)
        self._check_scope(body)
        with told_to_the_caller():
            now_ms = self._now_ms()
            token = tokens.mint(body.role, self._vault.desk.entropy.take(tokens.RANDOM_BYTES))
            record = CredentialRecord(
                role=body.role,
                principal=body.principal,
                workspace=body.workspace,
                workflow=body.workflow,
                verifier=self._verifier(token),
                not_before_ms=now_ms,
                expires_ms=now_ms + body.ttl_ms,
            )
            self._logs.create(token.accessor, record)
        return messages.CredentialCreated(
            token=token.text.reveal(), accessor=token.accessor, expires_ms=record.expires_ms
        )

    def authenticate(self, text: str) -> Caller:
        """Return who presents ``text``.

        An unknown accessor costs the same work as a wrong secret.

        Raises:
            DeniedError: ``credential_invalid``: no such token, wrong, not yet good, or expired.
            ProblemError: The store failed.
        """
        try:
            token = tokens.parse(text)
        except tokens.TokenError as error:
            raise problem(ProblemCode.CREDENTIAL_INVALID, str(error)) from None
        with told_to_the_caller():
            record = self._record(token.accessor)
            now_ms = self._now_ms()
        expected = bytes(32) if record is None else record.verifier
        is_right = hmac.compare_digest(expected, self._verifier(token))
        if record is None or not is_right or record.is_revoked or record.role != token.role:
            raise problem(ProblemCode.CREDENTIAL_INVALID, "the credential is not known")
        if not record.not_before_ms <= now_ms < record.expires_ms:
            raise problem(
                ProblemCode.CREDENTIAL_INVALID,
                "the credential has expired or is not good yet",
                expires_ms=record.expires_ms,
                now_ms=now_ms,
            )
        workflow = None if record.workflow is None else WorkflowId(record.workflow)
        return Caller(
            principal=record.principal,
            role=record.role,
            workspace=record.workspace,
            workflow=workflow,
        )

    def _check_scope(self, body: messages.CreateCredential) -> None:
        if body.role not in ISSUED:
            raise problem(
                ProblemCode.BODY_INVALID, f"this role cannot be given out yet: `{body.role}`"
            )
        if body.role is Role.OPERATOR and body.workspace is None:
            raise problem(ProblemCode.BODY_INVALID, "an operator has a workspace: $.workspace")
        if body.role is Role.WORKER:
            if body.workflow is None or not is_workflow_id(body.workflow):
                raise problem(ProblemCode.BODY_INVALID, "a worker has a workflow: $.workflow")
        elif body.workflow is not None:
            raise problem(
                ProblemCode.BODY_INVALID, "only a worker is confined to a workflow: $.workflow"
            )

    def _verifier(self, token: tokens.Token) -> bytes:
        """Return what is stored of a token: a keyed hash of its secret, bound to its accessor."""
        message = token.accessor.encode("ascii") + token.secret.reveal()
        return hmac.digest(self._vault.keyring.root.token_pepper, message, "sha256")

    def _record(self, accessor: str) -> CredentialRecord | None:
        boot_ms = self._vault.desk.clock.boottime_ms()
        with self._lock:
            known = self._read.get(accessor)
            if known is not None and boot_ms - known[0] < FRESH_MS:
                return known[1]
        record = self._logs.read(accessor)
        with self._lock:
            self._read[accessor] = (boot_ms, record)
            self._read.move_to_end(accessor)
            if len(self._read) > REMEMBERED_MAX:
                self._read.popitem(last=False)
        return record

    def _now_ms(self) -> int:
        return self._vault.time.read().store_ms
