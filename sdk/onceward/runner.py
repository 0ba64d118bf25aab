"""Runs what is ready: asks, calls, reports, and asks for the next in the same breath.

    ask ─▶ grant ─▶ call ─▶ report and ask ─▶ grant ─▶ ... ─▶ done
            │ given back          │
            └────▶ ask            ├─▶ reuse: the result is known
                                  ├─▶ wait: ask again, while there is patience
                                  └─▶ stop: ``Stopped``, in the controller's words

N operations in a row cost one question and N reports; nothing is read. What was finished before is
read once, at the end, by who asks for all results.
"""

from asyncio import AbstractEventLoop
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from onceward.attempt import Attempts, Held, NotCalledError, Tools
from onceward.controller import Controller
from onceward.delivery import Delivery
from onceward.dispatch import Answered, Dispatcher
from onceward.errors import LocalReason, Stopped
from onceward.ports import Clock
from onceward.results import result_of
from onceward.tools import Tool
from onceward.wire.decisions import Done, Execute, Granted, Query, Repeat, Reuse, Stop, Wait
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.messages import Begin, Standing, ToolOffer
from onceward.wire.problems import ProblemError, UnavailableError
from onceward.wire.receipts import Outcome, Receipt

POLL_FIRST_MS = 100
POLL_LAST_MS = 2_000
POLL_MIN_MS = 10
"""No two questions after a wait are closer, whatever the controller advises."""
LATE_GRANTS_MAX = 3
"""Grants in a row that came too late to be used before the runner says so."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What to run, with what, and how patiently.

    Attributes:
        workflow: Whose operations.
        operation: One of them; None for all that become ready.
        tools: What this process can run, by name and version.
        offers: The same, for the controller.
        wait_ms: How long to wait in all when asked to ask again later; 0 for not at all.
        loop: Where asynchronous tools run; None for the client's own loop.
    """

    workflow: WorkflowId
    operation: OperationName | None
    tools: Tools
    offers: tuple[ToolOffer, ...]
    wait_ms: int
    loop: AbstractEventLoop | None

    @classmethod
    def of(
        cls,
        workflow: WorkflowId,
        operation: OperationName | None,
        tools: Iterable[Tool],
        *,
        wait_ms: int = 0,
        loop: AbstractEventLoop | None = None,
    ) -> "Errand":
        """Return the errand, with the tools sorted for both sides.

        Raises:
            ValueError: Two tools have the same name and version.
        """
        by_name: dict[tuple[str, str], Tool] = {}
        for tool in tools:
            if by_name.setdefault((tool.name, tool.version), tool) is not tool:
                raise ValueError(
                    f"two tools share name and version: tool=`{tool.name}` "
                    f"version=`{tool.version}`"
                )
        offers = tuple(tool.offer for tool in by_name.values())
        return cls(workflow, operation, by_name, offers, wait_ms, loop)


class Runner:
    """Runs errands for one client; any number of threads may bring one."""

    def __init__(
        self,
        controller: Controller,
        clock: Clock,
        *,
        dispatcher: Dispatcher,
        attempts: Attempts,
        delivery: Delivery,
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._dispatcher = dispatcher
        self._attempts = attempts
        self._delivery = delivery
        self._is_closing = False

    def run_operation(self, errand: Errand) -> Any:
        """Run the errand's one operation and return its result.

        Raises:
            Stopped: It does not run now.
            ProblemError: The controller refused, or could not be asked.
        """
        results = _Walk(self, errand).until_done()
        assert errand.operation is not None, "the caller names one"
        return results[errand.operation]

    def run(self, errand: Errand) -> dict[str, Any]:
        """Run all that becomes ready and return every operation's result by its name.

        Raises:
            Stopped: Something does not run now.
            ProblemError: The controller refused, or could not be asked.
        """
        return _Walk(self, errand).until_done()

    def close(self) -> None:
        """Take no further grant, and tell running tools that nobody waits for them."""
        self._is_closing = True
        self._attempts.cancel_all()

    # What follows is for _Walk, which holds what one errand remembers.

    @property
    def is_closing(self) -> bool:
        """Whether no further grant is to be taken."""
        return self._is_closing

    @property
    def dispatcher(self) -> Dispatcher:
        """Who asks."""
        return self._dispatcher

    @property
    def delivery(self) -> Delivery:
        """Who reports."""
        return self._delivery
