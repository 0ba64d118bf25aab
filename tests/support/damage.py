"""A vault with one object of each kind, and all that can be asked of it."""

from collections.abc import Callable

from onceward.sealing import IntegrityError
from onceward.wire import limits, messages
from onceward.wire.decisions import Execute
from onceward.wire.definitions import OperationDefinition, PayloadRef
from onceward.wire.identifiers import OperationName
from onceward.wire.problems import ProblemError
from onceward.wire.receipts import Outcome, Receipt
from onceward.wire.tokens import Role
from onceward_controller.vault import layout
from onceward_controller.vault.keys.key_file import UnlockError
from onceward_controller.vault.memory import MemoryStore
from tests.support.services import ADMIN, DOCS, Agent, Site, chain, cold_head, warm_head

DAMAGED = "integrity"

Question = Callable[["Crime", Agent], object]


class Crime:
    """A vault with one object of each kind, and a copy of its store to change."""

    def __init__(self) -> None:
        self.site = Site()
        ann = Agent(self.site.open())
        self.arguments = ann.upload(DOCS, b"arguments " * 9_000, key="k")
        payload = PayloadRef(
            digest=self.arguments.digest, sha256=self.arguments.sha256, size=self.arguments.size
        )
        first = OperationDefinition(name="op-0", tool="upload", arguments_payload=payload)
        self.workflow = ann.create("k", (first, *chain(6)[1:]), label="a label")
        grant = ann.granted(self.workflow)
        self.result = ann.upload_result(self.workflow, b"result " * 9_000)
        receipt = Receipt(
            outcome=Outcome.SUCCEEDED,
            operation_id=grant.operation_id,
            result_payload=PayloadRef(
                digest=self.result.digest, sha256=self.result.sha256, size=self.result.size
            ),
        )
        body = messages.Complete(
            attempt=grant.attempt, lease_token=grant.lease_token, receipt=receipt
        )
        ann.complete(self.workflow, OperationName("op-0"), body)
        while warm_head(ann.service, self.workflow).tip.revision < 33:
            ann.pause(self.workflow)
            ann.enable(self.workflow)
        grant = ann.granted(self.workflow)
        self.grant = ann.step(self.workflow, grant)
        assert isinstance(self.grant, Execute)
        self.other = ann.create("another key", chain(6))
        self.token = ann.service.credentials.create(
            ADMIN,
            messages.CreateCredential(
                role=Role.WORKER, principal="w", ttl_ms=limits.DAY_MS, workflow=self.workflow
            ),
        ).token
        naming = ann.service.vault.naming
        self.log = naming.workflow_log(self.workflow)
        self.other_log = naming.workflow_log(self.other)
        self.key_log = naming.key_log(self.workflow)
        self.other_key_log = naming.key_log(self.other)
        self.newest = cold_head(ann.service, self.workflow).tip.revision
        [self.row] = [name for name in self.names("i/") if f"/{naming.row(self.workflow)}/" in name]
        [self.credential] = [name for name in self.names("") if name[3:5] == "c/"]
        self.store = self.site.store

    def names(self, prefix: str) -> tuple[str, ...]:
        return self.site.store.list(prefix).names

    def copied(self) -> MemoryStore:
        copy = MemoryStore(self.site.store_clock)
        for name in self.names(""):
            found = self.site.store.get(name)
            assert found is not None
            copy.create(name, found.body)
        return copy

    def revision(self, number: int) -> str:
        return layout.revision_name(self.log, number)

    def answers(self, store: MemoryStore) -> dict[str, object]:
        """Ask everything, each of a service that knows nothing."""
        return {name: self._answer(store, question) for name, question in QUESTIONS.items()}

    def _answer(self, store: MemoryStore, question: Question) -> object:
        try:
            return question(self, Agent(self.site.open(store)))
        except ProblemError as error:
            return error.code.value
        except (IntegrityError, UnlockError):  # Of the keyring, before there is a service.
            return DAMAGED


QUESTIONS: dict[str, Question] = {
    "view": lambda crime, ann: ann.workflow(crime.workflow),
    "grant": lambda crime, ann: ann.ask(crime.workflow),
    "reuse": lambda crime, ann: ann.ask(crime.workflow, "op-0"),
    "history": lambda crime, ann: ann.history(crime.workflow),
    "arguments": lambda crime, ann: ann.download(crime.workflow, crime.arguments.digest),
    "result": lambda crime, ann: ann.download(crime.workflow, crime.result.digest),
    "by key": lambda crime, ann: ann.workflows(DOCS, key="k"),
    "listing": lambda crime, ann: ann.workflows(DOCS),
    "credential": lambda crime, ann: ann.service.credentials.authenticate(crime.token),
}


def body(store: MemoryStore, name: str) -> bytes:
    found = store.get(name)
    assert found is not None
    return found.body


def assert_same_or_damaged(truth: dict[str, object], answers: dict[str, object]) -> set[str]:
    """Return the questions that were answered with ``integrity``."""
    for name, answer in answers.items():
        assert answer in (truth[name], DAMAGED), name
    return {name for name, answer in answers.items() if answer == DAMAGED}
