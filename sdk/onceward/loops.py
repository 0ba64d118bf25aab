"""Where asynchronous tools run: the caller's event loop, else one of the client's own.

The errand's thread waits for the answer, without a limit of its own: whoever watches the errand
gives the call up, which cancels the task and wakes that thread. What the task answers after that is
late. A loop may be blocked for as long as it likes; what was given up before its turn came is not
called any more.
"""

import asyncio
import contextvars
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from onceward.answers import Answer, Raised, Returned, Settled
from onceward.call import Call
from onceward.callbacks import Perform
from onceward.grants import Held
from onceward.ports import Spawner, Task
from onceward.running import Running


class RunningTask(Running):
    """A call that is made on an event loop, and waited for on the errand's thread."""

    __slots__ = ("_answered", "_loop", "_task")

    _holds_its_thread = False

    def __init__(
        self, held: Held, call: Call, note: str | None, *, look_ms: int, ends_ms: int
    ) -> None:
        super().__init__(held, call, note, look_ms=look_ms, ends_ms=ends_ms)
        self._answered = Lock()
        self._answered.acquire()
        self._loop: AbstractEventLoop | None = None
        self._task: asyncio.Task[Answer] | None = None

    def run_on(
        self,
        loop: AbstractEventLoop,
        perform: Perform,
        *,
        may_call: Callable[[], bool],
        late: Callable[[Answer], None],
    ) -> Settled:
        """Call the tool on ``loop`` and return what settled the call; see ``Loops.run``."""

        def start() -> None:
            if self.begin(may_call):
                self._task = loop.create_task(_awaited(perform, self.call))
                self._task.add_done_callback(finish)

        def finish(task: asyncio.Task[Answer]) -> None:
            # Cancelled before its first step, a task never came to its own handlers.
            answer = Raised(asyncio.CancelledError()) if task.cancelled() else task.result()
            if not self.settle(answer):
                late(answer)

        self._loop = loop
        loop.call_soon_threadsafe(start, context=contextvars.copy_context())
        self._answered.acquire()
        assert self.answer is not None, "who announces has settled"
        return self.answer

    def _tell(self) -> None:
        super()._tell()
        if self._loop is not None:
            # By the loop, hence after ``start``; one that is closed has cancelled its tasks.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _announce(self) -> None:
        self._answered.release()


class Loops:
    """Runs the asynchronous tools of one client."""

    def __init__(self, spawner: Spawner) -> None:
        self._spawner = spawner
        self._guard = Lock()
        self._own: _OwnLoop | None = None

    def run(
        self,
        running: RunningTask,
        perform: Perform,
        *,
        may_call: Callable[[], bool],
        late: Callable[[Answer], None],
    ) -> Settled:
        """Make the call and wait until it is settled.

        Args:
            running: The call.
            perform: What to call.
            may_call: Asked in the last moment, on the loop.
            late: Told, on a thread, of an answer that came after the call was given up.

        Raises:
            RuntimeError: There is no loop for it; the tool was not called.
        """

        def elsewhere(answer: Answer) -> None:
            # What is done with a late answer may block, and this is an event loop.
            self._spawner.spawn("onceward-late", lambda: late(answer))

        loop = running.held.loop or self._own_loop()
        return running.run_on(loop, perform, may_call=may_call, late=elsewhere)

    def close(self) -> None:
        """Let the client's own loop end."""
        with self._guard:
            own, self._own = self._own, None
        if own is not None:
            own.stop()

    def _own_loop(self) -> AbstractEventLoop:
        with self._guard:
            if self._own is None:
                self._own = _OwnLoop(self._spawner)
            return self._own.loop


class _OwnLoop:
    """An event loop on a thread of its own."""

    def __init__(self, spawner: Spawner) -> None:
        self.loop = asyncio.new_event_loop()  # noqa: TID251 - here the SDK is the host
        self._thread: Task = spawner.spawn("onceward-loop", self._run)

    def stop(self) -> None:
        """Cancel what runs and end; a tool that refuses to be cancelled is left behind."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout_ms=1_000)

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


async def _awaited(perform: Perform, call: Call) -> Answer:
    try:
        return Returned(await perform.start(call))
    except BaseException as error:  # noqa: BLE001 - even SystemExit must become a receipt
        return Raised(error)
