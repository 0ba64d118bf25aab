"""What every client keeps, whether its controller is in this process or behind HTTP."""

import asyncio

import pytest

import onceward as ow
from onceward.client import Client
from onceward.wire.limits import ARGUMENTS_BYTES_MAX, KIB
from onceward.wire.messages import OperationStatus, RowClass, WorkflowStatus
from tests.support.destination import Destination, created
from tests.support.faulty_controller import FaultyController
from tests.support.open_controllers import Open


def test_the_same_key_and_operations_are_the_same_workflow(client: Client, upload: ow.Tool) -> None:
    first = client.create("k", [upload.operation("a", {"n": 1})], label="Report", tags=["r-17"])
    second = client.create("k", [upload.operation("a", {"n": 1})])

    assert first == second
    assert first.status is WorkflowStatus.DRAFT
    assert first.label == "Report"


def test_the_same_key_with_other_operations_is_a_conflict(client: Client, upload: ow.Tool) -> None:
    client.create("k", [upload.operation("a", {"n": 1})])

    with pytest.raises(ow.ConflictError) as caught:
        client.create("k", [upload.operation("a", {"n": 2})])

    assert caught.value.code == "definition_conflict"
    assert "arguments" in caught.value.detail


def test_a_definition_that_cannot_mean_anything_is_refused(client: Client, upload: ow.Tool) -> None:
    with pytest.raises(ow.InvalidError):
        client.create("k", [upload.operation("a", after=["nobody"])])


def test_a_chain_runs_to_its_end_and_a_second_run_repeats_nothing(
    client: Client, upload: ow.Tool, destination: Destination
) -> None:
    work = created(client, "k", "a", "b", "c", tool=upload)

    first = client.run(work, [upload])
    second = client.run(work, [upload])

    assert first == second == {name: {"name": name} for name in ("a", "b", "c")}
    assert len(destination.effects) == 3
    assert client.workflow(work).status is WorkflowStatus.COMPLETED


def test_one_operation_of_many_can_be_run_and_reused(
    client: Client, upload: ow.Tool, destination: Destination
) -> None:
    work = created(client, "k", "a", "b", tool=upload)

    assert client.run_operation(work, "a", [upload]) == {"name": "a"}
    assert client.run_operation(work, "a", [upload]) == {"name": "a"}
    assert len(destination.effects) == 1
    assert client.workflow(work).operations[1].status is OperationStatus.PENDING


def test_an_operation_that_waits_for_another_says_so(client: Client, upload: ow.Tool) -> None:
    work = created(client, "k", "a", "b", tool=upload)

    with pytest.raises(ow.Stopped) as caught:
        client.run_operation(work, "b", [upload])

    assert caught.value.predecessor == "a"


@pytest.mark.parametrize("is_paused", [False, True], ids=["draft", "paused"])
def test_what_nobody_enabled_or_somebody_paused_does_not_run(
    client: Client, upload: ow.Tool, destination: Destination, is_paused: bool
) -> None:
    work = client.create("k", [upload.operation("a")]).id
    if is_paused:
        client.enable(work)
        client.pause(work)

    with pytest.raises(ow.Stopped) as caught:
        client.run(work, [upload])

    assert caught.value.reason is (ow.StopReason.PAUSED if is_paused else ow.StopReason.NOT_ENABLED)
    assert destination.effects == []


def test_an_unknown_workflow_is_not_found(client: Client, upload: ow.Tool) -> None:
    with pytest.raises(ow.NotFoundError):
        client.run("wf_" + "0" * 32, [upload])


def test_an_operation_of_a_tool_that_is_not_here_is_left_to_others(
    client: Client, upload: ow.Tool, destination: Destination
) -> None:
    work = created(client, "k", "a", tool=upload)

    with pytest.raises(ow.Stopped) as caught:
        client.run(work, [ow.Tool("delete", execute=destination.put)])

    assert caught.value.reason is ow.StopReason.UNKNOWN_TOOL


def test_large_arguments_and_results_come_back_as_they_were(client: Client) -> None:
    document = "d" * (2 * ARGUMENTS_BYTES_MAX)

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        return call.succeeded(result=call.arguments["document"])

    work = client.create("k", [upload.operation("a", {"document": document})]).id
    client.enable(work)

    assert client.run(work, [upload]) == {"a": document}
    assert client.run_operation(work, "a", [upload]) == document


def test_large_arguments_created_again_are_the_same_workflow(
    client: Client, upload: ow.Tool
) -> None:
    operations = [upload.operation("a", {"document": "d" * (2 * ARGUMENTS_BYTES_MAX)})]

    assert client.create("k", operations).id == client.create("k", operations).id


def test_many_operations_of_middling_arguments_fit_one_workflow(
    client: Client, upload: ow.Tool
) -> None:
    text = "t" * (40 * KIB)
    operations = [upload.operation(f"o{number}", {"text": text}) for number in range(10)]

    work = client.create("k", operations).id

    assert len(client.workflow(work).operations) == 10


def test_a_chain_of_operations_costs_one_transition_each_and_one_to_begin(
    open_controller: Open, upload: ow.Tool
) -> None:
    counted = FaultyController(open_controller())
    with Client.over(counted.controller) as client:
        work = created(client, "k", *[f"o{number}" for number in range(20)], tool=upload)
        counted.counts.clear()

        client.run(work, [upload])

    assert counted.counts == {"begin": 1, "complete": 20, "close": 1}


def test_listing_and_history_show_what_happened(client: Client, upload: ow.Tool) -> None:
    work = created(client, "k", "a", tool=upload)
    client.run(work, [upload])

    page = client.workflows(row_class=RowClass.DONE)
    changes = client.history(work).changes

    assert [row.id for row in page.rows] == [work]
    assert [row.id for row in client.workflows(key="k").rows] == [work]
    assert client.workflows(key="another").rows == ()
    assert [change.revision for change in changes] == sorted(change.revision for change in changes)
    assert client.history(work, after=changes[-1].revision).changes == ()


def test_asynchronous_code_says_the_same(open_controller: Open, destination: Destination) -> None:
    @ow.tool("upload")
    async def upload(call: ow.Call) -> ow.Receipt:
        await asyncio.sleep(0)
        return destination.put(call)

    async def main() -> dict[str, object]:
        async with ow.AsyncClient.over(Client.over(open_controller())) as client:
            work = await client.create("k", [upload.operation("a", {"n": 1})])
            await client.enable(work.id)
            assert await client.run_operation(work.id, "a", [upload]) == {"n": 1}
            return await client.run(work.id, [upload])

    assert asyncio.run(main()) == {"a": {"n": 1}}


def test_creating_enables_a_draft_and_never_what_a_person_paused(
    client: Client, upload: ow.Tool
) -> None:
    operations = [upload.operation("a", {"n": 1})]
    work = client.create("k", operations, enable=True)
    assert work.status is WorkflowStatus.ENABLED

    client.pause(work.id)

    assert client.create("k", operations, enable=True).status is WorkflowStatus.PAUSED


def test_a_stop_names_the_tools_own_error_and_everybody_reads_why(client: Client) -> None:
    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        del call
        raise ZeroDivisionError("a secret")

    work = client.create("k", [upload.operation("a", {})], enable=True)

    with pytest.raises(ow.Stopped, match="the tool raised ZeroDivisionError") as stopped:
        client.run(work.id, [upload])

    assert isinstance(stopped.value.__cause__, ZeroDivisionError)
    [operation] = client.workflow(work.id).operations
    assert operation.attempts[0].reason == "the tool raised ZeroDivisionError"
    assert "ZeroDivisionError" in operation.detail
    told = [change.detail for change in client.history(work.id).changes]
    assert "unknown (the tool raised ZeroDivisionError)" in told
    assert "a secret" not in repr((stopped.value, client.workflow(work.id), told))
