"""What the program says when it does not do what was asked: what happened, why, what next."""

from collections.abc import Sequence

from onceward.exit_codes import ExitCode


class Refusal(Exception):  # noqa: N818 - said to a person, not a mistake of the program
    """The command ends here, in words and with an exit code; never with a traceback.

    Attributes:
        code: For scripts.
        fact: What happened and why, in a sentence.
        following: What to do now: commands to copy, or a sentence. Never empty.
    """

    def __init__(self, code: ExitCode, fact: str, *following: str) -> None:
        assert following, "a refusal says what to do next"
        super().__init__(fact)
        self.code = code
        self.fact = fact
        self.following = following


def lines(fact: str, following: Sequence[str]) -> str:
    """Return a refusal as it is printed."""
    return "\n".join([f"onceward: {fact}", *(f"  next: {each}" for each in following)])


class Ended(Exception):  # noqa: N818 - the command did what was asked; its answer is in the code
    """The command is over, and its exit code says what it found."""

    def __init__(self, code: ExitCode) -> None:
        super().__init__(code)
        self.code = code
