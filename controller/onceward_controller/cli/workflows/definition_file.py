"""A workflow's definition, from a file or from stdin."""

import sys
from pathlib import Path

from onceward import exit_codes
from onceward.exit_codes import ExitCode
from onceward.wire import codec, limits
from onceward.wire.messages import CreateWorkflow
from onceward.wire.problems import InvalidError
from onceward_controller.cli import advice
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.refusal import Refusal


def read(invocation: Invocation, file: str) -> CreateWorkflow:
    """Return the definition in ``file``; ``-`` is stdin.

    Raises:
        Refusal: It cannot be read, or is not a definition. The words name the file and the place.
    """
    try:
        body = _bytes(file)
    except OSError as error:
        raise Refusal(
            ExitCode.USAGE, f"the file cannot be read: {error.strerror}: `{file}`", "check its path"
        ) from None
    try:
        return codec.decode(body, CreateWorkflow)
    except InvalidError as error:
        name = "stdin" if file == "-" else file
        following = advice.following(error, invocation, None)
        fact = f"`{name}`: {advice.fact(error)}"
        raise Refusal(exit_codes.of(error), fact, *following) from None


def _bytes(file: str) -> bytes:
    # One byte more than is allowed is enough to be refused for its size.
    most = limits.BODY_BYTES_MAX + 1
    if file == "-":
        return sys.stdin.buffer.read(most)
    with Path(file).open("rb") as stream:
        return stream.read(most)
