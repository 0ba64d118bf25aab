"""A controller to talk to: over HTTP, or a vault on this host without a server.

``--vault DIR`` is for an embedded vault, whose agents have no server that could be asked: without
it nobody could settle an operation that such an agent left uncertain. It takes the key file, and
whoever can read that can do everything anyway. Processes share the vault's file, so that it is safe
beside running agents; acts are recorded under ``host.<user>``, beside the agents' ``host``.
"""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onceward import exit_codes
from onceward.controller import Controller
from onceward.exit_codes import ExitCode
from onceward.wire.identifiers import WorkspaceName, is_name
from onceward.wire.problems import ProblemError
from onceward_controller.cli import address, advice
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.refusal import Refusal
from onceward_controller.settings import FolderStore


@contextmanager
def connected(invocation: Invocation) -> Iterator[Controller]:
    """Give the controller that the options mean, and close it.

    Raises:
        Refusal: There is none, or no way in.
    """
    controller = _open(invocation)
    try:
        yield controller
    finally:
        controller.close()


@contextmanager
def about(invocation: Invocation, workflow: str | None = None) -> Iterator[None]:
    """Turn a controller's refusal into words that name the workflow and the next command.

    Raises:
        Refusal: The controller refused.
    """
    try:
        yield
    except ProblemError as error:
        following = advice.following(error, invocation, workflow)
        raise Refusal(exit_codes.of(error), advice.fact(error), *following) from error


def _open(invocation: Invocation) -> Controller:
    if invocation.vault is not None:
        return _open_vault(invocation, invocation.vault)
    from onceward_controller.cli.remote import RemoteController

    return RemoteController.at(address.find(invocation), WorkspaceName(invocation.workspace))


def _open_vault(invocation: Invocation, folder: Path) -> Controller:
    if invocation.url is not None:
        raise Refusal(
            ExitCode.USAGE, "--url and --vault name two different things", "give one of them"
        )
    require_vault(folder)
    from onceward.embedded import open_embedded

    return open_embedded(folder, principal=host_principal())


def require_vault(folder: Path) -> None:
    """Return if there is a vault in ``folder``: opening one here never makes one.

    Raises:
        Refusal: There is none.
    """
    if not FolderStore(folder).file.exists():
        raise Refusal(
            ExitCode.NOT_FOUND,
            f"there is no vault in this folder: `{folder}`",
            "give the folder that the agent opened, or make a vault: onceward init --help",
        )


def host_principal() -> str:
    """Return the name under which the history shows a person who works on the host."""
    try:
        name = f"host.{getpass.getuser().lower()}"
    except (OSError, KeyError):  # A container may run under a user id that has no name.
        return "host"
    return name if is_name(name) else "host"
