"""Rows that somebody changed, and what a reader without a memory cannot tell."""

import pytest

from onceward.wire import messages
from onceward.wire.decisions import Execute, Reuse
from onceward.wire.messages import RowClass, WorkflowPage
from onceward.wire.problems import ProblemCode, ProblemError
from onceward_controller.vault import layout
from onceward_controller.vault.keys.keyring import NoVaultError
from tests.support.damage import DAMAGED, Crime, assert_same_or_damaged
from tests.support.services import ADMIN, DOCS, Agent, chain


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


# ---------------------------------------------------------------------------------------- rows


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
