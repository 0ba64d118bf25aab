"""A bucket whose objects somebody changed: an error that says so, or the state as it was.

Every kind of object is changed in every way that needs no key, and a service that knows nothing
asks all that can be asked. Each answer is the one from before the change, or ``integrity``; never
another state, a shorter one, or another error.

What no reader without a memory can tell is at the end: an object that is gone from where nothing
points at it. A process that has seen more does tell (``tests/unit/test_transact.py``).
"""

from collections.abc import Callable

import pytest

from onceward.sealing import IntegrityError
from onceward.wire import limits, messages
from onceward.wire.decisions import Execute, Reuse
from onceward.wire.definitions import OperationDefinition, PayloadRef
from onceward.wire.identifiers import OperationName
from onceward.wire.messages import RowClass, WorkflowPage
from onceward.wire.problems import ProblemCode, ProblemError
from onceward.wire.receipts import Outcome, Receipt
from onceward.wire.tokens import Role
from onceward_controller.vault import layout
from onceward_controller.vault.keys.key_file import UnlockError
from onceward_controller.vault.keys.keyring import NoVaultError
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


@pytest.fixture(scope="module")
def crime() -> Crime:
    return Crime()


@pytest.fixture(scope="module")
def truth(crime: Crime) -> dict[str, object]:
    answers = crime.answers(crime.copied())
    assert isinstance(answers["grant"], Execute)
    assert isinstance(answers["reuse"], Reuse)
    assert DAMAGED not in answers.values()
    return answers


OBJECTS: dict[str, Callable[[Crime], str]] = {
    "revision 1": lambda crime: crime.revision(1),
    "a revision that settled": lambda crime: crime.revision(4),
    "the snapshot": lambda crime: crime.revision(32),
    "a revision since": lambda crime: crime.revision(33),
    "the newest revision": lambda crime: crime.revision(crime.newest),
    "data key": lambda crime: layout.revision_name(crime.key_log, 1),
    "arguments": lambda crime: layout.object_name(crime.arguments.digest),
    "result": lambda crime: layout.object_name(crime.result.digest),
    "row": lambda crime: crime.row,
    "credential": lambda crime: crime.credential,
    "keyring": lambda crime: layout.revision_name(layout.KEYRING, 1),
}


def body(store: MemoryStore, name: str) -> bytes:
    found = store.get(name)
    assert found is not None
    return found.body


def flipped(where: float) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        at = min(int(len(content) * where), len(content) - 1)
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    return flip


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    **{f"flipped at {where}": flipped(where) for where in (0, 0.01, 0.03, 0.06, 0.1, 0.5, 1)},
    "one byte short": lambda content: content[:-1],
    "half": lambda content: content[: len(content) // 2],
    "only its header": lambda content: content[:51],
    "one byte long": lambda content: content + b"\0",
    "blanked": lambda content: b"",
    "not ours": lambda content: b"<html>this is a captive portal</html>" * 9,
}


def assert_same_or_damaged(truth: dict[str, object], answers: dict[str, object]) -> set[str]:
    """Return the questions that were answered with ``integrity``."""
    for name, answer in answers.items():
        assert answer in (truth[name], DAMAGED), name
    return {name for name, answer in answers.items() if answer == DAMAGED}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("what", [name for name in OBJECTS if name != "row"])
def test_changed_bytes_are_never_believed(
    crime: Crime, truth: dict[str, object], what: str, change: str
) -> None:
    store, name = crime.copied(), OBJECTS[what](crime)
    store.put(name, CHANGES[change](body(store, name)))

    damaged = assert_same_or_damaged(truth, crime.answers(store))

    # Whoever needs the object says so; a listing and a credential need none of a workflow's.
    assert damaged == READERS[what]


STATE = {"view", "grant", "reuse", "history", "arguments", "result", "by key"}
READERS = {
    "revision 1": STATE,
    "a revision that settled": {"view", "reuse", "history"},
    "the snapshot": STATE,
    "a revision since": STATE,
    "the newest revision": STATE,
    "data key": STATE,
    "arguments": {"arguments"},
    "result": {"result"},
    "credential": {"credential"},
    "keyring": set(QUESTIONS),
}


@pytest.mark.parametrize(
    "what",
    ["revision 1", "a revision that settled", "the snapshot", "a revision since", "data key"],
)
def test_a_hole_is_never_skipped(crime: Crime, truth: dict[str, object], what: str) -> None:
    store = crime.copied()
    store.delete(OBJECTS[what](crime))

    assert assert_same_or_damaged(truth, crime.answers(store)) == READERS[what]


SWAPS: dict[str, Callable[[Crime], tuple[str, str]]] = {
    "two revisions": lambda crime: (crime.revision(33), crime.revision(34)),
    "an old and a new revision": lambda crime: (crime.revision(2), crime.revision(crime.newest)),
    "revision 1 and another": lambda crime: (crime.revision(1), crime.revision(2)),
    "a revision and another workflow's": lambda crime: (
        crime.revision(2),
        layout.revision_name(crime.other_log, 2),
    ),
    "the first and another workflow's": lambda crime: (
        crime.revision(1),
        layout.revision_name(crime.other_log, 1),
    ),
    "two data keys": lambda crime: (
        layout.revision_name(crime.key_log, 1),
        layout.revision_name(crime.other_key_log, 1),
    ),
    "two payloads": lambda crime: (
        layout.object_name(crime.arguments.digest),
        layout.object_name(crime.result.digest),
    ),
    "a payload and a revision": lambda crime: (
        layout.object_name(crime.arguments.digest),
        crime.revision(33),
    ),
    "a data key and a revision": lambda crime: (
        layout.revision_name(crime.key_log, 1),
        crime.revision(1),
    ),
    "a credential and a data key": lambda crime: (
        crime.credential,
        layout.revision_name(crime.key_log, 1),
    ),
}


@pytest.mark.parametrize("what", SWAPS)
def test_exchanged_objects_are_never_believed(
    crime: Crime, truth: dict[str, object], what: str
) -> None:
    store = crime.copied()
    one, other = SWAPS[what](crime)
    first, second = body(store, one), body(store, other)
    store.put(one, second)
    store.put(other, first)

    assert assert_same_or_damaged(truth, crime.answers(store))


def test_an_old_revision_in_the_newest_place_is_never_believed(
    crime: Crime, truth: dict[str, object]
) -> None:
    for older in (1, 2, 32, 33, crime.newest - 1):
        store = crime.copied()
        store.put(crime.revision(crime.newest), body(store, crime.revision(older)))
        assert assert_same_or_damaged(truth, crime.answers(store)) == STATE


def test_a_revision_played_again_as_the_next_is_never_believed(
    crime: Crime, truth: dict[str, object]
) -> None:
    for older in (1, 2, 32, 33, crime.newest):
        store = crime.copied()
        store.create(crime.revision(crime.newest + 1), body(store, crime.revision(older)))
        assert assert_same_or_damaged(truth, crime.answers(store)) == STATE


def test_a_renumbered_log_is_never_believed(crime: Crime, truth: dict[str, object]) -> None:
    # The whole log one further, so that no digest is out of place.
    store = crime.copied()
    kept = [body(store, crime.revision(number)) for number in range(1, crime.newest + 1)]
    for number, content in enumerate(kept, start=2):
        store.put(crime.revision(number), content)

    assert assert_same_or_damaged(truth, crime.answers(store)) == STATE


PLANTED = [
    "000000000000",
    "fff",
    "zzz",
    "0x1",
    "-1",
    "1_0",
    "ffffffffffffff",
    "a/b",
    "000000000000/x",
]


@pytest.mark.parametrize("last", PLANTED)
@pytest.mark.parametrize("content", [b"", b"planted"], ids=["empty", "full"])
@pytest.mark.parametrize("where", ["log", "data key", "credential", "keyring"])
def test_a_planted_name_is_damage_or_nothing(
    crime: Crime, truth: dict[str, object], where: str, last: str, content: bytes
) -> None:
    log = {
        "log": crime.log,
        "data key": crime.key_log,
        "credential": crime.credential.rsplit("/", 1)[0],
        "keyring": layout.KEYRING,
    }[where]
    store = crime.copied()
    store.create(f"{log}/{last}", content)

    assert_same_or_damaged(truth, crime.answers(store))


# ---------------------------------------------------------------------------------------- rows


def moved_row(crime: Crime) -> dict[str, str]:
    parts = crime.row.split("/")

    def renamed(at: int, to: str) -> str:
        return "/".join([*parts[:at], to, *parts[at + 1 :]])

    other = next(name for name in crime.names("i/") if name != crime.row).split("/")
    last = parts[-1]
    return {
        "in another class": renamed(2, RowClass.DONE.value),
        "at another time": renamed(3, "0" * 12),
        "of another workflow": renamed(4, other[4]),
        "at another revision": renamed(5, "0" * 11 + "9"),
        "with another's summary": "/".join([*parts[:6], *other[6:]]),
        "with a letter changed": "/".join(
            [*parts[:-1], ("1" if last[0] == "0" else "0") + last[1:]]
        ),
        "cut": "/".join(parts[:-1]),
        "bare": "/".join(parts[:6]),
        "not ours": "/".join([*parts[:3], "x"]),
        "not base32": "/".join([*parts[:6], "zzzz"]),
    }


@pytest.mark.parametrize(
    "how",
    [
        "in another class",
        "at another time",
        "of another workflow",
        "at another revision",
        "with another's summary",
        "with a letter changed",
        "cut",
        "bare",
        "not ours",
        "not base32",
    ],
)
@pytest.mark.parametrize("beside", [False, True], ids=["moved", "copied"])
def test_a_row_under_another_name_is_never_believed(
    crime: Crime, truth: dict[str, object], how: str, beside: bool
) -> None:
    store = crime.copied()
    store.put(moved_row(crime)[how], b"")
    if not beside:
        store.delete(crime.row)

    answers = crime.answers(store)
    assert {**answers, "listing": None} == {**truth, "listing": None}
    page, whole = answers["listing"], truth["listing"]
    assert isinstance(page, WorkflowPage)
    assert isinstance(whole, WorkflowPage)
    # A row that is not what was written is counted, believed in nothing, and hides no other.
    assert page.damaged == 1
    assert set(page.rows) <= set(whole.rows)
    assert page.rows == whole.rows or not beside


def test_a_row_in_another_workspace_is_never_believed(
    crime: Crime, truth: dict[str, object]
) -> None:
    store = crime.copied()
    agent = Agent(crime.site.open(store))
    elsewhere = agent.service.vault.naming.workspace("elsewhere")
    parts = crime.row.split("/")
    store.put("/".join([parts[0], elsewhere, *parts[2:]]), b"")

    page = agent.service.listing.rows(ADMIN, "elsewhere")
    assert (page.rows, page.damaged) == ((), 1)
    assert not assert_same_or_damaged(truth, crime.answers(store))


def test_what_a_row_holds_beside_its_name_is_never_looked_at(
    crime: Crime, truth: dict[str, object]
) -> None:
    store = crime.copied()
    store.put(crime.row, b"whatever")

    assert crime.answers(store) == truth


# --------------------------------------------------- what a reader without memory cannot tell


def test_a_removed_newest_revision_leaves_the_state_before_it(
    crime: Crime, truth: dict[str, object]
) -> None:
    # A rollback. Digests chain backwards, so nothing that is left points at what is gone: a client
    # that carries a checkpoint, or a witness, tells.
    store = crime.copied()
    store.delete(crime.revision(crime.newest))

    answers = crime.answers(store)

    view = answers["view"]
    assert isinstance(view, messages.WorkflowView)
    assert view.revision == crime.newest - 1
    assert answers["reuse"] == truth["reuse"]


def test_a_removed_workflow_was_never_there(crime: Crime) -> None:
    store = crime.copied()
    for number in range(1, crime.newest + 1):
        store.delete(crime.revision(number))

    assert crime.answers(store)["view"] == ProblemCode.NOT_FOUND.value


def test_a_removed_payload_is_not_found(crime: Crime, truth: dict[str, object]) -> None:
    store = crime.copied()
    store.delete(layout.object_name(crime.result.digest))

    answers = crime.answers(store)

    assert answers["result"] == ProblemCode.NOT_FOUND.value
    assert {**answers, "result": truth["result"]} == truth


def test_a_removed_row_comes_back_once_its_workflow_is_opened(
    crime: Crime, truth: dict[str, object]
) -> None:
    store = crime.copied()
    store.delete(crime.row)
    agent = Agent(crime.site.open(store))
    assert agent.workflows(DOCS) != truth["listing"]

    agent.workflow(crime.workflow)

    assert agent.workflows(DOCS) == truth["listing"]


def test_a_removed_keyring_is_no_vault(crime: Crime) -> None:
    store = crime.copied()
    store.delete(layout.revision_name(layout.KEYRING, 1))

    with pytest.raises(NoVaultError):
        crime.site.open(store)


def test_a_workflow_is_not_made_anew_under_a_key_that_was_removed(crime: Crime) -> None:
    store = crime.copied()
    store.delete(layout.revision_name(crime.key_log, 1))
    agent = Agent(crime.site.open(store))

    with pytest.raises(ProblemError) as refusal:
        agent.create("k", chain(6))

    assert refusal.value.code is ProblemCode.INTEGRITY
