"""Where asynchronous tools run, how they are cancelled, and what is made of their answers."""

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import onceward as ow
from onceward.asynchronous import AsyncClient
from onceward.client import Client
from onceward.spool import Spool, SpooledReceipt
from tests.support.interrupts import interrupt_main
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.scripted_client import SOON_MS, client_of
from tests.support.scripted_controller import WORKFLOW, ScriptedController, accepted, grant, stop


@pytest.fixture
def client(spooling_client: Client) -> Client:
    return spooling_client


def test_an_asynchronous_tool_is_cancelled_when_its_time_is_over(
    controller: ScriptedController, client: Client
) -> None:
    was_cancelled = threading.Event()

    @ow.tool("upload")
    async def upload(call: ow.Call) -> ow.Receipt:
        try:
            await asyncio.Event().wait()
        finally:
            was_cancelled.set()
        return call.succeeded()

    controller.script("begin", grant(timeout_ms=SOON_MS))
    controller.script("complete", accepted(stop()))

    with pytest.raises(ow.Stopped):
        client.run_operation(WORKFLOW, "upload", [upload])

    assert was_cancelled.wait(10)
    assert controller.receipt.reason == f"timed out after {SOON_MS} ms"


def test_an_asynchronous_tool_runs_on_the_loop_of_its_asynchronous_client(
    controller: ScriptedController, client: Client
) -> None:
    async def main() -> tuple[object, object]:
        @ow.tool("upload")
        async def upload(call: ow.Call) -> ow.Receipt:
            return call.succeeded(result=asyncio.get_running_loop() is home)

        home = asyncio.get_running_loop()
        async with AsyncClient.over(client) as face:
            return await face.run_operation(WORKFLOW, "upload", [upload]), home

    controller.script("begin", grant())
    controller.script("complete", accepted())

    assert asyncio.run(main())[0] is True


def test_a_tool_whose_turn_never_comes_is_given_back_and_not_called_later(
    controller: ScriptedController, client: Client
) -> None:
    calls: list[int] = []

    @ow.tool("upload")
    async def upload(call: ow.Call) -> ow.Receipt:
        calls.append(call.attempt)
        return call.succeeded()

    async def main() -> None:
        home = asyncio.get_running_loop()

        def run() -> None:
            with pytest.raises(ow.Stopped):
                client.run_operation(WORKFLOW, "upload", [upload], loop=home)

        # The loop is blocked by this very join until the run has given up.
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        await asyncio.sleep(0)

    controller.script("begin", grant(timeout_ms=SOON_MS), stop())
    controller.script("release", None)

    asyncio.run(main())

    assert calls == []
    assert controller.verbs == ["begin", "release", "begin"]


@pytest.mark.parametrize("raised", [ValueError("secret"), SystemExit(3), asyncio.CancelledError()])
def test_whatever_an_asynchronous_tool_raises_is_an_unknown_outcome(
    controller: ScriptedController, client: Client, raised: BaseException
) -> None:
    @ow.tool("upload")
    async def upload(call: ow.Call) -> ow.Receipt:
        raise raised

    controller.script("begin", grant())
    controller.script("complete", accepted(stop()))

    with pytest.raises(ow.Stopped):
        client.run_operation(WORKFLOW, "upload", [upload])

    assert controller.receipt.reason == f"the tool raised {type(raised).__name__}"


def test_a_function_that_returns_a_coroutine_unawaited_is_an_unknown_outcome(
    controller: ScriptedController, client: Client
) -> None:
    async def effect(call: ow.Call) -> ow.Receipt:
        return call.succeeded()

    @ow.tool("upload")
    def upload(call: ow.Call) -> object:
        return effect(call)

    controller.script("begin", grant())
    controller.script("complete", accepted(stop()))

    with pytest.raises(ow.Stopped):
        client.run_operation(WORKFLOW, "upload", [upload])

    assert controller.receipt.reason == "the tool returned no receipt: type=`coroutine`"


def test_an_asynchronous_tool_of_an_interrupted_caller_is_cancelled_and_its_receipt_delivered(
    controller: ScriptedController, client: Client
) -> None:
    @ow.tool("upload")
    async def upload(call: ow.Call) -> ow.Receipt:
        interrupt_main()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return call.succeeded(effect_id="obj-17")
        return call.unknown("nobody cancelled it")

    controller.script("begin", grant())
    controller.script("complete", accepted())

    with pytest.raises(KeyboardInterrupt):
        client.run(WORKFLOW, [upload])
    client.close()

    assert controller.receipt.effect_id == "obj-17"


def test_a_success_of_an_asynchronous_tool_after_its_timeout_is_kept_for_a_person(
    controller: ScriptedController, clock: ManualClock, tmp_path: Path
) -> None:
    kept = threading.Event()

    class TellingSpool(Spool):
        def set_aside(self, receipt: SpooledReceipt) -> None:
            super().set_aside(receipt)
            kept.set()

    @ow.tool("upload")
    async def upload(call: ow.Call) -> ow.Receipt:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return call.succeeded(effect_id="obj-17")

    controller.script("begin", grant(timeout_ms=SOON_MS))
    controller.script("complete", accepted(stop()))

    spool = TellingSpool.open(tmp_path / "telling", clock=clock, entropy=SeededEntropy())
    with client_of(controller, clock, spool=spool) as client:
        with pytest.raises(ow.Stopped):
            client.run_operation(WORKFLOW, "upload", [upload])
        assert kept.wait(10)

    (late,) = spool.dead_letters()
    assert late.receipt.effect_id == "obj-17"
