"""What reading costs: cold, and whenever an answer must not rest on a stale head."""

from collections.abc import Callable

import pytest

from onceward.ports import Task
from onceward.wire import limits
from onceward.wire.decisions import Reuse, Stop, StopReason, Wait
from onceward.wire.identifiers import WorkflowId
from onceward.wire.receipts import Outcome
from onceward_controller.vault.store import PAGE_NAMES_MAX, Page, Stored
from tests.support.ports import HeldSpawner
from tests.support.services import Agent, Site, chain, cold_head, warm_head
from tests.support.stores import CountingStore, ForwardingStore


class Journal(ForwardingStore):
    """A store that writes down each read as it is made."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.store)
        self.reads: list[str] = []

    def get(self, name: str) -> Stored | None:
        self.reads.append("get")
        return self._store.get(name)

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        self.reads.append("list")
        return self._store.list(prefix, after=after, limit=limit)


class RoundTrips:
    """A spawner whose threads start when somebody waits: all that run then ran side by side."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []
        self.widths: list[int] = []

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        self._waiting.append(work)
        return self

    def join(self, timeout_ms: int | None = None) -> bool:
        together, self._waiting = self._waiting, []
        if together:
            self.widths.append(len(together))
        for work in together:
            work()
        return True


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def counted(site: Site) -> CountingStore:
    return CountingStore(site.store)


def lengthened(site: Site, agent: Agent, workflow: WorkflowId, revisions: int) -> None:
    """Let the log grow to exactly ``revisions``: pauses, and one renewal where two are too many."""
    grant = agent.granted(workflow)
    length = warm_head(agent.service, workflow).tip.revision
    while length < revisions - 1:
        agent.pause(workflow)
        length = agent.enable(workflow).revision
    if length < revisions:
        site.clock.pass_ms(limits.SECOND_MS)
        agent.renewed(workflow, grant)


# -------------------------------------------------------------------------------------- cold reads


@pytest.mark.parametrize("beyond", [0, 1, 31], ids=["on-a-snapshot", "just-after", "just-before"])
def test_a_cold_decision_on_a_long_log_is_two_round_trips(site: Site, beyond: int) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    workflow = ann.create("k", chain(4))
    ann.step(workflow, ann.granted(workflow))
    lengthened(site, ann, workflow, 512 + beyond)
    journal, trips = Journal(site), RoundTrips()
    cold = site.open(journal, spawner=trips, reads_at_once=64)
    journal.reads.clear()

    head = cold_head(cold, workflow)

    assert head.tip.revision == 512 + beyond
    assert trips.widths[0] == 2
    assert len(trips.widths) == 2
    assert journal.reads[:2] == ["list", "list"]
    assert set(journal.reads[2:]) == {"get"}
    assert len(journal.reads[2:]) == 2 + 1 + beyond <= 34


def test_a_cold_grant_adds_its_own_create_and_nothing_else(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open(spawner=HeldSpawner()))
    workflow = ann.create("k", chain(4, query=True))
    lengthened(site, ann, workflow, 543)
    site.clock.pass_ms(limits.HOUR_MS)
    bob = Agent(site.open(counted, spawner=HeldSpawner()), "bob")
    counted.reset()

    bob.granted(workflow)

    assert dict(counted.calls) == {"list": 2, "get": 34, "create": 1}


def test_a_cold_read_of_a_short_log_reads_each_revision_once(
    site: Site, counted: CountingStore
) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(3))
    ann.run_all(workflow)
    cold = site.open(counted)
    counted.reset()

    head = cold_head(cold, workflow)

    assert dict(counted.calls) == {"list": 2, "get": head.tip.revision + 1}


def test_catching_up_by_a_few_revisions_reads_only_those(
    site: Site, counted: CountingStore
) -> None:
    ann, bob = Agent(site.open()), Agent(site.open(counted), "bob")
    workflow = ann.create("k", chain(20))
    bob.workflow(workflow)
    for _ in range(3):
        ann.succeed(workflow, ann.granted(workflow))
    counted.reset()

    assert bob.granted(workflow).operation == "op-3"

    # One create that lost, one list, six new revisions, one create that won; and the row.
    assert counted.calls["create"] == 2
    assert counted.calls["list"] == 1
    assert counted.calls["get"] == 6


# -------------------------------------------------------------------------- never from a stale head


def test_a_pause_elsewhere_is_heard_before_a_wait_is_answered(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(2))
    here.granted(workflow)
    there.pause(workflow)

    answer = here.ask(workflow)

    assert isinstance(answer, Stop)
    assert answer.reason is StopReason.PAUSED


def test_a_pause_elsewhere_is_heard_before_a_grant(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(2))
    there.pause(workflow)

    answer = here.ask(workflow)

    assert isinstance(answer, Stop)
    assert answer.reason is StopReason.PAUSED


def test_a_pause_elsewhere_is_heard_when_a_receipt_is_handed_in(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(2))
    grant = here.granted(workflow)
    there.pause(workflow)

    answer = here.step(workflow, grant)

    assert isinstance(answer, Stop)
    assert answer.reason is StopReason.PAUSED


def test_an_end_of_a_pause_elsewhere_is_heard_before_a_stop_is_answered(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(2))
    here.pause(workflow)
    there.enable(workflow)

    assert here.granted(workflow).attempt == 1


def test_a_success_elsewhere_is_reused_not_waited_for(site: Site) -> None:
    here, there = Agent(site.open()), Agent(site.open(), "bob")
    workflow = here.create("k", chain(1))
    grant = there.granted(workflow)
    assert isinstance(here.ask(workflow, "op-0"), Wait)
    there.report(workflow, grant, Outcome.SUCCEEDED)

    assert isinstance(here.ask(workflow, "op-0"), Reuse)
