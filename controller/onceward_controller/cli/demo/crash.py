"""A worker is killed between its effect and its receipt, and the next one asks the destination.

The key of the workflow holds the document's SHA-256, so that the same document in the same folder
is the same work. Played again, the demo finds it done. Where an earlier demo was itself killed half
way, it goes on from there.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from onceward.exit_codes import ExitCode
from onceward.ports import Clock
from onceward.wire import limits
from onceward.wire.messages import OperationStatus, OperationView, WorkflowView
from onceward_controller.cli.demo import tools, words
from onceward_controller.cli.demo.controller import Hosted
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.demo.stage import Stage
from onceward_controller.cli.demo.worker import Crew, Ended
from onceward_controller.cli.refusal import Refusal

OPERATION = "publish"
PATH_CHARACTERS = 100
"""Of the document's path, in the workflow's key."""
MARGIN_MS = 200
"""Waited beyond the end of a lease, so that the next worker need not ask twice."""


@dataclass(frozen=True, slots=True)
class Crash:
    """One performance.

    Attributes:
        place: Where it happens.
        document: What is published.
        content: All of it, as it was when the demo began.
        clock: Tells when a lease is over.
        stage: Where it is shown.
    """

    place: Place
    document: Path
    content: bytes
    clock: Clock
    stage: Stage

    @classmethod
    def of(cls, place: Place, document: Path, clock: Clock, stage: Stage) -> "Crash":
        """Return a performance with ``document`` as it is now.

        Raises:
            Refusal: It cannot be read.
        """
        try:
            content = document.read_bytes()
        except OSError as error:
            raise Refusal(
                ExitCode.USAGE,
                f"the document cannot be read: {error.strerror}: `{document}`",
                "name another: --document FILE",
            ) from None
        return cls(place, document, content, clock, stage)

    def play(self, hosted: Hosted) -> WorkflowView:
        """Play steps 2 to 5, and return the workflow as it is in the end.

        Raises:
            Refusal: Something did not go as it must; the words say what.
            ProblemError: The controller refused.
        """
        view = self._prepared(hosted)
        crew = Crew.of(self.place, hosted.url, view.id)
        what = f"publish {self.document.name} ({words.counted(len(self.content), 'byte')})"
        operation = view.operations[0]
        if operation.status is OperationStatus.SUCCEEDED:
            self.stage.step("work", f"{what}: done by an earlier demo in this folder")
            self.stage.step(
                "no crash",
                "nothing has to run, so there is nothing to kill; to see it again: --dir ANOTHER",
            )
        elif operation.attempts:
            self.stage.step("work", f"{what}: begun by an earlier demo that was ended half way")
            self.stage.step("crash", "that was it: nobody was told how its worker fared")
            self._await_lease(operation)
        else:
            self._kill_one(crew, hosted, what)
        return self._finish(crew, hosted, before=operation)

    def _prepared(self, hosted: Hosted) -> WorkflowView:
        arguments = tools.document_arguments(self.place.root, self.document, self.content)
        operation = tools.publisher(self.place.root).operation(OPERATION, arguments)
        digits = str(arguments["sha256"])[: words.DIGITS]
        path = str(arguments["document"])[-PATH_CHARACTERS:]
        view = hosted.client.create(f"publish {path} {digits}", [operation])
        return hosted.client.enable(view.id) if view.status == "draft" else view

    def _kill_one(self, crew: Crew, hosted: Hosted, what: str) -> None:
        with crew.to_be_killed() as worker:
            self.stage.step("work", f"{what}, worker {worker.pid}")
            worker.kill()
            self.stage.step(
                "CRASH",
                f"killed worker {worker.pid} after the file was written, before it could say so",
                style="bold red",
            )
        self._await_lease(hosted.client.workflow(crew.workflow).operations[0])

    def _await_lease(self, operation: OperationView) -> None:
        wait_for_lease(self.stage, self.clock, operation)

    def _finish(self, crew: Crew, hosted: Hosted, *, before: OperationView) -> WorkflowView:
        pid, code, ended = crew.run()
        if ended.outcome != "done":
            raise failed(
                code, ended, words.show_command(self.place, hosted.client.workflow(crew.workflow))
            )
        view = hosted.client.workflow(crew.workflow)
        after = view.operations[0]
        files = self._published(after)
        result = ended.results[OPERATION]
        facts = f"sha256 {result['sha256'][: words.DIGITS]}.., {result['bytes']:,} bytes"
        if before.status is OperationStatus.SUCCEEDED:
            self.stage.step(
                "restart", f"worker {pid} is handed the receipt: reused, nothing written", facts
            )
        elif after.attempts[-1].mode == "query":
            name = f"{after.operation_id[:7]}.."
            self.stage.step("restart", f"worker {pid} asks the destination: {name} is there", facts)
        else:
            self.stage.step("restart", f"worker {pid} finds nothing there, and publishes", facts)
        self._check(files, result["sha256"])
        self.stage.step(
            "done",
            f"{words.counted(len(files), 'file')}, "
            f"{words.counted(len(after.attempts), 'attempt')}, 1 effect",
            style="bold green",
        )
        return view

    def _published(self, operation: OperationView) -> list[Path]:
        return sorted(self.place.published.glob(f"{operation.operation_id}*"))

    def _check(self, files: list[Path], sha256: str) -> None:
        """Look at the effect itself: the receipt is only what somebody said about it."""
        found = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        if found != [sha256]:
            raise Refusal(
                ExitCode.NEEDS_PERSON,
                f"the receipt and the folder disagree: receipt=`{sha256}` files=`{len(found)}`",
                f"was it changed by hand? look into {words.near(self.place.published)}",
            )


def wait_for_lease(stage: Stage, clock: Clock, operation: OperationView) -> None:
    """Wait until another worker can be given the operation, and say why."""
    until_ms = operation.attempts[-1].lease_until_ms + limits.CLOCK_ERROR_MS + MARGIN_MS
    left_ms = until_ms - clock.wall_ms()
    if left_ms <= 0:
        return
    seconds = operation.lease_ms // limits.SECOND_MS
    usual = limits.LEASE_DEFAULT_MS // limits.SECOND_MS
    stage.say(
        f"Its lease is {seconds} s, short for the demo ({usual} s by default), and "
        f"{limits.CLOCK_ERROR_MS // limits.SECOND_MS} s go by on top, since clocks differ."
    )
    stage.wait(left_ms, "until then it may be alive")


def failed(code: ExitCode, ended: Ended, show: str) -> Refusal:
    """Return the refusal for a worker that did not come to the end of its work."""
    what = ended.detail or ended.reason or ended.outcome
    return Refusal(code or ExitCode.FAILED, f"the worker did not finish: {what}", show)
