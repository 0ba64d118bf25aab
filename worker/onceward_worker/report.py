"""What a worker tells the person who watches it: one line for each operation.

    publish          execute attempt 1   succeeded, 0.3 s
    notify           waiting             another attempt holds a lease, which is over in 6 s
    file             already done        nothing ran

Names come from a workflow that somebody else wrote, and words from a tool, so that nothing of
either is printed which a terminal would obey.
"""

import sys
from collections.abc import Iterable
from typing import TextIO

from onceward.errors import Stopped
from onceward.ports import Clock
from onceward.wire.decisions import Granted, Mode, Wait
from onceward.wire.limits import SECOND_MS
from onceward.wire.messages import Standing
from onceward.wire.receipts import Outcome, Receipt

_NAME_WIDTH, _WHAT_WIDTH = 16, 20

_OUTCOMES = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.NOT_EXECUTED: "not executed",
    Outcome.UNKNOWN: "outcome unknown",
}
_ANSWERS = {
    Outcome.SUCCEEDED: "found at the destination",
    Outcome.NOT_EXECUTED: "not found at the destination",
    Outcome.UNKNOWN: "the destination cannot tell",
}
"""What the same outcomes mean where the destination was asked."""


class Report:
    """Writes the lines; to nobody, where ``stream`` is None.

    Args:
        clock: Counts how long a call took.
        stream: Where to write.
    """

    def __init__(self, clock: Clock, stream: TextIO | None) -> None:
        self._clock = clock
        self._stream = stream
        self._started_ms = 0
        self._waited_for = ""
        self._told: set[str] = set()

    @classmethod
    def for_terminal(cls, clock: Clock) -> "Report":
        """Return a report to standard error if a person is there to read it."""
        return cls(clock, sys.stderr if sys.stderr.isatty() else None)

    def granted(self, grant: Granted) -> None:
        """See ``Listener``."""
        self._started_ms = self._clock.boottime_ms()
        self._waited_for = ""
        self._told.add(grant.operation)

    def accepted(self, grant: Granted, receipt: Receipt, standing: Standing) -> None:
        """See ``Listener``."""
        seconds = (self._clock.boottime_ms() - self._started_ms) / SECOND_MS
        is_query = grant.mode is Mode.QUERY
        words = [(_ANSWERS if is_query else _OUTCOMES)[receipt.outcome], f"{seconds:.1f} s"]
        if receipt.reason is not None:
            words.append(receipt.reason)
        if standing is Standing.EVIDENCE:
            words.append("kept as evidence: a newer attempt or a person has taken its place")
        self._line(grant.operation, f"{grant.mode.value} attempt {grant.attempt}", ", ".join(words))

    def waiting(self, wait: Wait) -> None:
        """See ``Listener``; said once for each wait, however often it is asked again."""
        if self._waited_for == wait.reason:
            return
        self._waited_for = wait.reason
        self._told.add(wait.operation)
        self._line(wait.operation, "waiting", Stopped.by(wait).detail)

    def done(self, operations: Iterable[str]) -> None:
        """Say of the operations that are done which of them were done before."""
        for name in operations:
            if name not in self._told:
                self._line(name, "already done", "its receipt is reused, nothing ran")

    def _line(self, name: str, what: str, words: str) -> None:
        if self._stream is not None:
            line = f"{name:<{_NAME_WIDTH}} {what:<{_WHAT_WIDTH}} {words}"
            self._stream.write("".join(each if each.isprintable() else "?" for each in line) + "\n")
            self._stream.flush()
