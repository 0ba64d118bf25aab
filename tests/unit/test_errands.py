"""Which thread does what of an errand: one for all its calls, another after one that hangs."""

import contextvars
import threading
from collections.abc import Callable

import pytest

import onceward as ow
from onceward.client import Client
from onceward.engine import Ports
from onceward.ports import Task
from onceward.wire.messages import Begin, Release
from tests.support.interrupts import interrupt_main
from tests.support.ports import ManualClock, SeededEntropy
from tests.support.scripted_client import SOON_MS, uploader
from tests.support.scripted_controller import WORKFLOW, ScriptedController, accepted, done, grant


def test_all_calls_of_an_errand_and_of_the_next_one_run_on_one_thread_that_is_not_the_callers(
    controller: ScriptedController, client: Client
) -> None:
    threads: list[int] = []

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        threads.append(threading.get_ident())
        return call.succeeded()

    controller.script("begin", *[grant("a")] * 5)
    controller.script("complete", *[accepted(grant("b")), accepted(done(2))] * 5)

    for _ in range(5):
        client.run(WORKFLOW, [upload])

    assert len(threads) == 10
    assert len(set(threads)) == 1
    assert threading.get_ident() not in threads


def test_a_tool_that_hangs_keeps_its_thread_and_the_errand_goes_on_without_it(
    controller: ScriptedController, client: Client
) -> None:
    may_end = threading.Event()
    threads: list[int] = []

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        threads.append(threading.get_ident())
        if call.attempt == 2:
            may_end.wait()
        return call.succeeded(result=call.attempt)

    controller.script("begin", grant("a"))
    controller.script(
        "complete",
        accepted(grant("b", attempt=2, timeout_ms=SOON_MS)),
        accepted(grant("b", attempt=3)),
        accepted(done(2)),
    )

    try:
        assert client.run(WORKFLOW, [upload]) == {"a": 1, "b": 3}
    finally:
        may_end.set()

    first, hung, after = threads
    assert first == hung
    assert after != hung
    assert controller.verbs == ["begin", "complete", "complete", "complete"]


def test_what_a_tool_says_after_it_was_given_up_changes_nothing_of_the_errand_that_went_on(
    controller: ScriptedController, client: Client
) -> None:
    may_end = threading.Event()
    hung: list[threading.Thread] = []

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        if call.attempt == 1:
            hung.append(threading.current_thread())
            may_end.wait()
            return call.succeeded(result="late")
        may_end.set()
        return call.succeeded(result="in time")

    controller.script("begin", grant(timeout_ms=SOON_MS))
    controller.script("complete", accepted(grant(attempt=2)), accepted())

    assert client.run_operation(WORKFLOW, "upload", [upload]) == "in time"
    client.close()
    hung[0].join()

    assert [body.receipt.outcome for body in controller.bodies("complete")] == [
        ow.Outcome.UNKNOWN,
        ow.Outcome.SUCCEEDED,
    ]


def test_every_tool_sees_the_context_of_its_caller_and_none_what_another_changed_there(
    controller: ScriptedController, client: Client
) -> None:
    trace = contextvars.ContextVar("trace", default="none")
    trace.set("caller")
    may_end = threading.Event()

    @ow.tool("upload")
    def sync(call: ow.Call) -> ow.Receipt:
        seen = trace.get()
        trace.set("changed")
        if call.attempt == 2:
            may_end.wait()
        return call.succeeded(result=seen)

    @ow.tool("upload", version="2")
    async def asynchronous(call: ow.Call) -> ow.Receipt:
        return call.succeeded(result=trace.get())

    controller.script("begin", grant("a"))
    controller.script(
        "complete",
        accepted(grant("b", version="2")),
        accepted(grant("c", attempt=2, timeout_ms=SOON_MS)),
        accepted(grant("d")),
        accepted(done(3)),
    )

    try:
        results = client.run(WORKFLOW, [sync, asynchronous])
    finally:
        may_end.set()

    assert results == {"a": "caller", "b": "caller", "d": "caller"}
    assert trace.get() == "caller"


def test_a_tool_may_run_an_errand_of_its_own(
    controller: ScriptedController, client: Client
) -> None:
    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        return call.succeeded(result="inner")

    @ow.tool("plan")
    def plan(call: ow.Call) -> ow.Receipt:
        return call.succeeded(result=[client.run_operation(WORKFLOW, "upload", [upload])])

    controller.script("begin", grant("plan", tool="plan"), grant())
    controller.script("complete", accepted(), accepted())

    assert client.run_operation(WORKFLOW, "plan", [plan]) == ["inner"]


def test_a_grant_that_an_interrupted_caller_did_not_live_to_see_is_given_back_uncalled(
    controller: ScriptedController, client: Client
) -> None:
    has_left = threading.Event()
    made: list[ow.Call] = []

    def slowly(body: Begin) -> object:
        interrupt_main()
        has_left.wait()
        return grant()

    controller.script("begin", slowly)
    controller.script("release", None)

    with pytest.raises(KeyboardInterrupt):
        client.run(WORKFLOW, [uploader(made)])
    has_left.set()
    client.close()

    assert made == []
    assert controller.verbs == ["begin", "release"]
    assert controller.bodies("release") == [Release(1, grant().lease_token)]


def test_an_interrupted_caller_leaves_at_once_and_its_errand_ends_with_the_call_under_way(
    controller: ScriptedController, client: Client
) -> None:
    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        interrupt_main()
        call.cancelled.wait()
        return call.succeeded(effect_id="obj-17")

    controller.script("begin", grant("a"))
    controller.script("complete", accepted())

    with pytest.raises(KeyboardInterrupt):
        client.run(WORKFLOW, [upload])
    client.close()

    (body,) = controller.bodies("complete")
    assert body.receipt.effect_id == "obj-17"
    assert body.then_begin is None
    assert controller.verbs == ["begin", "complete"]


def test_a_grant_that_comes_while_the_client_is_being_closed_is_given_back(
    controller: ScriptedController, client: Client
) -> None:
    is_running, is_asked, is_closing = (threading.Event() for _ in range(3))
    made: list[ow.Call] = []
    reasons: list[ow.StopReason | ow.WaitReason | ow.LocalReason] = []

    @ow.tool("wait")
    def wait(call: ow.Call) -> ow.Receipt:
        is_running.set()
        call.cancelled.wait()
        is_closing.set()
        return call.succeeded()

    def once_closing(body: Begin) -> object:
        is_asked.set()
        is_closing.wait()
        return grant()

    def run_into_the_closing() -> None:
        with pytest.raises(ow.Stopped) as caught:
            client.run_operation(WORKFLOW, "upload", [uploader(made)])
        reasons.append(caught.value.reason)

    controller.script("begin", grant("wait", tool="wait"), once_closing)
    controller.script("complete", accepted())
    controller.script("release", None)
    running = threading.Thread(target=lambda: client.run_operation(WORKFLOW, "wait", [wait]))
    running.start()
    is_running.wait()
    asking = threading.Thread(target=run_into_the_closing)
    asking.start()
    is_asked.wait()

    client.close()
    running.join()
    asking.join()

    assert made == []
    assert reasons == [ow.LocalReason.CLOSING]
    assert controller.bodies("release") == [Release(1, grant().lease_token)]


class ThreadsRunOut:
    """A system that has no thread left."""

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        raise RuntimeError("can't start new thread")


def test_without_a_thread_nothing_is_asked(
    controller: ScriptedController, clock: ManualClock
) -> None:
    ports = Ports(clock, SeededEntropy(), ThreadsRunOut())
    with (
        Client.over(controller, ports=ports) as client,
        pytest.raises(RuntimeError, match="new thread"),
    ):
        client.run(WORKFLOW, [uploader([])])

    assert controller.asked == []
