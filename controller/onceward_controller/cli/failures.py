"""Every failure that a person can do something about, as words and an exit code.

The one place that knows the exceptions of the layers below; whatever is not here is a bug, and a
bug shows its traceback.
"""

import typer

from onceward import exit_codes
from onceward.exit_codes import ExitCode
from onceward.wire.problems import ProblemError
from onceward_controller.cli import advice
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.private_file import PrivateFileError
from onceward_controller.cli.profile import InUseError
from onceward_controller.cli.refusal import Refusal

_DOCTOR = "look at what is wrong: onceward doctor"


def refusal_of(error: Exception) -> Refusal | None:
    """Return what to say about ``error``, or None when it is a bug."""
    match error:
        case Refusal():
            return error
        case ProblemError():
            following = advice.following(error, Invocation(), None)
            return Refusal(exit_codes.of(error), advice.fact(error), *following)
        case PrivateFileError():
            return Refusal(ExitCode.FAILED, str(error), "correct it and run the command again")
        case InUseError():
            return Refusal(
                ExitCode.CONFLICT, str(error), "use it: onceward status", "or stop it first"
            )
        case _:
            return _of_the_vault(error)


def _of_the_vault(error: Exception) -> Refusal | None:
    # Imported here: these modules take time, and where one of their errors was raised they are in.
    from onceward.sealing import IntegrityError
    from onceward_controller.vault import store
    from onceward_controller.vault.keys import keyring
    from onceward_controller.vault.keys.key_file import UnlockError

    match error:
        case IntegrityError():
            return Refusal(
                ExitCode.NEEDS_PERSON,
                f"stored bytes are damaged: {error}",
                "keep a copy; " + _DOCTOR,
            )
        case UnlockError():
            return Refusal(ExitCode.LOCKED, str(error), "correct it and run the command again")
        case keyring.NoVaultError():
            return Refusal(ExitCode.NOT_FOUND, str(error), "onceward init --help")
        case keyring.VaultExistsError():
            return Refusal(
                ExitCode.CONFLICT, str(error), "use it as it is, or name another place: --store"
            )
        case store.UnavailableError():
            return Refusal(
                ExitCode.UNREACHABLE,
                f"nothing happened: {error}",
                "the same command later",
                _DOCTOR,
            )
        case store.OutcomeUnknownError():
            return Refusal(
                ExitCode.UNREACHABLE,
                f"the store may have written: {error}",
                "look before repeating",
            )
        case OSError():
            return Refusal(
                ExitCode.FAILED,
                f"the system refuses: {error.strerror or error}: `{error.filename or ''}`",
                "make it possible, or name another place",
            )
        case store.StoreError():
            return Refusal(ExitCode.NEEDS_PERSON, f"nothing happened: {error}", _DOCTOR)
        case _:
            return None


def usage(error: Exception) -> str | None:
    """Return the words of a mistake in the command line, or None when it is something else."""
    # typer's own errors, wherever this version of typer defines their classes.
    if getattr(error, "exit_code", None) != ExitCode.USAGE:
        return None
    context: typer.Context | None = getattr(error, "ctx", None)
    path = "onceward" if context is None else context.command_path
    message = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    if message.startswith("Usage:"):  # A group without a command: its help says what there is.
        return message
    return f"onceward: {message}\n  next: {path} --help"
