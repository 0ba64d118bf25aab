"""Several reads at once, where that is faster than one after the other.

An S3 server answers thirty-two reads side by side in the time of one; a local file does not, and
starting threads for it would cost more than the reads.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from onceward.ports import Spawner

T = TypeVar("T")


class Gather:
    """Runs calls and returns their results in order.

    Args:
        spawner: Starts the threads.
        width: How many calls at once; 1 runs them here, one after the other.
    """

    def __init__(self, spawner: Spawner, *, width: int) -> None:
        self._spawner = spawner
        self._width = width

    def __call__(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Return what each call returned.

        Raises:
            Exception: The first error, by position, once every call has ended.
        """
        if self._width == 1 or len(calls) == 1:
            return [call() for call in calls]
        outcomes: list[list[T | BaseException]] = [[] for _ in calls]
        for start in range(0, len(calls), self._width):
            stop = min(start + self._width, len(calls))
            tasks = [
                self._spawner.spawn("gather", _into(outcomes[at], calls[at]))
                for at in range(start, stop)
            ]
            for task in tasks:
                task.join()
        results: list[T] = []
        for [outcome] in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(outcome)
        return results


def _into(outcome: "list[T | BaseException]", call: Callable[[], T]) -> Callable[[], None]:
    def work() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who raises it
            outcome.append(error)

    return work
