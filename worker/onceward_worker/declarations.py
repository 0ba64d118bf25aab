"""A tool's declaration, as it is shown: what a person will review before a workflow is enabled."""

from collections.abc import Iterable

import msgspec

from onceward.tools import Tool
from onceward.wire.limits import SECOND_MS


def as_text(tool: Tool) -> str:
    """Return four lines about one tool."""
    declared = tool.operation("any")
    capability = declared.capability
    ways = ["can be asked"] if capability.query else []
    if capability.idempotency_ms is not None:
        ways.append(f"enforces keys for {capability.idempotency_ms // SECOND_MS:,} s")
    destination = " and ".join(ways) or "can neither be asked nor knows keys"
    times = {
        "timeout": declared.timeout_ms,
        "lease": declared.lease_ms,
        "in flight at most": declared.max_in_flight_ms,
    }
    return (
        f"{tool.name} version {tool.version}, at {tool.destination or 'no named destination'}\n"
        f"  {capability.guarantee}\n"
        f"  the destination {destination}\n"
        f"  {', '.join(f'{name} {ms / SECOND_MS:g} s' for name, ms in times.items())}"
    )


def as_json(tools: Iterable[Tool]) -> bytes:
    """Return all of them, as the wire spells them."""
    rows = []
    for tool in tools:
        declared = tool.operation("any")
        row = msgspec.to_builtins(declared)
        # These belong to one call of the tool, not to the tool.
        for name in ("name", "arguments", "arguments_payload", "after"):
            row.pop(name, None)
        rows.append({**row, "guarantee": declared.capability.guarantee})
    return msgspec.json.encode(rows)
