"""One workflow, run until it is done, something stands in its way, or the worker is told to stop.

The report's words and the exit code say the same thing: one to a person, the other to a script.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from onceward.client import Client
from onceward.engine import Ports
from onceward.errors import LocalReason, ProblemError, Stopped
from onceward.exit_codes import ExitCode
from onceward.spool import Spool
from onceward.tools import Tool
from onceward.wire.identifiers import WorkspaceName
from onceward_worker import exit_codes
from onceward_worker.conversation import Conversation
from onceward_worker.drain import Drain, DrainClock
from onceward_worker.report import Report
from onceward_worker.settings import Settings


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ended.

    Attributes:
        code: For a script.
        results: What every operation gave, by name; empty unless all are done.
        outcome: ``done``, ``drained``, ``stopped`` or ``refused``.
        reason: Why it was stopped or refused: a stable word.
        detail: The same in a sentence, with the way out.
        operation: Which operation it stopped at.
    """

    code: ExitCode
    outcome: str
    results: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    detail: str = ""
    operation: str = ""

    def interrupted(self) -> "Ending":
        """Return the same, but that a person cut it short where it had not come to its end."""
        return replace(self, code=ExitCode.INTERRUPTED) if self.outcome == "drained" else self

    def as_json(self, workflow: str) -> bytes:
        """Return the line for standard output."""
        said = {"workflow": workflow, "outcome": self.outcome}
        if self.outcome == "done":
            return msgspec.json.encode({**said, "results": self.results})
        facts = {"operation": self.operation, "reason": self.reason, "detail": self.detail}
        return msgspec.json.encode({**said, **{name: text for name, text in facts.items() if text}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What this process is given to work with."""

    settings: Settings
    spool: Path | None
    ports: Ports
    report: Report
    drain: Drain


def run(host: Host, workflow: str, tools: Iterable[Tool], *, wait: timedelta) -> Ending:
    """Run the operations of ``workflow`` that ``tools`` can run.

    Args:
        host: What to work with.
        workflow: Its id.
        tools: From ``registry.load``.
        wait: How long in all to wait where only time is in the way.

    Raises:
        ValueError: The controller's address is not one that a token may be sent to.
        SpoolError: The spool cannot be used as it is.
        OSError: The spool's disk refused.
    """
    with _client(host) as client:
        try:
            results = client.run(workflow, tools, wait=wait)
        except Stopped as error:
            outcome = "drained" if error.reason is LocalReason.CLOSING else "stopped"
            return Ending(
                exit_codes.of(error),
                outcome,
                reason=error.reason.value,
                detail=error.detail,
                operation=error.operation,
            )
        except ProblemError as error:
            return Ending(
                exit_codes.of(error), "refused", reason=error.code.value, detail=error.detail
            )
    host.report.done(results)
    return Ending(ExitCode.OK, "done", results)


def _client(host: Host) -> Client:
    settings = host.settings
    ports = replace(host.ports, clock=DrainClock(host.ports.clock, host.drain))
    controller = Conversation(
        settings.url,
        settings.token,
        workspace=WorkspaceName(settings.workspace),
        clock=ports.clock,
        drain=host.drain,
        listener=host.report,
    )
    spool = None
    if host.spool is not None:
        key = None if settings.spool_key is None else settings.spool_key.reveal()
        spool = Spool.open(host.spool, clock=ports.clock, entropy=ports.entropy, key=key)
    return Client.over(
        controller,
        workspace=settings.workspace,
        spool=spool,
        origin=controller.origin,
        ports=ports,
    )
