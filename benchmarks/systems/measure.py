"""The measuring that is the same for every system.

A round runs ``width`` chains at once, each of ``CHAIN`` steps, from starting the workflow to its
end; a step is a trivial tool with a 200-byte result. One round is thrown away first. The clock is
the wall's, the CPU that of the whole process, the bytes those of every file that the system leaves
once it is closed, the round thrown away included.
"""

import json
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CHAIN = 50
RESULT = {"text": "y" * 188}


class Request(NamedTuple):
    """What one child process is asked to measure."""

    folder: Path
    width: int
    rounds: int


def request() -> Request:
    """Return what the command line asks for: FOLDER WIDTH ROUNDS."""
    folder, width, rounds = sys.argv[1:]
    return Request(Path(folder), int(width), int(rounds))


def measure(asked: Request, chain: Callable[[str], None], close: Callable[[], None]) -> None:
    """Run the rounds and print one JSON object.

    Args:
        asked: Folder, width and rounds.
        chain: Runs one chain of ``CHAIN`` steps under a key of its own.
        close: Makes the system write out what it holds.
    """
    _round(chain, "warm", asked.width)
    cpu_before = _cpu_s()
    seconds = [_round(chain, str(number), asked.width) for number in range(asked.rounds)]
    cpu_s = _cpu_s() - cpu_before
    close()
    steps = asked.rounds * asked.width * CHAIN
    json.dump(
        {
            "ms_per_step": [each * 1000 / CHAIN for each in seconds],
            "steps_per_s": [asked.width * CHAIN / each for each in seconds],
            "cpu_s_per_1000": cpu_s * 1000 / steps,
            "bytes_per_step": _size(asked.folder) / (steps + asked.width * CHAIN),
        },
        sys.stdout,
    )


def _round(chain: Callable[[str], None], name: str, width: int) -> float:
    """Return the seconds that ``width`` chains at once took."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            chain(f"{name}-{number}")
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(width)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - started
    if failures:
        raise failures[0]
    return elapsed


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
