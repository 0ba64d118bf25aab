"""Onceward embedded: one governed operation a step, a chain of them run by the SDK's runner.

Starting the workflow (its data key, its first revision, enabling it) is part of the chain.
"""

import onceward as ow
from benchmarks.systems.measure import CHAIN, RESULT, measure, request


@ow.tool("step", query=lambda call: call.unknown("nothing to look at"))
def step(call: ow.Call) -> ow.Receipt:
    """Do nothing, and say so."""
    return call.succeeded(effect_id="1", result=RESULT)


def main() -> None:
    """Measure what the command line asks for."""
    asked = request()
    client = ow.Client.embedded(asked.folder / "vault")

    def run(key: str) -> None:
        operations = [step.operation(f"step-{number}", {"n": number}) for number in range(CHAIN)]
        work = client.create(key, operations)
        client.enable(work.id)
        assert len(client.run(work.id, [step])) == CHAIN

    measure(asked, run, client.close)


if __name__ == "__main__":
    main()
