"""Running a controller in this process until a signal ends it.

The socket is bound here and not by uvicorn: a port that is taken is then told in words, and the
address is known, also for port 0, before anybody is told about it.

uvicorn stops at a signal and, when it has stopped, raises the signal again. SIGINT then is the
usual ``KeyboardInterrupt``; SIGTERM would end the process before the store is closed, and so it
becomes an exception as well, from before the vault is opened until it is closed.
"""

import errno
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from onceward.exit_codes import ExitCode
from onceward_controller.cli.refusal import Refusal

if TYPE_CHECKING:
    from onceward_controller.service.service import Service
    from onceward_controller.settings import Settings

_BACKLOG = 1024


class _TerminatedError(Exception):
    """SIGTERM arrived."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that clients can connect to.

    Raises:
        Refusal: The address is taken, or is not one of this machine.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        following = f"listen elsewhere: --port {port + 1}, or --port 0 for any that is free"
        if error.errno != errno.EADDRINUSE:
            following = "give an address of this machine: --host 127.0.0.1"
        reason = os.strerror(error.errno) if error.errno else str(error)
        fact = f"cannot listen at {host}:{port}: {reason.lower()}"
        raise Refusal(ExitCode.FAILED, fact, following) from None
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address under which clients on this machine reach ``listener``."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def host(service: "Service", settings: "Settings", listener: socket.socket) -> None:
    """Serve until a signal says to end.

    Raises:
        KeyboardInterrupt: SIGINT.
        Refusal: The server did not start.
    """
    import resource

    from onceward_controller import serve

    # What this process holds must not end in a core dump, nor its files in others' hands.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    server = serve.new_server(serve.application_of(service, settings), settings)
    server.run(sockets=[listener])
    if not server.started:
        raise Refusal(ExitCode.FAILED, "the controller did not start", "see its log above")


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Leave the block in order when SIGTERM arrives, closing what it opened."""

    def raise_it(_number: int, _frame: FrameType | None) -> NoReturn:
        raise _TerminatedError

    before = signal.signal(signal.SIGTERM, raise_it)
    try:
        yield
    except _TerminatedError:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
