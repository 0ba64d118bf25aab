"""Index rows: a listing shows what is there, and heals what a crash left."""

import msgspec
import pytest

from onceward.wire import limits, messages
from onceward.wire.decisions import Execute, Stop, StopReason
from onceward.wire.identifiers import WorkflowId, WorkspaceName
from onceward.wire.messages import RowClass, WorkflowStatus
from onceward.wire.problems import InvalidError
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.plan import Identity, Plan
from onceward_controller.protocol.rows import Row
from onceward_controller.service.rows import RowWriter
from onceward_controller.service.service import Service
from onceward_controller.vault import store as stores
from onceward_controller.vault.index import TEXT_BYTES_MAX, Index
from onceward_controller.vault.store import NAME_BYTES_MAX
from tests.support.ports import HeldSpawner
from tests.support.services import DOCS, Agent, Site, chain, cold_head, warm_head
from tests.support.stores import CountingStore, FaultyStore

DOWN = stores.UnavailableError("the store is down")
LEASE_OVER_MS = limits.LEASE_DEFAULT_MS + limits.CLOCK_ERROR_MS


@pytest.fixture
def site() -> Site:
    return Site()


def shown(agent: Agent, workspace: WorkspaceName = DOCS) -> dict[WorkflowId, RowClass]:
    """Return the class of each workflow in one page of everything, and fail for a repeat."""
    rows = agent.workflows(workspace, limit=1_000).rows
    assert len({row.id for row in rows}) == len(rows)
    return {row.id: row.row_class for row in rows}


def stored_rows(site: Site) -> list[str]:
    """Return the class of each row in the store."""
    return [name.split("/")[2] for name in site.store.list("i/").names]


# ----------------------------------------------------------------------------- where rows go


def test_a_workflow_is_listed_as_soon_as_its_creation_is_answered(site: Site) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    body = messages.CreateWorkflow(key="k", operations=chain(3), label="a label")
    workflow = ann.create_workflow(DOCS, body).id

    [row] = ann.workflows(DOCS).rows

    assert row.id == workflow
    assert row.row_class is RowClass.DRAFT
    assert (row.key, row.label, row.operations, row.succeeded) == ("k", "a label", 3, 0)
    assert row.status is WorkflowStatus.DRAFT
    assert row.at_ms == site.clock.wall_ms()


def test_a_row_follows_its_workflow_and_leaves_nothing_behind(site: Site) -> None:
    ann = Agent(site.open())
    body = messages.CreateWorkflow(key="k", operations=chain(2))
    workflow = ann.create_workflow(DOCS, body).id
    seen = [stored_rows(site)]
    for act in (ann.enable, ann.pause, ann.enable):
        act(workflow)
        seen.append(stored_rows(site))
    grant = ann.granted(workflow)
    seen.append(stored_rows(site))
    ann.succeed(workflow, grant)
    seen.append(stored_rows(site))
    ann.run_all(workflow)
    seen.append(stored_rows(site))

    expected = ["draft", "ready", "paused", "ready", "active", "ready", "done"]
    assert seen == [[each] for each in expected]
    [row] = ann.workflows(DOCS).rows
    assert (row.row_class, row.status, row.succeeded) == (
        RowClass.DONE,
        WorkflowStatus.COMPLETED,
        2,
    )


def test_a_stop_for_a_person_moves_the_row_to_attention_and_names_the_operation(
    site: Site,
) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    ann.granted(workflow)
    site.clock.pass_ms(LEASE_OVER_MS)

    stop = Agent(ann.service, "bob").ask(workflow)

    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.NEEDS_DECISION
    assert stored_rows(site) == ["attention"]
    [row] = ann.workflows(DOCS).rows
    assert row.note == "op-0"


def test_a_persons_word_takes_the_row_out_of_attention(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    ann.granted(workflow)
    site.clock.pass_ms(LEASE_OVER_MS)
    assert shown(ann) == {workflow: RowClass.ATTENTION}

    revision = ann.workflow(workflow).revision
    ann.attest(workflow, "op-0", Outcome.SUCCEEDED, revision=revision)

    assert stored_rows(site) == ["done"]


def test_a_listing_checks_active_workflows_whose_lease_ran_out(site: Site) -> None:
    ann = Agent(site.open())
    silent, live = ann.create("silent", chain(1)), ann.create("live", chain(1))
    ann.granted(silent)
    site.clock.pass_ms(LEASE_OVER_MS)
    ann.granted(live)

    assert shown(Agent(site.open(), "bob")) == {
        silent: RowClass.ATTENTION,
        live: RowClass.ACTIVE,
    }
    assert sorted(stored_rows(site)) == ["active", "attention"]


def test_a_listing_checks_what_is_due_and_nothing_else(site: Site) -> None:
    ann = Agent(site.open())
    for number in range(20):
        ann.granted(ann.create(f"k-{number}", chain(1)))
    counted = CountingStore(site.store)
    bob = Agent(site.open(counted), "bob")
    counted.reset()

    assert len(shown(bob)) == 20

    # One look at what is due, then one LIST for each class.
    assert dict(counted.calls) == {"list": 1 + len(RowClass)}


# --------------------------------------------------------------------------------- what crashed


def crashed_before_delete(site: Site) -> tuple[Agent, WorkflowId]:
    """Return a workflow whose newest row was written and whose older one was not deleted."""
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(2))
    faulty.fail("delete", DOWN, after_effect=False)
    ann.granted(workflow)
    assert sorted(stored_rows(site)) == ["active", "ready"]
    return ann, workflow


def test_of_two_rows_a_listing_believes_the_newer_and_drops_the_older(site: Site) -> None:
    _, workflow = crashed_before_delete(site)

    assert shown(Agent(site.open(), "bob")) == {workflow: RowClass.ACTIVE}
    assert stored_rows(site) == ["active"]


def test_opening_a_workflow_removes_the_row_that_a_crash_left(site: Site) -> None:
    _, workflow = crashed_before_delete(site)

    Agent(site.open(), "bob").workflow(workflow)

    assert stored_rows(site) == ["active"]


def test_the_next_move_removes_the_row_that_could_not_be_deleted(site: Site) -> None:
    ann, workflow = crashed_before_delete(site)

    ann.succeed(workflow, ann.granted(workflow))
    ann.run_all(workflow)

    assert stored_rows(site) == ["done"]


def test_the_next_move_removes_the_row_before_one_that_could_not_be_written(site: Site) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(2))
    faulty.fail("put", DOWN, after_effect=False)
    grant = ann.granted(workflow)
    assert stored_rows(site) == ["ready"]

    ann.pause(workflow)

    assert stored_rows(site) == ["paused"]
    assert ann.succeed(workflow, grant)


def test_a_row_that_was_never_written_comes_when_the_workflow_is_opened(site: Site) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    workflow = ann.create("k", chain(2))
    ann.granted(workflow)
    bob = Agent(site.open(), "bob")
    assert shown(bob) == {workflow: RowClass.DRAFT}

    bob.workflow(workflow)

    assert shown(bob) == {workflow: RowClass.ACTIVE}


def test_a_crash_before_revision_1_leaves_a_row_that_leads_nowhere_and_the_key_is_free(
    site: Site,
) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    faulty.fail(
        "create", stores.RefusedError("no"), after_effect=False, calls_before=1
    )  # The data key goes through.
    with pytest.raises(Exception, match="refuses"):
        ann.create("k", chain(1))
    assert stored_rows(site) == ["draft"]

    site.clock.pass_ms(1_000)
    workflow = ann.create("k", chain(1))

    assert shown(ann) == {workflow: RowClass.READY}
    assert stored_rows(site) == ["ready"]


def test_who_loses_the_race_to_create_leaves_no_row(site: Site) -> None:
    class Late(CountingStore):
        """Somebody else creates the workflow between our row and our revision."""

        rival: Agent | None = None

        def put(self, name: str, body: bytes) -> int:
            answered = super().put(name, body)
            if self.rival is not None:
                rival, self.rival = self.rival, None
                site.clock.pass_ms(5)
                rival.create("k", chain(1))
            return answered

    late = Late(site.store)
    ann, bob = Agent(site.open(late)), Agent(site.open(), "bob")
    late.rival = bob

    workflow = ann.create("k", chain(1))

    assert stored_rows(site) == ["ready"]
    assert cold_head(site.open(), workflow).workflow.plan.identity.created_by == "bob"


# -------------------------------------------------------------------------------- the row writer


def writer_of(service: Service, spawner: HeldSpawner) -> RowWriter:
    return RowWriter(service.vault.index, spawner)


def test_a_late_deletion_removes_no_newer_row(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    before = warm_head(ann.service, workflow)
    ann.granted(workflow)
    after = warm_head(ann.service, workflow)
    index, plan = ann.service.vault.index, after.workflow.plan

    # The deletion of a process that slept: what it takes for the older row is the newer.
    index.write(plan, before.row, [after.row])

    assert sorted(stored_rows(site)) == ["active", "ready"]
    assert shown(Agent(site.open(), "bob")) == {workflow: RowClass.ACTIVE}


def test_a_reader_with_an_older_head_takes_no_newer_row_from_the_queue(site: Site) -> None:
    held = HeldSpawner()
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    before = warm_head(ann.service, workflow)
    elsewhere = Agent(site.open(spawner=HeldSpawner()), "bob")
    elsewhere.granted(workflow)
    after = warm_head(elsewhere.service, workflow)
    rows = writer_of(ann.service, held)

    rows.moved(after)
    rows.heal(before)
    held.run()

    assert stored_rows(site) == ["active"]


def test_moves_that_overtake_the_writer_leave_the_newest_row_alone(site: Site) -> None:
    held = HeldSpawner()
    ann = Agent(site.open(spawner=held))
    workflow = ann.create("k", chain(3))
    ann.run_all(workflow)
    held.run()

    assert stored_rows(site) == ["done"]


def test_a_store_without_rows_stops_nobody_and_is_counted(site: Site) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(1))
    for _ in range(2):
        faulty.fail("put", DOWN, after_effect=False)

    assert isinstance(ann.ask(workflow), Execute)
    assert ann.service.rows.failures == 1


# ------------------------------------------------------------------------------------------ names


TEXTS = {
    "short": "k",
    "longest": "k" * limits.KEY_CHARACTERS_MAX,
    "two bytes each": "é" * limits.KEY_CHARACTERS_MAX,
    "three bytes each": "順" * limits.KEY_CHARACTERS_MAX,
    "four bytes each": "🗄" * limits.KEY_CHARACTERS_MAX,
    "cut inside a character": "x" * (TEXT_BYTES_MAX - 4) + "🗄" * 3,
    "slashes and line ends": "../../\n\x00//" * 20,
}


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


# ----------------------------------------------------------------------------------------- pages


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
