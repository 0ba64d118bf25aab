"""Heads of a workflow's log: how they catch up, and who wrote first."""

import msgspec
import pytest

from onceward.sealing import IntegrityError
from onceward_controller.protocol import events
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.workflow import evolve
from onceward_controller.vault import layout
from onceward_controller.vault.body import SNAPSHOT_EVERY, Entry
from onceward_controller.vault.store import ConflictError
from onceward_controller.vault.workflow_log import Head
from tests.support.long_workflow import Long
from tests.support.ports import START_MS
from tests.support.services import Site, cold_head, state_of
from tests.support.stores import CountingStore


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def long(site: Site) -> Long:
    return Long(site)


def test_a_log_that_was_never_written_loads_as_nothing(site: Site) -> None:
    service = site.open()
    workflow = service.vault.naming.workflow_id("docs", "", "none")

    assert service.vault.workflow_log(workflow).load() is None


def test_who_writes_second_conflicts_and_changes_nothing(long: Long) -> None:
    behind = long.head
    long.finish(1)
    stamp = Stamp(revision=behind.tip.revision + 1, ms=START_MS)
    entry = Entry(actor="bob", command="test", events=(events.Paused(),))
    paused = evolve(behind.workflow, events.Paused(), stamp)

    with pytest.raises(ConflictError):
        long.log.append(behind, paused, (entry,), stamp, announce=long.announce)

    assert state_of(cold_head(long.site.open(), long.workflow)) == state_of(long.head)


LAGS = (0, 1, 2, SNAPSHOT_EVERY - 1, SNAPSHOT_EVERY, SNAPSHOT_EVERY + 1, 100)


@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("start", [1, 27, 28, 280], ids="from={}".format)
def test_a_head_catches_up_from_anywhere(long: Long, lag: int, start: int) -> None:
    long.finish(start)
    behind = cold_head(long.site.open(), long.workflow)
    long.finish(start + lag)

    caught_up = long.log.refresh(behind)

    assert state_of(caught_up) == state_of(long.head)
    if lag == 0:
        assert caught_up is behind


def test_a_log_that_is_shorter_than_a_head_is_damage(long: Long) -> None:
    long.finish(3)
    name = layout.revision_name(long.naming.workflow_log(long.workflow), long.head.tip.revision)
    long.site.store.delete(name)

    with pytest.raises(IntegrityError):
        long.log.refresh(long.head)


@pytest.mark.parametrize("lag", [1, SNAPSHOT_EVERY, SNAPSHOT_EVERY + 1, 100])
def test_a_log_that_does_not_continue_a_head_is_damage(long: Long, lag: int) -> None:
    long.finish(2)
    other = Head(
        workflow=long.head.workflow,
        tip=msgspec.structs.replace(long.head.tip, digest=bytes(32)),
        key=long.head.key,
        row=long.head.row,
    )
    long.finish(2 + lag)

    with pytest.raises(IntegrityError):
        long.log.refresh(other)


def test_records_of_one_revision_are_read_once(site: Site) -> None:
    counted = CountingStore(site.store)
    long = Long(site)
    grants = [long.grant(at, 1) for at in range(1, 9)]
    long.append(*grants)
    long.append(*(long.success(at, 1) for at in range(1, 9)))
    reader = site.open(counted)
    head = cold_head(reader, long.workflow)
    counted.reset()

    found = reader.vault.workflow_log(long.workflow).records(head, list(range(1, 9)))

    assert [each.operation.at for each in found] == list(range(1, 9))
    assert dict(counted.calls) == {"get": 1}


def test_bodies_come_in_the_order_they_were_asked_for(long: Long) -> None:
    long.finish(3)
    bodies = long.log.bodies(long.head, [5, 2, 4])

    assert [type(each.entries[0].events[0]).__name__ for each in bodies] == [
        "Reported",
        "Enabled",
        "Granted",
    ]
