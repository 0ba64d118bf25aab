"""What the demo shows: numbered steps, in 80 columns, plain where nobody looks.

    [3/5] CRASH       worker 4121 killed: the file is written, nobody was told

Colour is rich's decision: it looks at the terminal and at NO_COLOR.
"""

import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.prompt import Prompt
from rich.text import Text

from onceward.ports import Clock
from onceward.wire.limits import SECOND_MS
from onceward_controller.cli.terminal.printable import printable

STEPS = 5
WIDTH = 80
LABEL_WIDTH = 10
_MARGIN = " " * (len(" [1/5] ") + LABEL_WIDTH + 2)
_ERASE = "\r\x1b[K"


class Stage:
    """Writes to standard output.

    Args:
        clock: Counts down.
        console: Where to write; the standard output unless a test says otherwise.
    """

    def __init__(self, clock: Clock, console: Console | None = None) -> None:
        self._clock = clock
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._step = 0

    def step(self, label: str, *sentences: str, style: str = "bold") -> None:
        """Begin the next of the steps.

        Args:
            label: One word.
            sentences: What happens, each on a line of its own, wrapped where it is too long.
            style: Of the label.
        """
        self._step += 1
        first, *rest = _wrapped(sentences)
        line = Text.assemble(
            (f" [{self._step}/{STEPS}] ", "dim"), (f"{label:<{LABEL_WIDTH}}", style), f"  {first}"
        )
        self._print(line)
        self._print(*(Text(_MARGIN + each) for each in rest))

    def say(self, *sentences: str, indent: int = 0) -> None:
        """Say more about the present step; what does not fit is indented by ``indent``."""
        self._print(*(Text(_MARGIN + each) for each in _wrapped(sentences, indent)))

    def note(self, sentence: str) -> None:
        """Say something that belongs to no step."""
        self._print(Text(sentence, style="dim"))

    def command(self, line: str) -> None:
        """Show a command to copy: from the first column, and never wrapped by us."""
        self._print(Text(printable(line), style="bold"))

    def show(self, drawing: RenderableType) -> None:
        """Show what another command would have shown, set off from our own words."""
        self._console.print()
        self._console.print(drawing, crop=False)
        self._console.print()

    def ask(self, question: str, answers: Sequence[str]) -> str:
        """Return which of ``answers`` a person gives."""
        prompt = f"{_MARGIN}{question}"
        return Prompt.ask(prompt, console=self._console, choices=list(answers))

    def choice(self, name: str, consequence: str) -> None:
        """Show one answer that can be given, and what follows from it."""
        self.say(f"{name:<{LABEL_WIDTH}}{consequence}", indent=LABEL_WIDTH)

    def pending(self, what: str) -> None:
        """Say, to somebody who watches and until the next line, what takes a moment."""
        if self._is_live:
            self._write(f"{_MARGIN}{what} ...")

    def gap(self) -> None:
        """Leave a line empty."""
        self._console.print()

    def wait(self, duration_ms: int, why: str) -> None:
        """Wait, and say what for; on a terminal with the seconds that are left.

        Args:
            duration_ms: How long; nothing is said of less than nothing.
            why: What is waited for, in a few words.
        """
        if duration_ms <= 0:
            return
        until_ms = self._clock.boottime_ms() + duration_ms
        if not self._is_live:
            self.say(f"waiting {duration_ms / SECOND_MS:.1f} s: {why}")
            self._clock.sleep(duration_ms)
            return
        try:
            while (left_ms := until_ms - self._clock.boottime_ms()) > 0:
                self._write(f"{_ERASE}{_MARGIN}waiting {-(-left_ms // SECOND_MS)} s: {why}")
                self._clock.sleep(left_ms % SECOND_MS or SECOND_MS)
        finally:
            self._write(_ERASE)

    @property
    def _is_live(self) -> bool:
        return self._console.is_terminal and not self._console.is_dumb_terminal

    def _write(self, text: str) -> None:
        self._console.file.write(text)
        self._console.file.flush()

    def _print(self, *lines: Text) -> None:
        if self._is_live:
            self._write(_ERASE)
        for line in lines:
            self._console.print(line, soft_wrap=True)
        self._console.file.flush()


def _wrapped(sentences: Iterable[str], indent: int = 0) -> list[str]:
    return [
        line
        for sentence in sentences
        for line in textwrap.wrap(
            printable(sentence),
            WIDTH - len(_MARGIN),
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
