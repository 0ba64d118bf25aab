"""Ctrl-C at a moment that a test chooses, in whatever the main thread then waits for."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from onceward.system import ThreadSpawner


class InterruptedOnceError(Exception):
    """What the main thread is interrupted by, in the place of ``KeyboardInterrupt``."""


def interrupt_main() -> None:
    """Do to this process what Ctrl-C does."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


@contextmanager
def one_interrupt_when(is_time: Callable[[], bool]) -> Iterator[None]:
    """Interrupt the main thread once, in whatever it waits for, as Ctrl-C would."""
    raised, left = threading.Event(), threading.Event()

    def interrupt(number: int, frame: object) -> None:
        if not raised.is_set():
            raised.set()
            raise InterruptedOnceError

    def send() -> None:
        while not is_time():
            os.sched_yield()
        # A signal that comes just before the thread begins to wait does not wake it: send again.
        while not left.wait(0.01):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    sender = ThreadSpawner().spawn("sender", send)
    try:
        yield
    finally:
        left.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
