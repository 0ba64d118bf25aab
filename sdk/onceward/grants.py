"""A grant in this process's hands, and whether it can be used here.

What a person reviewed is the declaration: tool, version, destination, capability. A tool that is
registered here under the same name and version and is something else is not called in its place.
"""

from asyncio import AbstractEventLoop
from collections.abc import Mapping
from dataclasses import dataclass

from onceward.callbacks import Perform
from onceward.errors import LocalReason, Stopped
from onceward.tools import Tool
from onceward.wire.decisions import Granted
from onceward.wire.identifiers import WorkflowId

Tools = Mapping[tuple[str, str], Tool]


class NotCalledError(Exception):
    """The call was not made and will not be: give the grant back.

    Attributes:
        reason: Why.
        detail: The same in a sentence, with the way out.
    """

    def __init__(self, reason: LocalReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail

    def stopped(self, grant: Granted) -> Stopped:
        """Return what the agent is told."""
        return Stopped(self.reason, self.detail, operation=grant.operation)


@dataclass(frozen=True, slots=True)
class Held:
    """A grant in this process's hands.

    Attributes:
        sent_ms: Boot time from before the question that it answers was sent.
        loop: Where an asynchronous tool runs; None for the host's own loop.
    """

    workflow: WorkflowId
    grant: Granted
    sent_ms: int
    loop: AbstractEventLoop | None

    def own_ms(self, controller_ms: int) -> int:
        """Return a time of the controller in this process's boot time, never later than it is."""
        return self.sent_ms + controller_ms - self.grant.now_ms


def perform_of(grant: Granted, tools: Tools) -> Perform:
    """Return what to call, if the tool here is the one that was declared.

    Raises:
        NotCalledError: It is not here, or is another.
    """
    tool = tools.get((grant.tool, grant.version))
    if tool is None:
        raise NotCalledError(
            LocalReason.TOOL_CHANGED,
            f"the tool is not here: tool=`{grant.tool}` version=`{grant.version}`",
        )
    if tool.destination != grant.destination:
        raise NotCalledError(
            LocalReason.TOOL_CHANGED,
            f"the tool here has another destination than the one declared: tool=`{grant.tool}` "
            f"version=`{grant.version}`; a change of destination takes a new version",
        )
    perform = tool.performs(grant.mode)
    if perform is None:
        raise NotCalledError(
            LocalReason.TOOL_CHANGED,
            f"the tool was declared with a query and here has none: tool=`{grant.tool}`",
        )
    return perform
