"""The row writer: it ends what it was told to write, whatever becomes of the thread that writes."""

from collections.abc import Callable

import pytest

from onceward.ports import Task
from onceward.wire import limits
from onceward.wire.decisions import Execute
from onceward.wire.identifiers import WorkflowId, WorkspaceName
from onceward.wire.messages import RowClass
from onceward_controller.service.rows import RowWriter
from onceward_controller.vault import store as stores
from onceward_controller.vault.store import Store
from tests.support.ports import HeldSpawner
from tests.support.services import DOCS, Agent, Site, chain, warm_head
from tests.support.stores import CountingStore, FaultyStore, ForwardingStore

DOWN = stores.UnavailableError("the store is down")
REFUSED = stores.RefusedError("the credentials may not do this")
LEASE_OVER_MS = limits.LEASE_DEFAULT_MS + limits.CLOCK_ERROR_MS


class NoThreads:
    """A spawner of a process that can start no thread."""

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        raise RuntimeError("can't start new thread")


class WriteOnce(ForwardingStore):
    """A store in which objects can be made and neither replaced nor deleted while ``is_strict``."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.is_strict = False
        self.is_full = False

    def create(self, name: str, body: bytes) -> int:
        if self.is_full:
            raise stores.RefusedError("the disk is full")
        return self._store.create(name, body)

    def put(self, name: str, body: bytes) -> int:
        if self.is_full:
            raise stores.RefusedError("the disk is full")
        return self._store.put(name, body)

    def delete(self, name: str) -> None:
        if self.is_strict:
            raise REFUSED
        self._store.delete(name)


@pytest.fixture
def site() -> Site:
    return Site()


def stored_rows(site: Site) -> list[str]:
    """Return the class of every row in the store."""
    return sorted(name.split("/")[2] for name in site.store.list("i/").names)


def shown(agent: Agent, workspace: WorkspaceName = DOCS) -> dict[WorkflowId, RowClass]:
    return {row.id: row.row_class for row in agent.workflows(workspace).rows}


# ------------------------------------------------------------------------------------- its thread


def test_a_process_that_can_start_no_thread_still_answers_and_writes_its_rows_in_the_end(
    site: Site,
) -> None:
    service = site.open(spawner=NoThreads())
    ann = Agent(service)

    workflow = ann.create("k", chain(2))
    ann.granted(workflow)
    assert stored_rows(site) == ["active", "draft"]
    service.rows.flush()

    assert stored_rows(site) == ["active"]


def test_a_writer_that_a_bug_ended_writes_the_next_row(site: Site) -> None:
    class Broken(CountingStore):
        """Fails once, in no way that the port knows."""

        is_broken = True

        def put(self, name: str, body: bytes) -> int:
            if self.is_broken and "/paused/" in name:
                self.is_broken = False
                raise ZeroDivisionError
            return super().put(name, body)

    held = HeldSpawner()
    service = site.open(Broken(site.store), spawner=held)
    ann = Agent(service)
    workflow = ann.create("k", chain(2))
    held.run()
    ann.pause(workflow)
    with pytest.raises(ZeroDivisionError):
        held.run()

    ann.enable(workflow)
    held.run()
    service.rows.flush()

    assert "ready" in stored_rows(site)


def test_a_flush_ends_although_more_rows_come_without_end(site: Site) -> None:
    ann = Agent(site.open())
    heads = [warm_head(ann.service, ann.create(f"k-{n}", chain(1))) for n in range(3)]

    class Refilling(CountingStore):
        """Each row that is written moves another workflow."""

        def put(self, name: str, body: bytes) -> int:
            rows.heal(heads[1 + self.calls["put"] % 2])
            return super().put(name, body)

    store = Refilling(site.store)
    rows = RowWriter(site.open(store).vault.index, NoThreads())
    rows.heal(heads[0])

    rows.flush()

    assert store.calls["put"] == 1


def test_rows_are_written_in_the_order_in_which_their_workflows_came(site: Site) -> None:
    ann = Agent(site.open())
    first = warm_head(ann.service, ann.create("first", chain(1)))
    second = warm_head(ann.service, ann.create("second", chain(1)))
    written: list[str] = []

    class Watched(CountingStore):
        def put(self, name: str, body: bytes) -> int:
            written.append(name)
            return super().put(name, body)

    held = HeldSpawner()
    service = site.open(Watched(site.store))
    rows = RowWriter(service.vault.index, held)

    rows.heal(first)
    rows.heal(second)
    rows.heal(first)
    held.run()

    index = service.vault.index
    assert written == [index.name(head.workflow.plan, head.row) for head in (first, second)]


def test_a_late_deletion_removes_no_newer_row(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    before = warm_head(ann.service, workflow)
    ann.granted(workflow)
    after = warm_head(ann.service, workflow)
    index, plan = ann.service.vault.index, after.workflow.plan

    # The deletion of a process that slept: what it takes for the older row is the newer.
    index.write(plan, before.row)
    index.clear(plan, before.row, [after.row], through=before.tip.revision)

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
    rows = RowWriter(ann.service.vault.index, held)

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
    # Before the grant, and again after it.
    assert ann.service.rows.failures == 2


# ---------------------------------------------------------------------- stores that cannot clean up


def test_a_listing_shows_everything_where_the_store_refuses_to_delete(site: Site) -> None:
    strict = WriteOnce(site.store)
    ann = Agent(site.open(strict))
    workflow = ann.create("k", chain(2))
    strict.is_strict = True
    ann.granted(workflow)
    assert stored_rows(site) == ["active", "ready"]

    assert shown(Agent(site.open(strict), "bob")) == {workflow: RowClass.ACTIVE}


def test_who_loses_the_race_to_create_gets_the_workflow_although_its_row_stays(site: Site) -> None:
    class Late(WriteOnce):
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
    late.is_strict = True
    ann, bob = Agent(site.open(late)), Agent(site.open(), "bob")
    late.rival = bob

    assert ann.granted(ann.create("k", chain(1))).attempt == 1


def test_a_full_disk_hides_no_listing_while_leases_run_out(site: Site) -> None:
    full = WriteOnce(site.store)
    ann = Agent(site.open(full))
    silent, live = ann.create("silent", chain(1)), ann.create("live", chain(1))
    ann.granted(silent)
    site.clock.pass_ms(LEASE_OVER_MS)
    full.is_full = True

    assert shown(ann) == {silent: RowClass.ACTIVE, live: RowClass.READY}


def test_a_reply_lost_while_a_listing_checks_is_no_failure_of_the_listing(site: Site) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    silent = ann.create("silent", chain(1))
    ann.granted(silent)
    site.clock.pass_ms(LEASE_OVER_MS)
    for _ in range(200):
        faulty.fail("create", stores.OutcomeUnknownError("the reply was lost"), after_effect=False)

    assert shown(ann) == {silent: RowClass.ACTIVE}


# ------------------------------------------------------------------------------ rows left behind


def test_an_active_row_left_behind_goes_when_a_listing_checks_it(site: Site) -> None:
    strict = WriteOnce(site.store)
    ann = Agent(site.open(strict))
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    strict.is_strict = True
    ann.succeed(workflow, grant)
    assert stored_rows(site) == ["active", "done"]
    site.clock.pass_ms(LEASE_OVER_MS)

    bob = Agent(site.open(), "bob")
    page = bob.workflows(DOCS, row_class=RowClass.ACTIVE)

    assert page.rows == ()
    assert stored_rows(site) == ["done"]
