"""A process that the demo starts, and that never outlives it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

TETHER = "onceward_controller.cli.demo.tether"
GRACE_SECONDS = 5.0
"""How long a process that was asked to end may take before it is killed."""
LOG_LINES_SHOWN = 12


class Child:
    """One process under way; ``started`` makes one and ends it."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, log_start: int) -> None:
        self._process = process
        self._log_start = log_start
        self.log = log

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def wait(self, timeout_seconds: float | None = None) -> int | None:
        """Return its exit code; None when it did not end in time."""
        try:
            return self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End it as a power failure would: at once, with no word to anybody."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """Ask it to end, and kill it when it does not."""
        if self.is_running:
            self._process.terminate()
            if self.wait(GRACE_SECONDS) is None:
                self.kill()

    def said(self) -> str:
        """Return what it logged so far."""
        with self.log.open("rb") as stream:
            stream.seek(self._log_start)
            return stream.read().decode("utf-8", "replace")

    def last_words(self) -> str:
        """Return the end of what it logged."""
        return "\n".join(self.said().splitlines()[-LOG_LINES_SHOWN:])


@contextmanager
def started(
    module: str,
    arguments: Sequence[str],
    *,
    log: Path,
    variables: Mapping[str, str],
    output: int | None = None,
    descriptors: Sequence[int] = (),
) -> Iterator[Child]:
    """Run ``python -m module`` beside this process.

    Args:
        module: What to run.
        arguments: Its command line; holds no secret.
        log: Where its standard error goes, and its standard output unless ``output`` says else.
        variables: Its environment beyond what any process needs; nothing of ours is passed on.
        output: A descriptor for its standard output.
        descriptors: Further descriptors that it inherits under the same numbers.

    Yields:
        The process; it has ended when the context is left, whatever happened inside.
    """
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("ONCEWARD_")
    }
    with log.open("ab") as stream:
        start = stream.tell()
        process = subprocess.Popen(
            # -P: the folder that the demo is started in is not searched for modules.
            [sys.executable, "-P", "-m", TETHER, module, *arguments],
            stdin=subprocess.PIPE,
            stdout=stream if output is None else output,
            stderr=stream,
            env={**inherited, **variables},
            pass_fds=descriptors,
            # Ctrl-C on the terminal is for the demo alone, which then ends its children in order.
            process_group=0,
        )
    child = Child(process, log, start)
    try:
        yield child
    finally:
        child.end()
        if process.stdin is not None:
            process.stdin.close()
