"""A receipt is lost where nobody can be asked: the work stops, a person decides, the rest goes on.

A letter is posted into an outbox that cannot be asked and knows no keys, and a copy is to be filed
once it is out. The worker is killed in between. No machine can know now whether the letter is out:
the next worker is given nothing, until somebody has looked and says so.

Each performance posts a new letter, unless an earlier demo left one undecided.
"""

from dataclasses import dataclass
from pathlib import Path

from onceward.exit_codes import ExitCode
from onceward.ports import Clock
from onceward.wire.messages import OperationStatus, WorkflowStatus, WorkflowView
from onceward_controller.cli.demo import crash, tools, words
from onceward_controller.cli.demo.controller import Hosted
from onceward_controller.cli.demo.person import Answer, Person
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.demo.stage import Stage
from onceward_controller.cli.demo.worker import Crew
from onceward_controller.cli.workflows import sheet as workflow_sheet

POST, COPY = "post", "file"
LETTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class LostReceipt:
    """One performance.

    Attributes:
        place: Where it happens.
        clock: Tells when a lease is over.
        stage: Where it is shown.
        person: Who decides.
    """

    place: Place
    clock: Clock
    stage: Stage
    person: Person

    def play(self, hosted: Hosted) -> tuple[ExitCode, WorkflowView]:
        """Play steps 2 to 5.

        Returns:
            The exit code, and the workflow as it is in the end.

        Raises:
            Refusal: Something did not go as it must; the words say what.
            ProblemError: The controller refused.
        """
        view = self._prepared(hosted)
        crew = Crew.of(self.place, hosted.url, view.id)
        self._kill_one(crew, hosted, view)
        pid, code, ended = crew.run()
        view = hosted.client.workflow(view.id)
        if ended.outcome == "done":
            self.stage.step("restart", f"worker {pid} finishes what was decided before")
            self.stage.step("done", "Play it again for a new letter.", style="bold green")
            return ExitCode.OK, view
        if code is not ExitCode.NEEDS_PERSON:
            raise crash.failed(code, ended, words.show_command(self.place, view))
        what = f"worker {pid} is given nothing: {ended.reason}, exit code {code.value}"
        self._show_stop(view, what)
        answer = self.person.asked(view)
        if answer is Answer.ASK:
            self.stage.step("undecided", "Nothing runs and nothing is lost. Whoever knows says so:")
            return ExitCode.NEEDS_PERSON, view
        self.person.decide(hosted.client, view, answer, self._letters(view))
        return ExitCode.OK, self._finish(crew, hosted)

    def _prepared(self, hosted: Hosted) -> WorkflowView:
        """Return a letter that is not out yet, for all that is recorded."""
        for number in range(1, LETTERS_MAX):
            text = f"Dear reader,\n\nthis is letter {number}. It must not come twice.\n"
            operations = [
                tools.poster(self.place.root).operation(POST, {"text": text}),
                tools.copier(self.place.root).operation(COPY, {"text": text}),
            ]
            view = hosted.client.create(f"letter {number}", operations)
            if view.status is WorkflowStatus.DRAFT:
                return hosted.client.enable(view.id)
            is_given_up = OperationStatus.ABANDONED in {each.status for each in view.operations}
            if view.status is not WorkflowStatus.COMPLETED and not is_given_up:
                return view
        raise AssertionError("nobody plays this a thousand times in one folder")

    def _kill_one(self, crew: Crew, hosted: Hosted, view: WorkflowView) -> None:
        what = f"{view.key}: post it, then file a copy"
        guarantee = "The outbox cannot be asked and knows no keys: at most once."
        operation = view.operations[0]
        if operation.attempts:
            self.stage.step("work", f"{what}; begun by an earlier demo", guarantee)
            self.stage.step("crash", "that was it: nobody was told how its worker fared")
        else:
            with crew.to_be_killed() as worker:
                self.stage.step("work", f"{what}; worker {worker.pid}", guarantee)
                worker.kill()
                self.stage.step(
                    "CRASH",
                    f"killed worker {worker.pid} after the letter was out, before it could say so",
                    style="bold red",
                )
            operation = hosted.client.workflow(view.id).operations[0]
        crash.wait_for_lease(self.stage, self.clock, operation)

    def _show_stop(self, view: WorkflowView, what: str) -> None:
        """Show what a person would be shown, by the code that shows it to them."""
        self.stage.step("stopped", what, "What a person sees:", style="bold red")
        self.stage.gap()
        self.stage.command(words.show_command(self.place, view))
        invocation = words.invocation(self.place)
        self.stage.show(workflow_sheet.draw(view, invocation, now_ms=self.clock.wall_ms()))
        names = ", ".join(letter.name for letter in self._letters(view)) or "nothing of it"
        self.stage.say(f"The outbox, {words.near(self.place.outbox)}/, holds {names}.")

    def _finish(self, crew: Crew, hosted: Hosted) -> WorkflowView:
        pid, code, ended = crew.run()
        view = hosted.client.workflow(crew.workflow)
        if ended.outcome != "done":
            raise crash.failed(code, ended, words.show_command(self.place, view))
        letters = self._letters(view)
        attempts = words.counted(len(view.operations[0].attempts), "attempt")
        if len(letters) > 1:
            self.stage.say("The person was wrong, and so the letter is out twice.")
        self.stage.say(
            f"Worker {pid} goes on, and files the copy.",
            f"{words.counted(len(letters), 'letter')}, {attempts}, 1 copy.",
        )
        return view

    def _letters(self, view: WorkflowView) -> list[Path]:
        """Return how often this letter lies in the outbox, oldest first."""
        text = view.operations[0].arguments["text"]
        found = [each for each in self.place.outbox.iterdir() if each.read_text("utf-8") == text]
        return sorted(found, key=lambda each: each.stat().st_mtime_ns)
