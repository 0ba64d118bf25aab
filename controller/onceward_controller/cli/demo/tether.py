"""Runs a module as ``python -m`` would, for as long as the process that started it lives.

    python -m onceward_controller.cli.demo.tether MODULE ARGUMENT...

The parent holds the other end of standard input and never writes to it. However the parent ends,
kill -9 included, the kernel closes that end, and this process follows.
"""

import os
import runpy
import signal
import sys

from onceward.ports import Clock
from onceward.system import SystemClock, ThreadSpawner

_STANDARD_INPUT = 0
GRACE_MS = 3_000
"""How long a process may take to end in good order once its parent is gone."""


def main() -> None:
    """Run the module that the arguments name."""
    module, *arguments = sys.argv[1:]
    ThreadSpawner().spawn("tether", lambda: _follow(SystemClock()))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _follow(clock: Clock) -> None:
    while os.read(_STANDARD_INPUT, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    clock.sleep(GRACE_MS)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
