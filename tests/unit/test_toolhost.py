"""Where tools run: threads that are kept, loops that are the caller's, answers of every kind."""

import asyncio
import contextvars
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import onceward as ow
from onceward.asynchronous import AsyncClient
from onceward.client import Client
from onceward.spool import Spool
from onceward.wire.messages import Complete
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.scripted_client import client_of
from tests.support.scripted_controller import (
    WORKFLOW,
    ScriptedController,
    accepted,
    grant,
    stop,
)

# A tool that waits to be told is told, so that no test waits for longer than this.
SOON_MS = 20


@pytest.fixture
def controller() -> ScriptedController:
    return ScriptedController()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def spool(tmp_path: Path, clock: ManualClock) -> Spool:
    return Spool.open(tmp_path / "spool", clock=clock, entropy=SeededEntropy())


@pytest.fixture
def client(controller: ScriptedController, clock: ManualClock, spool: Spool) -> Iterator[Client]:
    with client_of(controller, clock, spool=spool) as client:
        yield client


def told(controller: ScriptedController) -> ow.Receipt:
    """The one receipt that was sent."""
    (body,) = controller.bodies("complete")
    assert isinstance(body, Complete)
    return body.receipt


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
    assert told(controller).reason == f"timed out after {SOON_MS} ms"


def test_a_tool_that_hangs_keeps_its_thread_and_the_next_call_gets_another(
    controller: ScriptedController, client: Client
) -> None:
    may_end = threading.Event()
    threads: list[int] = []

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        threads.append(threading.get_ident())
        if call.attempt == 1:
            may_end.wait()
        return call.succeeded(result=call.attempt)

    controller.script("begin", grant(timeout_ms=SOON_MS))
    controller.script("complete", accepted(grant(attempt=2)), accepted())

    try:
        assert client.run_operation(WORKFLOW, "upload", [upload]) == 2
    finally:
        may_end.set()

    assert len(set(threads)) == 2


def test_calls_that_follow_each_other_run_on_one_thread(
    controller: ScriptedController, client: Client
) -> None:
    threads: list[int] = []

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        threads.append(threading.get_ident())
        return call.succeeded()

    controller.script("begin", *[grant()] * 5)
    controller.script("complete", *[accepted()] * 5)

    for _ in range(5):
        client.run_operation(WORKFLOW, "upload", [upload])

    assert len(set(threads)) == 1
    assert threading.get_ident() not in threads


def test_synchronous_and_asynchronous_tools_see_the_context_of_their_caller(
    controller: ScriptedController, client: Client
) -> None:
    trace = contextvars.ContextVar("trace", default="none")
    trace.set("caller")

    @ow.tool("upload")
    def sync(call: ow.Call) -> ow.Receipt:
        return call.succeeded(result=trace.get())

    @ow.tool("upload")
    async def asynchronous(call: ow.Call) -> ow.Receipt:
        return call.succeeded(result=trace.get())

    controller.script("begin", grant(), grant())
    controller.script("complete", accepted(), accepted())

    assert client.run_operation(WORKFLOW, "upload", [sync]) == "caller"
    assert client.run_operation(WORKFLOW, "upload", [asynchronous]) == "caller"


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

    assert told(controller).reason == f"the tool raised {type(raised).__name__}"


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

    assert told(controller).reason == "the tool returned no receipt: type=`coroutine`"
