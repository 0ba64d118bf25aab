"""Where tools run, so that a timeout is more than a wish.

A synchronous tool runs on a thread that is kept for the next call: no thread is started for a call
that follows another. An asynchronous one runs on the caller's event loop where there is one
(``AsyncClient``), else on a loop of this host's own. Either way whoever waits may give up: the
tool is told, an asynchronous one is cancelled, and a thread that hangs is left behind while the
next call gets a fresh one.

    start ──▶ Running ──settle──▶ announced: ``wait`` returns the answer
                 └────give_up──▶ left to itself: a later answer goes to ``late``

A call is settled or given up, whichever comes first, and never both. Whether the tool may be called
at all is asked on its own thread, in the last moment: between the start and that moment a thread
may not get its turn, a loop may be blocked and a machine may sleep. What was given up before is not
called any more.
"""

import asyncio
import contextvars
import inspect
from asyncio import AbstractEventLoop
from collections.abc import Callable
from threading import Lock

from onceward.answers import Answer, NotCalled, Raised, Returned
from onceward.call import Call
from onceward.callbacks import Perform
from onceward.ports import Spawner, Task

IDLE_THREADS_MAX = 32
"""Threads that are kept for the next call; a burst may use more."""

Late = Callable[[Answer], None]


class Running:
    """One tool call under way.

    Args:
        may_call: Asked right before the tool is called.
    """

    __slots__ = ("_announced", "_answer", "_cancel", "_guard", "_is_called", "_late", "_may_call")

    def __init__(self, may_call: Callable[[], bool]) -> None:
        self._may_call = may_call
        self._guard = Lock()
        self._announced = Lock()
        self._announced.acquire()
        self._answer: Answer | NotCalled | None = None
        self._late: Late | None = None
        self._cancel: Callable[[], None] | None = None
        self._is_called = False

    def wait(self, timeout_ms: int) -> Answer | NotCalled | None:
        """Return the answer; None when ``timeout_ms`` ran out first. For one waiting thread."""
        if self._announced.acquire(timeout=max(timeout_ms, 0) / 1000):
            self._announced.release()
        return self._answer

    def give_up(self, late: Late) -> Answer | NotCalled | None:
        """Wait no more: return the answer if it is there, else send it to ``late`` when it comes.

        An asynchronous tool is cancelled. One that was not called yet is not called any more.
        """
        with self._guard:
            if self._answer is not None:
                return self._answer
            self._late = late
            if not self._is_called:
                return NotCalled()
            cancel = self._cancel
        if cancel is not None:
            cancel()
        return None

    def may_call(self, cancel: Callable[[], None] | None = None) -> bool:
        """Return whether to call the tool now; if so, ``cancel`` is what giving up calls."""
        with self._guard:
            self._cancel = cancel
            self._is_called = self._late is None and self._may_call()
            return self._is_called

    def settle(self, answer: Answer | NotCalled) -> Late | None:
        """Keep the answer for who waits; or return where to send it, when nobody does."""
        with self._guard:
            if self._late is None:
                self._answer = answer
            return self._late

    def announce(self) -> None:
        """Wake who waits; after ``settle`` returned None."""
        self._announced.release()


class _Seat:
    """A thread's place in the host: where it waits for its next call."""

    __slots__ = ("_filled", "_work")

    def __init__(self) -> None:
        self._filled = Lock()
        self._filled.acquire()
        self._work: Callable[[], None] | None = None

    def fill(self, work: Callable[[], None] | None) -> None:
        """Wake the thread with its next call, or with None to end it."""
        self._work = work
        self._filled.release()

    def take(self) -> Callable[[], None] | None:
        """Wait for the next call."""
        self._filled.acquire()
        work, self._work = self._work, None
        return work


class ToolHost:
    """Runs tools for one client."""

    def __init__(self, spawner: Spawner) -> None:
        self._spawner = spawner
        self._guard = Lock()
        self._idle: list[_Seat] = []
        self._loop: _OwnLoop | None = None
        self._is_closed = False

    def start(
        self,
        perform: Perform,
        call: Call,
        *,
        may_call: Callable[[], bool],
        loop: AbstractEventLoop | None = None,
    ) -> Running:
        """Begin one call.

        Args:
            perform: What to call.
            call: What to call it with.
            may_call: Asked in the last moment, on the tool's own thread.
            loop: Where an asynchronous tool runs; None for the host's own loop.

        Raises:
            RuntimeError: There is no thread or loop for it; the tool was not called.
        """
        running = Running(may_call)
        context = contextvars.copy_context()
        if perform.is_async:
            home = self._own_loop() if loop is None else loop
            home.call_soon_threadsafe(self._start_on, home, perform, call, running, context=context)
            return running
        seat = self._seat()
        seat.fill(lambda: self._run_on(seat, context, perform, call, running))
        return running

    def close(self) -> None:
        """Let idle threads and the loop end; threads of tools still running end with them."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
            loop, self._loop = self._loop, None
        for seat in idle:
            seat.fill(None)
        if loop is not None:
            loop.stop()

    def _seat(self) -> _Seat:
        with self._guard:
            if self._idle:
                # The thread that ran last, whose stack is still in the processor's caches.
                return self._idle.pop()
        seat = _Seat()
        self._spawner.spawn("onceward-tool", lambda: _serve(seat))
        return seat

    def _run_on(
        self,
        seat: _Seat,
        context: contextvars.Context,
        perform: Perform,
        call: Call,
        running: Running,
    ) -> None:
        answer = context.run(_answer, perform, call) if running.may_call() else NotCalled()
        late = running.settle(answer)
        if late is not None and not isinstance(answer, NotCalled):
            late(answer)
        # The seat is free before anybody hears of the answer, so that the next call finds it.
        self._give_back(seat)
        if late is None:
            running.announce()

    def _give_back(self, seat: _Seat) -> None:
        with self._guard:
            if not self._is_closed and len(self._idle) < IDLE_THREADS_MAX:
                self._idle.append(seat)
                return
        seat.fill(None)

    def _own_loop(self) -> AbstractEventLoop:
        with self._guard:
            if self._loop is None:
                self._loop = _OwnLoop(self._spawner)
            return self._loop.loop

    def _start_on(
        self, loop: AbstractEventLoop, perform: Perform, call: Call, running: Running
    ) -> None:
        """Start an asynchronous tool; on its loop's thread."""
        tasks: list[asyncio.Task[Answer]] = []
        # What cancels comes by the loop, hence after the task was made below.
        if not running.may_call(lambda: _cancel_on(loop, tasks)):
            if running.settle(NotCalled()) is None:
                running.announce()
            return
        tasks.append(loop.create_task(_awaited(perform, call)))
        tasks[0].add_done_callback(lambda done: self._finish(running, done))

    def _finish(self, running: Running, task: "asyncio.Task[Answer]") -> None:
        # Cancelled before its first step, a task never came to its own handlers.
        answer = Raised(asyncio.CancelledError()) if task.cancelled() else task.result()
        late = running.settle(answer)
        if late is None:
            running.announce()
        else:
            # What is done with a late answer may block, and this is an event loop.
            self._spawner.spawn("onceward-late", lambda: late(answer))


class _OwnLoop:
    """An event loop on a thread of its own."""

    def __init__(self, spawner: Spawner) -> None:
        self.loop = asyncio.new_event_loop()  # noqa: TID251 - here the SDK is the host
        self._task: Task = spawner.spawn("onceward-loop", self._run)

    def stop(self) -> None:
        """Cancel what runs and end; a tool that refuses to be cancelled is left behind."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._task.join(timeout_ms=1_000)

    def _run(self) -> None:
        loop = self.loop
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _serve(seat: _Seat) -> None:
    while (work := seat.take()) is not None:
        work()


def _answer(perform: Perform, call: Call) -> Answer:
    try:
        value = perform.start(call)
    except BaseException as error:  # noqa: BLE001 - even SystemExit must become a receipt
        return Raised(error)
    if inspect.iscoroutine(value):
        # A synchronous function that returns a coroutine has performed nothing it could speak of.
        value.close()
    return Returned(value)


async def _awaited(perform: Perform, call: Call) -> Answer:
    try:
        return Returned(await perform.start(call))
    except BaseException as error:  # noqa: BLE001 - see _answer; a cancellation ends here as well
        return Raised(error)


def _cancel_on(loop: AbstractEventLoop, tasks: "list[asyncio.Task[Answer]]") -> None:
    def cancel() -> None:
        tasks[0].cancel()

    if not loop.is_closed():
        loop.call_soon_threadsafe(cancel)
