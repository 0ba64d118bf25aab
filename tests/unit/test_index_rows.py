"""Where the row of a workflow lies after each move, crash and race."""

import pytest

from onceward.wire import limits, messages
from onceward.wire.decisions import Stop, StopReason
from onceward.wire.identifiers import WorkflowId, WorkspaceName
from onceward.wire.messages import RowClass, WorkflowStatus
from onceward.wire.receipts import Outcome
from onceward_controller.service.rows import RowWriter
from onceward_controller.service.service import Service
from onceward_controller.vault import store as stores
from tests.support.ports import HeldSpawner
from tests.support.services import DOCS, Agent, Site, chain, cold_head
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


def crashed_before_delete(site: Site) -> tuple[Agent, WorkflowId]:
    """Return a workflow whose newest row was written and whose older one was not deleted."""
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(2))
    faulty.fail("delete", DOWN, after_effect=False)
    ann.granted(workflow)
    assert sorted(stored_rows(site)) == ["active", "ready"]
    return ann, workflow


# --------------------------------------------------------------------------------- what crashed


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
    for _ in range(2):  # Before the grant, and again after it.
        faulty.fail("put", DOWN, after_effect=False)
    grant = ann.granted(workflow)
    assert stored_rows(site) == ["ready"]

    ann.pause(workflow)

    assert stored_rows(site) == ["paused"]
    assert ann.succeed(workflow, grant)


def test_a_row_that_was_never_written_comes_when_the_workflow_is_opened(site: Site) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    workflow = ann.create("k", chain(2))
    bob = Agent(site.open(), "bob")
    assert shown(bob) == {workflow: RowClass.DRAFT}

    bob.workflow(workflow)

    assert shown(bob) == {workflow: RowClass.READY}


def test_an_attempt_whose_process_dies_at_once_is_shown_and_then_needs_a_person(
    site: Site,
) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    workflow = ann.create("k", chain(2))
    grant = ann.granted(workflow)
    bob = Agent(site.open(), "bob")
    assert shown(bob) == {workflow: RowClass.ACTIVE}

    site.clock.pass_ms(grant.lease_ms + limits.CLOCK_ERROR_MS)

    assert shown(bob) == {workflow: RowClass.ATTENTION}


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


def writer_of(service: Service, spawner: HeldSpawner) -> RowWriter:
    return RowWriter(service.vault.index, spawner)
