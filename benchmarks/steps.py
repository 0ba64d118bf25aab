"""One durable step: Onceward's governed operation beside LangGraph, DBOS and a bare SQLite commit.

    python -m benchmarks.steps [--repeats 5] [--rounds 6] [--disk DIR] [--memory DIR]

Each system runs alone in a process of its own, in turn (A B C D, A B C D, ...): a machine whose
speed drifts treats all alike; figures are medians over the repeats, ratios are taken pair by
pair within a repeat. What the peers record is a result after the fact; a governed operation makes
the intent durable first and the receipt after, in one write a step.

``steps/s`` counts all workflows together; CPU is user and system time of the whole process; bytes
are what lies on disk once the system is closed, per step.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SYSTEMS = {
    "Onceward": "benchmarks.systems.onceward_operations",
    "LangGraph @task": "benchmarks.systems.langgraph_tasks",
    "DBOS": "benchmarks.systems.dbos_steps",
    "SQLite commit": "benchmarks.systems.sqlite_commits",
}
OURS = "Onceward"
PEERS = ("LangGraph @task", "DBOS")
WIDTHS = (1, 16)


class Sample(NamedTuple):
    """What one process measured, as the median of its rounds."""

    ms_per_step: float
    steps_per_s: float
    cpu_s_per_1000: float
    bytes_per_step: float


def main() -> None:
    """Measure and print."""
    asked = _arguments()
    for medium, base in (("tmpfs", asked.memory), ("disk", asked.disk)):
        for width in WIDTHS:
            samples = _measure(base, width, asked.repeats, asked.rounds)
            _print(medium, width, samples)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="processes of each system")
    parser.add_argument("--rounds", type=int, default=6, help="measured rounds in each process")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="a tmpfs")
    parser.add_argument("--disk", type=Path, default=Path.cwd(), help="a disk that fsyncs")
    return parser.parse_args()


def _measure(base: Path, width: int, repeats: int, rounds: int) -> dict[str, list[Sample]]:
    samples: dict[str, list[Sample]] = {name: [] for name in SYSTEMS}
    for _ in range(repeats):
        for name, module in SYSTEMS.items():
            with tempfile.TemporaryDirectory(dir=base) as folder:
                command = [sys.executable, "-m", module, folder, str(width), str(rounds)]
                ended = subprocess.run(command, check=True, capture_output=True, text=True)
            samples[name].append(_sample(json.loads(ended.stdout.splitlines()[-1])))
    return samples


def _sample(measured: dict[str, list[float] | float]) -> Sample:
    return Sample(*(_median(measured[field]) for field in Sample._fields))


def _median(figure: list[float] | float) -> float:
    return statistics.median(figure) if isinstance(figure, list) else figure


def _print(medium: str, width: int, samples: dict[str, list[Sample]]) -> None:
    workflows = "1 workflow" if width == 1 else f"{width} workflows at once"
    print(f"\n{medium}, {workflows}")
    print(f"{'':18}{'ms/step':>9}{'steps/s':>9}{'CPU s/1000':>12}{'bytes/step':>12}{'ours is':>13}")
    for name, taken in samples.items():
        middle = Sample(*(statistics.median(column) for column in zip(*taken, strict=True)))
        ratio = ""
        if name in PEERS:
            pairs = zip(samples[OURS], taken, strict=True)
            times = statistics.median(ours.steps_per_s / peer.steps_per_s for ours, peer in pairs)
            ratio = f"{times:.1f}x as fast"
        print(
            f"{name:18}{middle.ms_per_step:9.2f}{middle.steps_per_s:9,.0f}"
            f"{middle.cpu_s_per_1000:12.2f}{middle.bytes_per_step:12,.0f}{ratio:>13}"
        )


if __name__ == "__main__":
    main()
