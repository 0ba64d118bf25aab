"""Which thread does what of an errand, so that a timeout is more than a wish.

    caller's thread          errand's thread                   another one
        │ ── begins ───────────▶ ask, call, report, call ...
        │ watches                │
        │                        │ a call hangs
        │ sees its time end ─────┼─────────────────────────▶ give it up, report "unknown", go on
        │ watches                │ the tool ends: its answer is  │
        │                        │ late, the thread is free      │
        ◀──────────────────────────────────────────────────── end

The whole errand runs on one thread, kept for the next, and tools are called right there: handing
a call to a thread and its answer back would cost more than all else in a short call. The caller's
thread does nothing but watch (``watch``), and so can have a call given up. The errand's progress is
one object that no thread owns: who goes on with it finds there all that it needs.

A caller that is interrupted leaves at once. Its errand comes to an orderly end without it: a
running tool is told and its receipt, whenever it comes, is delivered; a grant that was not used is
given back; nothing further is asked for. The same happens to every errand when the client is
closed, except that its caller is still told how it ended.
"""

from collections.abc import Callable
from functools import partial
from threading import Condition, Lock
from typing import Any

from onceward.attempt import Attempts, NotInChargeError
from onceward.errand import Errand, Progress
from onceward.ports import Clock
from onceward.runner import Runner
from onceward.running import Running
from onceward.seats import Seats
from onceward.watch import End, Failure, Results, Watch


class Errands:
    """The errands of one client that are under way."""

    def __init__(self, clock: Clock, *, seats: Seats, attempts: Attempts, runner: Runner) -> None:
        self._clock = clock
        self._seats = seats
        self._attempts = attempts
        self._runner = runner
        self._guard = Lock()
        self._changed = Condition(self._guard)
        self._under_way: set[Watch] = set()
        self._is_closed = False

    def carry_out(self, errand: Errand) -> dict[str, Any]:
        """Have the errand run on another thread, and watch; see ``Runner.run``.

        Raises:
            RuntimeError: There is no thread for it.
            Stopped: See ``Runner.run``.
            ProblemError: See ``Runner.run``.
        """
        progress = self._runner.start(errand, Watch(self._clock))
        try:
            self._seats.run(partial(self._leg, progress, self._begun))
            end = self._watched(progress)
        except BaseException:
            # Interrupted, or no thread to begin or go on with.
            running = progress.watch.close()
            if running is not None:
                running.abandon()
            raise
        match end:
            case Results(by_operation=results):
                return results
            case Failure(error=error):
                try:
                    raise error
                finally:
                    # The error's traceback holds this frame, which is to hold neither.
                    del end, error

    def close(self, timeout_seconds: float) -> None:
        """Let no further call begin, tell running tools, and wait for the errands to end."""
        with self._guard:
            self._is_closed = True
            under_way = list(self._under_way)
        begun = [watch.close() for watch in under_way]
        for running in begun:
            if running is not None:
                running.call.cancelled.set()
        with self._guard:
            self._changed.wait_for(lambda: not self._under_way, timeout_seconds)

    def _watched(self, progress: Progress) -> End:
        while True:
            seen = progress.watch.wait()
            if not isinstance(seen, Running):
                return seen
            if self._attempts.look(seen):
                # Given up over there: this thread may be interrupted at any moment, and between
                # giving up and going on there must be none.
                resumed = partial(self._runner.resume, running=seen)
                self._seats.run(partial(self._leg, progress, resumed))

    def _leg(
        self, progress: Progress, go: Callable[[Progress], dict[str, Any]]
    ) -> Callable[[], None] | None:
        """Carry the errand out from where it is; on a thread of its own."""
        end = _carried_out(progress, go)
        if end is None:
            return None
        with self._guard:
            self._under_way.discard(progress.watch)
            if self._is_closed:
                self._changed.notify_all()
        return partial(progress.watch.end, end)

    def _begun(self, progress: Progress) -> dict[str, Any]:
        with self._guard:
            self._under_way.add(progress.watch)
            if self._is_closed:
                progress.watch.is_over = True
        return self._runner.run(progress)


def _carried_out(progress: Progress, go: Callable[[Progress], dict[str, Any]]) -> End | None:
    """Return how the errand ended; None when another thread is in charge of it."""
    try:
        # A copy each, since the thread that was left behind is still inside of its own.
        return Results(progress.context.copy().run(go, progress))
    except NotInChargeError:
        return None
    except BaseException as error:  # noqa: BLE001 - raised again where the errand is waited for
        return Failure(error)
