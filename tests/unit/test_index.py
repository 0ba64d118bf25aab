"""Index rows as a listing reads them: their names, and pages of them."""

import msgspec
import pytest

from onceward.wire import limits, messages
from onceward.wire.identifiers import WorkflowId, WorkspaceName
from onceward.wire.messages import RowClass, WorkflowStatus
from onceward.wire.problems import InvalidError
from onceward_controller.protocol.plan import Identity, Plan
from onceward_controller.protocol.rows import Row
from onceward_controller.vault.index import TEXT_BYTES_MAX, Index
from onceward_controller.vault.store import NAME_BYTES_MAX
from tests.support.ports import HeldSpawner
from tests.support.services import DOCS, Agent, Site, chain, cold_head
from tests.support.stores import CountingStore


@pytest.fixture
def site() -> Site:
    return Site()


def shown(agent: Agent, workspace: WorkspaceName = DOCS) -> dict[WorkflowId, RowClass]:
    """Return the class of each workflow in one page of everything, and fail for a repeat."""
    rows = agent.workflows(workspace, limit=1_000).rows
    assert len({row.id for row in rows}) == len(rows)
    return {row.id: row.row_class for row in rows}


TEXTS = {
    "short": "k",
    "longest": "k" * limits.KEY_CHARACTERS_MAX,
    "two bytes each": "é" * limits.KEY_CHARACTERS_MAX,
    "three bytes each": "順" * limits.KEY_CHARACTERS_MAX,
    "four bytes each": "🗄" * limits.KEY_CHARACTERS_MAX,
    "cut inside a character": "x" * (TEXT_BYTES_MAX - 4) + "🗄" * 3,
    "slashes and line ends": "../../\n\x00//" * 20,
}


# ------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("row_class", RowClass)
def test_a_name_fits_whatever_the_row_says(site: Site, text: str, row_class: RowClass) -> None:
    service = site.open()
    index: Index = service.vault.index
    plan = Plan(
        identity=Identity(
            id=service.vault.naming.workflow_id("docs", "", text),
            workspace="w" * limits.NAME_CHARACTERS_MAX,
            authority="",
            key=text,
            label=text[: limits.LABEL_CHARACTERS_MAX],
            tags=(),
            created_by="ann",
            created_ms=0,
        ),
        operations=chain(limits.OPERATIONS_MAX),
        digest="",
    )
    row = Row(
        row_class=row_class,
        at_ms=limits.INTEGER_MAX >> 5,
        revision=40_000,
        status=WorkflowStatus.COMPLETED,
        succeeded=limits.OPERATIONS_MAX,
        note="n" * limits.NAME_CHARACTERS_MAX,
    )

    name = index.name(plan, row)

    assert len(name) <= NAME_BYTES_MAX
    assert set(name) <= set("0123456789abcdefghijklmnopqrstuvwxyz/")
    assert all(0 < len(part) <= 255 for part in name.split("/"))
    index.write(plan, row)
    [found] = index.page(plan.identity.workspace, row_class, after="", limit=10).found
    assert found.summary.row == row
    assert text.startswith(found.summary.key.removesuffix("…"))
    assert len(found.summary.key.encode()) <= TEXT_BYTES_MAX


def test_a_row_has_one_name(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    head = cold_head(site.open(), workflow)

    [stored] = site.store.list("i/").names
    assert ann.service.vault.index.name(head.workflow.plan, head.row) == stored
    moved = msgspec.structs.replace(head.row, revision=head.row.revision + 1)
    assert ann.service.vault.index.name(head.workflow.plan, moved) != stored


def pages(agent: Agent, *, limit: int, row_class: RowClass | None = None) -> list[WorkflowId]:
    found: list[WorkflowId] = []
    after = ""
    while True:
        page = agent.workflows(DOCS, row_class=row_class, after=after, limit=limit)
        assert len(page.rows) <= limit
        found += [row.id for row in page.rows]
        after = page.after
        if not after:
            return found


# ----------------------------------------------------------------------------------------- pages


def test_two_thousand_workflows_are_listed_page_by_page_without_loss_or_repeat(
    site: Site,
) -> None:
    ann = Agent(site.open())
    one = chain(1)
    made: list[WorkflowId] = []
    for number in range(2_000):
        if number % 3:
            body = messages.CreateWorkflow(key=f"k-{number}", operations=one)
            made.append(ann.create_workflow(DOCS, body).id)
        else:
            made.append(ann.create(f"k-{number}", one))
        site.clock.pass_ms(1)

    counted = CountingStore(site.store)
    bob = Agent(site.open(counted), "bob")
    counted.reset()
    found = pages(bob, limit=250)

    assert len(found) == 2_000
    assert set(found) == set(made)
    assert set(counted.calls) == {"list"}
    drafts = pages(bob, limit=99, row_class=RowClass.DRAFT)
    assert drafts == [each for number, each in enumerate(made) if number % 3][::-1]
    assert set(pages(bob, limit=1_000)) == set(made)


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_of_any_size_hold_every_class_once_in_order(site: Site, limit: int) -> None:
    ann = Agent(site.open())
    drafted = ann.create_workflow(DOCS, messages.CreateWorkflow(key="d", operations=chain(1))).id
    ready, paused, active, done = (ann.create(key, chain(1)) for key in ("r", "p", "a", "f"))
    ann.pause(paused)
    ann.granted(active)
    ann.run_all(done)

    assert pages(ann, limit=limit) == [active, ready, paused, drafted, done]


def test_another_workspace_shows_nothing_of_this_one(site: Site) -> None:
    ann = Agent(site.open())
    ann.create("k", chain(1))

    assert shown(ann, WorkspaceName("elsewhere")) == {}
    assert ann.workflows(WorkspaceName("elsewhere"), key="k").rows == ()


def test_a_workflow_is_found_by_its_key_from_the_log_alone(site: Site) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    workflow = ann.create("k", chain(2))
    ann.granted(workflow)

    [row] = ann.workflows(DOCS, key="k").rows

    assert (row.id, row.row_class) == (workflow, RowClass.ACTIVE)
    assert ann.workflows(DOCS, key="other").rows == ()


@pytest.mark.parametrize("after", ["x", "ready:", "ready:zz/w/1", "nowhere:i/x", ":i/x"])
def test_a_page_that_continues_nothing_is_refused(site: Site, after: str) -> None:
    ann = Agent(site.open())
    with pytest.raises(InvalidError):
        ann.workflows(DOCS, after=after)


def test_a_cursor_into_another_workspace_shows_nothing_of_it(site: Site) -> None:
    ann = Agent(site.open())
    ann.create("mine", chain(1))
    other = WorkspaceName("other")
    ann.create_workflow(other, messages.CreateWorkflow(key="k", operations=chain(1)))
    theirs = next(
        name
        for name in site.store.list("i/").names
        if ann.service.vault.naming.workspace("other") in name
    )

    page = ann.workflows(DOCS, after=f"draft:{theirs[:40]}")

    assert all(row.key == "mine" for row in page.rows)
