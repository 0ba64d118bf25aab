"""A bucket whose objects somebody changed: an error that says so, or the state as it was.

Every kind of object is changed in every way that needs no key, and a service that knows nothing
asks all that can be asked. Each answer is the one from before the change, or ``integrity``; never
another state, a shorter one, or another error.

What no reader without a memory can tell is at the end: an object that is gone from where nothing
points at it. A process that has seen more does tell (``tests/unit/test_transact.py``).
"""

from collections.abc import Callable

import pytest

from onceward.wire.decisions import Execute, Reuse
from onceward_controller.vault import layout
from tests.support.damage import (
    DAMAGED,
    QUESTIONS,
    Crime,
    assert_same_or_damaged,
    body,
)


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
