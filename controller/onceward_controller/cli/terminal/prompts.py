"""Questions to a person; never to a program.

Where stdin is no terminal nothing is asked: a script that would hang or guess is told which option
says it in advance.
"""

import sys

import typer

from onceward.exit_codes import ExitCode
from onceward_controller.cli.refusal import Refusal
from onceward_controller.cli.terminal.output import Output


def is_person() -> bool:
    """Return whether somebody can read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(output: Output, question: str, *, yes: bool) -> None:
    """Return once a person has agreed, or ``--yes`` has.

    Raises:
        Refusal: They have not, or there is nobody to ask.
    """
    if yes:
        return
    if not is_person():
        raise Refusal(
            ExitCode.USAGE,
            "this asks for a yes, and there is no terminal to ask on; nothing was done",
            "say it in advance: --yes",
        )
    output.error("")
    if not typer.confirm(question, default=False, err=True):
        raise Refusal(
            ExitCode.FAILED,
            "not confirmed; nothing was done",
            "the same command, once you are sure",
        )


def read_token(output: Output, *, from_stdin: bool) -> str:
    """Return a token that somebody types unseen, or that stdin holds.

    Raises:
        Refusal: There is none.
    """
    if from_stdin:
        text = sys.stdin.readline().strip()
    elif is_person():
        text = str(typer.prompt("Administrator's token", hide_input=True, err=True)).strip()
    else:
        raise Refusal(
            ExitCode.USAGE,
            "a token is needed, and there is no terminal to ask on",
            "put it into ONCEWARD_TOKEN, or pipe it in: --token-stdin",
        )
    if not text:
        raise Refusal(ExitCode.USAGE, "the token is empty", "give it by --token-stdin")
    output.detail("token read")
    return text
