"""The probe accepts a store that keeps its promises and refuses each that does not."""

import itertools

import pytest

from onceward.system import SystemClock, SystemEntropy, ThreadSpawner
from onceward_controller.vault.memory import MemoryStore
from onceward_controller.vault.probe import ProbeReport, examine, probe
from onceward_controller.vault.s3 import connect
from onceward_controller.vault.store import (
    OutcomeUnknownError,
    RefusedError,
    Store,
    UnavailableError,
)
from tests.support.moto_server import running_moto_server
from tests.support.stores import FaultyStore, Lie, LyingStore


def run(store: Store) -> ProbeReport:
    return probe(store, SystemEntropy(), ThreadSpawner())


def failed(report: ProbeReport) -> set[str]:
    return {finding.name for finding in report.findings if not finding.ok}


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore(SystemClock())


def test_a_store_that_keeps_its_promises_passes_every_question(memory: MemoryStore) -> None:
    report = run(memory)

    assert [finding.name for finding in report.findings] == [
        "race",
        "again",
        "listing",
        "paging",
        "blank",
        "delete",
        "time",
    ]
    assert all(finding.ok and finding.seen and not finding.advice for finding in report.findings)


def test_an_s3_store_that_keeps_its_promises_passes() -> None:
    with running_moto_server() as settings:
        store = connect(settings)
        assert run(store).is_safe
        assert store.list("").names == ()
        store.close()


def test_nothing_is_left_behind(memory: MemoryStore) -> None:
    memory.create("aa/w/one/1", b"x")
    run(memory)

    assert memory.list("").names == ("aa/w/one/1",)


def test_two_probes_of_one_store_do_not_meet(memory: MemoryStore) -> None:
    for _ in range(2):
        assert run(memory).is_safe


@pytest.mark.parametrize(
    ("lie", "found_by"),
    [
        pytest.param(Lie.EVERY_RACER_WINS, {"race"}, id="every-racer-wins"),
        pytest.param(
            Lie.SECOND_CREATE_OVERWRITES, {"again", "blank"}, id="second-create-overwrites"
        ),
        pytest.param(
            Lie.SECOND_CREATE_SUCCEEDS, {"again", "blank"}, id="second-create-seems-to-succeed"
        ),
        pytest.param(Lie.CONFLICT_REPLACES, {"again"}, id="a-conflict-replaces"),
        pytest.param(Lie.RACERS_SWAP, {"race"}, id="a-losers-bytes-stay"),
        pytest.param(Lie.LISTS_LATE, {"listing", "paging"}, id="lists-late"),
        pytest.param(Lie.LISTS_DISORDERLY, {"listing", "paging"}, id="lists-out-of-order"),
        pytest.param(Lie.IGNORES_AFTER, {"paging"}, id="ignores-after"),
        pytest.param(Lie.IGNORES_LIMIT, {"paging"}, id="ignores-limit"),
        pytest.param(Lie.GIVES_NO_TIME, {"time"}, id="gives-no-time"),
        pytest.param(Lie.RUNS_BACKWARDS, {"time"}, id="runs-backwards"),
        pytest.param(Lie.BLANK_FREES_THE_NAME, {"blank"}, id="blank-frees-the-name"),
        pytest.param(Lie.BLANK_HIDES_THE_NAME, {"blank"}, id="blank-hides-the-name"),
        pytest.param(Lie.BLANK_KEEPS_THE_CONTENT, {"blank"}, id="blank-keeps-the-content"),
    ],
)
def test_a_store_that_lies_is_refused_with_the_promise_it_broke(
    memory: MemoryStore, lie: Lie, found_by: set[str]
) -> None:
    store = LyingStore(memory, lie)
    report = examine(store, SystemEntropy(), ThreadSpawner())

    assert failed(report) >= found_by
    assert failed(report) <= found_by | {"blank"}
    with pytest.raises(RefusedError, match=min(found_by)):
        run(store)


@pytest.mark.parametrize("lie", [Lie.DELETE_DOES_NOTHING, Lie.DELETE_IS_NOT_IDEMPOTENT])
def test_a_store_that_cannot_delete_is_reported_and_may_be_used(
    memory: MemoryStore, lie: Lie
) -> None:
    report = run(LyingStore(memory, lie))

    assert failed(report) == {"delete"}
    assert report.is_safe


@pytest.mark.parametrize("after_effect", [False, True])
def test_lost_answers_do_not_make_an_honest_store_a_liar(
    memory: MemoryStore, after_effect: bool
) -> None:
    store = FaultyStore(memory)
    for verb in ("create", "blank", "delete"):
        for _ in range(2):
            store.fail(verb, OutcomeUnknownError("lost"), after_effect=after_effect)

    assert not failed(run(store))


@pytest.mark.parametrize(("calls_before", "found_by"), [(0, "listing"), (2, "paging")])
def test_a_listing_that_the_store_layer_itself_refuses_is_a_finding(
    memory: MemoryStore, calls_before: int, found_by: str
) -> None:
    store = FaultyStore(memory)
    disorder = RefusedError("the names are out of order")
    store.fail("list", disorder, after_effect=False, calls_before=calls_before)
    report = examine(store, SystemEntropy(), ThreadSpawner())

    assert [(each.name, each.seen) for each in report.findings if not each.ok] == [
        (found_by, "the names are out of order")
    ]


def test_a_store_that_cannot_be_asked_is_neither_safe_nor_unsafe(memory: MemoryStore) -> None:
    store = FaultyStore(memory)
    store.fail("create", UnavailableError("away"), after_effect=False)

    with pytest.raises(UnavailableError):
        run(store)
    assert memory.list("").names == ()


def test_a_store_whose_answers_keep_getting_lost_is_not_judged(memory: MemoryStore) -> None:
    store = FaultyStore(memory)
    for _ in itertools.repeat(None, 100):
        store.fail("create", OutcomeUnknownError("lost"), after_effect=True)

    with pytest.raises(OutcomeUnknownError):
        run(store)


def test_a_blank_whose_answer_keeps_getting_lost_is_not_judged(memory: MemoryStore) -> None:
    store = FaultyStore(memory)
    for _ in range(4):
        store.fail("blank", OutcomeUnknownError("lost"), after_effect=True)

    with pytest.raises(OutcomeUnknownError):
        run(store)
