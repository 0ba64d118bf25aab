"""A destination in memory, and workflows whose effects go there."""

import onceward as ow
from onceward.client import Client


class Destination:
    """Where effects happen; it forgets none."""

    def __init__(self) -> None:
        self.effects: list[str] = []

    def put(self, call: ow.Call) -> ow.Receipt:
        self.effects.append(call.operation_id)
        return call.succeeded(effect_id=call.operation_id, result=dict(call.arguments))

    def find(self, call: ow.Call) -> ow.Receipt:
        if call.operation_id in self.effects:
            return call.succeeded(effect_id=call.operation_id, result="found")
        return call.not_executed("not there")


def created(client: Client, key: str, *names: str, tool: ow.Tool) -> str:
    """Return the id of an enabled workflow of one tool."""
    work = client.create(key, [tool.operation(name, {"name": name}) for name in names])
    client.enable(work.id)
    return work.id
