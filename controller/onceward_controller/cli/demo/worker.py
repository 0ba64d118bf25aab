"""Worker processes on one workflow: one that is killed in the receipt window, and its successors.

    publish ──▶ the file is linked ──▶ the tool tells the demo ──▶ SIGKILL
                                       └─ and never returns, so no receipt is ever sent

The process is a real one and so is the signal; only the moment is chosen.
"""

import os
import select
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from onceward.exit_codes import ExitCode
from onceward.wire.identifiers import WorkflowId
from onceward.wire.tokens import Role
from onceward_controller.cli.demo import child, tools
from onceward_controller.cli.demo.child import Child
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.refusal import Refusal

TOOLS_FILE = Path(tools.__file__)
EFFECT_SECONDS = 30.0
"""How long a worker may take to come to its effect."""
PATIENCE_SECONDS = 30
"""What a worker is told to wait where only time is in the way."""
_END_SECONDS = 60.0


class Ended(msgspec.Struct, frozen=True):
    """What a worker that ended by itself had to say, as it said it on its standard output."""

    outcome: str
    results: dict[str, Any] = {}
    reason: str = ""
    detail: str = ""
    operation: str = ""


@dataclass(frozen=True, slots=True)
class Crew:
    """Starts the workers of one workflow.

    Attributes:
        place: Where everything lies.
        url: The controller's address.
        workflow: The one workflow that its credential is good for.
        token: That credential.
    """

    place: Place
    url: str
    workflow: WorkflowId
    token: str

    @classmethod
    def of(cls, place: Place, url: str, workflow: WorkflowId) -> "Crew":
        """Return a crew with a credential for ``workflow``."""
        return cls(place, url, workflow, place.token(Role.WORKER, workflow))

    @contextmanager
    def to_be_killed(self) -> Iterator[Child]:
        """Start a worker, and give it once its effect is there and it is holding still.

        Raises:
            Refusal: It ended, or nothing happened in time.
        """
        told, tell = os.pipe()
        try:
            with self._started({tools.HOLD_VARIABLE: str(tell)}, descriptors=(tell,)) as worker:
                os.close(tell)
                tell = -1
                ready, _, _ = select.select([told], [], [], EFFECT_SECONDS)
                if not ready or not os.read(told, 1):
                    raise _failed(worker, "the worker did not come to its effect")
                yield worker
        finally:
            for descriptor in (told, tell):
                if descriptor >= 0:
                    os.close(descriptor)

    def run(self) -> tuple[int, ExitCode, Ended]:
        """Run a worker until it ends by itself.

        Returns:
            Its process id, its exit code and its words.

        Raises:
            Refusal: It said nothing that can be read.
        """
        with (
            tempfile.TemporaryFile() as output,
            self._started({}, output=output.fileno()) as worker,
        ):
            code = worker.wait(_END_SECONDS)
            output.seek(0)
            try:
                ended = msgspec.json.decode(output.read(), type=Ended)
                return worker.pid, ExitCode(code if code is not None else 1), ended
            except (msgspec.DecodeError, ValueError):
                raise _failed(worker, f"the worker ended with code {code}") from None

    @contextmanager
    def _started(
        self,
        variables: dict[str, str],
        *,
        output: int | None = None,
        descriptors: tuple[int, ...] = (),
    ) -> Iterator[Child]:
        arguments = [
            "run",
            str(TOOLS_FILE),
            *("--workflow", self.workflow),
            *("--url", self.url),
            *("--wait", str(PATIENCE_SECONDS)),
        ]
        with child.started(
            "onceward_worker",
            arguments,
            log=self.place.logs / "worker.log",
            variables={
                "ONCEWARD_TOKEN": self.token,
                tools.PLACE_VARIABLE: str(self.place.root),
                **variables,
            },
            output=output,
            descriptors=descriptors,
        ) as worker:
            yield worker


def _failed(worker: Child, what: str) -> Refusal:
    return Refusal(
        ExitCode.FAILED,
        f"{what}\n{worker.last_words()}",
        f"read all that it said: {worker.log}",
    )
