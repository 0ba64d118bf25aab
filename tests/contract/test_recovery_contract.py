"""What every client does when an outcome is unknown, a reply is lost, or a person has to say."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

import onceward as ow
from onceward.client import Client
from onceward.wire.messages import OperationStatus
from tests.support.destination import Destination, created
from tests.support.faulty_controller import FaultyController
from tests.support.open_controllers import Open

WAIT = timedelta(seconds=20)


def test_a_tool_that_raises_without_capability_stops_for_a_person(client: Client) -> None:
    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        raise ConnectionError("secret")

    work = created(client, "k", "a", tool=upload)

    with pytest.raises(ow.Stopped) as caught:
        client.run(work, [upload])

    assert caught.value.reason is ow.StopReason.NEEDS_DECISION
    (operation,) = client.workflow(work).operations
    assert operation.status is OperationStatus.UNCERTAIN
    assert "secret" not in repr(client.workflow(work))


def test_an_unknown_outcome_is_looked_up_by_a_tool_that_can(
    client: Client, destination: Destination
) -> None:
    @ow.tool("upload", query=destination.find)
    def upload(call: ow.Call) -> ow.Receipt:
        destination.put(call)
        raise ConnectionError

    work = created(client, "k", "a", tool=upload)

    assert client.run(work, [upload]) == {"a": "found"}
    assert len(destination.effects) == 1


def test_an_unknown_outcome_is_repeated_under_the_same_key(client: Client) -> None:
    keys: list[str] = []
    modes: list[ow.Mode] = []

    @ow.tool("upload", idempotency=timedelta(hours=24), retry=ow.Retry(first=timedelta(0)))
    def upload(call: ow.Call) -> ow.Receipt:
        keys.append(call.idempotency_key)
        modes.append(call.mode)
        if call.mode is ow.Mode.EXECUTE:
            raise ConnectionError
        return call.succeeded()

    work = created(client, "k", "a", tool=upload)

    client.run(work, [upload], wait=WAIT)

    assert len(set(keys)) == 1
    assert modes == [ow.Mode.EXECUTE, ow.Mode.REPEAT]


def test_what_did_not_happen_is_tried_again_as_declared(client: Client) -> None:
    tries: list[int] = []

    @ow.tool("upload", retry=ow.Retry(attempts=2, first=timedelta(milliseconds=20)))
    def upload(call: ow.Call) -> ow.Receipt:
        tries.append(call.attempt)
        raise ow.NotExecuted("the bucket is read-only")

    work = created(client, "k", "a", tool=upload)

    with pytest.raises(ow.Stopped) as caught:
        client.run(work, [upload], wait=WAIT)

    assert caught.value.reason is ow.StopReason.NOT_EXECUTED
    assert tries == [1, 2]


def test_a_person_settles_what_stopped_and_the_rest_goes_on(
    client: Client, destination: Destination, upload: ow.Tool
) -> None:
    @ow.tool("send")
    def send(call: ow.Call) -> ow.Receipt:
        raise TimeoutError

    work = client.create("k", [send.operation("a"), upload.operation("b", {"n": 2})]).id
    client.enable(work)
    with pytest.raises(ow.Stopped):
        client.run(work, [send, upload])

    client.resolve(
        work,
        "a",
        ow.Outcome.SUCCEEDED,
        evidence="seen in the outbox",
        revision=client.workflow(work).revision,
        effect_id="mail-1",
        result="sent",
    )

    assert client.run(work, [send, upload]) == {"a": "sent", "b": {"n": 2}}


def test_a_word_on_a_state_that_has_changed_is_a_conflict(client: Client, upload: ow.Tool) -> None:
    work = created(client, "k", "a", tool=upload)

    with pytest.raises(ow.ConflictError):
        client.abandon(work, evidence="no longer wanted", revision=1)


def test_an_abandoned_workflow_never_runs(client: Client, upload: ow.Tool) -> None:
    work = client.create("k", [upload.operation("a")])
    client.abandon(work.id, evidence="no longer wanted", revision=work.revision)

    with pytest.raises(ow.Stopped) as caught:
        client.run(work.id, [upload])

    assert caught.value.reason is ow.StopReason.ABANDONED


def test_two_processes_on_one_workflow_make_each_effect_once(
    connect: Callable[[], Client], upload: ow.Tool, destination: Destination
) -> None:
    names = [f"o{number}" for number in range(5)]
    work = created(connect(), "k", *names, tool=upload)
    clients = [connect(), connect()]
    results: list[dict[str, object]] = []

    def run(client: Client) -> None:
        results.append(client.run(work, [upload], wait=WAIT))

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [{name: {"name": name} for name in names}] * 2
    assert len(destination.effects) == len(set(destination.effects)) == 5


@pytest.mark.parametrize("after_effect", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("verb", ["begin", "complete"])
def test_a_lost_reply_makes_no_second_effect(
    open_controller: Open,
    upload: ow.Tool,
    destination: Destination,
    verb: str,
    after_effect: bool,
) -> None:
    faulty = FaultyController(open_controller())
    faulty.lose(verb, after_effect=after_effect)
    with Client.over(faulty.controller) as client:
        work = created(client, "k", "a", "b", "c", tool=upload)

        assert len(client.run(work, [upload])) == 3

        attempts = [len(operation.attempts) for operation in client.workflow(work).operations]

    assert len(destination.effects) == 3
    assert attempts == [1, 1, 1]
