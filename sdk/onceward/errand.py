"""What a caller wants run, and how far that has come.

An errand belongs to no thread: whoever carries it out takes its progress over where the one before
left it.
"""

import contextvars
from asyncio import AbstractEventLoop
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from onceward.grants import Tools
from onceward.tools import Tool
from onceward.watch import Watch
from onceward.wire.identifiers import OperationName, WorkflowId
from onceward.wire.messages import Begin, ToolOffer

POLL_FIRST_MS = 100
"""How soon, at most, the first question after a wait is asked."""


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
                    f"two tools share name and version: tool=`{tool.name}` version=`{tool.version}`"
                )
        offers = tuple(tool.offer for tool in by_name.values())
        return cls(workflow, operation, by_name, offers, wait_ms, loop)


@dataclass(slots=True)
class Progress:
    """How far an errand has come; of whichever thread carries it out just now.

    Attributes:
        errand: What is to be run.
        watch: Where the caller waits.
        question: The last that was asked, or the first that will be.
        context: The caller's context variables.
        waited_ms: How much of the errand's patience is spent.
        poll_ms: The longest pause before the next question.
        late_grants: Grants in a row that came too late to be used.
        results: By operation.
        raised: What the tool of the last call raised; the cause of a stop that follows from it.
    """

    errand: Errand
    watch: Watch
    question: Begin
    context: contextvars.Context
    waited_ms: int = 0
    poll_ms: int = POLL_FIRST_MS
    late_grants: int = 0
    results: dict[str, Any] = field(default_factory=dict)
    raised: BaseException | None = None
