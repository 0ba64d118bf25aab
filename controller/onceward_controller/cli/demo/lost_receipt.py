"""A receipt is lost where nobody can be asked: the work stops, a person decides, the rest goes on.

A letter is posted into an outbox that cannot be asked and knows no keys, and a copy is to be filed
once it is out. The worker is killed in between. No machine can know now whether the letter is out:
the next worker is given nothing, until somebody has looked and says so.
"""

from dataclasses import dataclass
from enum import StrEnum

from rich.prompt import Prompt

from onceward.ports import Clock
from onceward.wire.limits import SECOND_MS
from onceward.wire.messages import OperationStatus, OperationView, WorkflowStatus, WorkflowView
from onceward.wire.problems import ConflictError, ProblemCode
from onceward.wire.receipts import Outcome
from onceward_controller.cli import choices, workflow_sheet
from onceward_controller.cli.demo import crash, tools, words
from onceward_controller.cli.demo.controller import Hosted
from onceward_controller.cli.demo.place import Place
from onceward_controller.cli.demo.stage import Stage
from onceward_controller.cli.demo.worker import Crew
from onceward_controller.cli.exit_codes import ExitCode

POST, COPY = "post", "file"
LETTERS_MAX = 1_000


class Answer(StrEnum):
    """What a person can say."""

    HAPPENED = "happened"
    NOT = "not"
    ASK = "ask"
    """Ask at the terminal; without one, leave it undecided."""


@dataclass(frozen=True, slots=True)
class LostReceipt:
    """One performance.

    Attributes:
        place: Where it happens.
        clock: Tells when a lease is over.
        stage: Where it is shown.
        answer: What the person says.
        is_played: Whether the demo plays the person, since nobody said what they would say.
        may_ask: Whether there is a terminal to ask at.
    """

    place: Place
    clock: Clock
    stage: Stage
    answer: Answer
    is_played: bool
    may_ask: bool

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
        view = self._stopped(crew, hosted)
        answer = self._asked(view)
        if answer is Answer.ASK:
            self.stage.step("undecided", "Nothing runs and nothing is lost. Whoever knows can say:")
            return ExitCode.NEEDS_PERSON, view
        self._decide(hosted, view, answer)
        return self._finish(crew, hosted, answer)

    def _prepared(self, hosted: Hosted) -> WorkflowView:
        """Return a letter that is not out yet: a new one, or one that an earlier demo left."""
        for number in range(1, LETTERS_MAX):
            text = f"Dear reader,\n\nthis is letter {number}. It must not come twice.\n"
            operations = [
                tools.poster(self.place.root).operation(POST, {"text": text}),
                tools.copier(self.place.root).operation(COPY, {"text": text}),
            ]
            view = hosted.client.create(f"letter {number}", operations)
            if view.status is WorkflowStatus.DRAFT:
                return hosted.client.enable(view.id)
            if view.status not in {WorkflowStatus.COMPLETED, WorkflowStatus.ABANDONED}:
                return view
        raise AssertionError("a person does not play this a thousand times")

    def _kill_one(self, crew: Crew, hosted: Hosted, view: WorkflowView) -> None:
        what = f"{view.key}: post it, then file a copy"
        guarantee = "The outbox cannot be asked and knows no keys: at most once."
        operation = view.operations[0]
        if operation.status is OperationStatus.PENDING:
            with crew.to_be_killed() as worker:
                self.stage.step("work", f"{what}; worker {worker.pid}", guarantee)
                worker.kill()
                self.stage.step(
                    "CRASH",
                    f"killed worker {worker.pid} after the letter was out, before it could say so",
                    style="bold red",
                )
            operation = hosted.client.workflow(view.id).operations[0]
        else:
            self.stage.step("work", f"{what}; begun by an earlier demo", guarantee)
            self.stage.step("crash", "that was it: nobody was told how its worker fared")
        crash.wait_for_lease(self.stage, self.clock, operation)

    def _stopped(self, crew: Crew, hosted: Hosted) -> WorkflowView:
        pid, code, ended = crew.run()
        view = hosted.client.workflow(crew.workflow)
        if code is not ExitCode.NEEDS_PERSON:
            raise crash.failed(code, ended, words.show_command(self.place, view))
        self.stage.step(
            "stopped",
            f"worker {pid} is given nothing to do: {ended.reason}, exit code {code.value}",
            "What a person sees:",
            style="bold red",
        )
        self.stage.gap()
        self.stage.command(words.show_command(self.place, view))
        drawing = workflow_sheet.draw(
            view, words.invocation(self.place), now_ms=self.clock.wall_ms()
        )
        self.stage.show(drawing)
        return view

    def _asked(self, view: WorkflowView) -> Answer:
        """Return what the person says."""
        operation = _undecided(view)
        letters = ", ".join(sorted(each.name for each in self.place.outbox.iterdir()))
        self.stage.say(f"The outbox, {words.near(self.place.outbox)}/, holds: {letters}")
        if self.answer is not Answer.ASK:
            return self.answer
        if not self.may_ask:
            return Answer.ASK
        twice = choices.not_executed_consequence(len(operation.attempts) + 1)
        self.stage.say("happened   It happened. The copy is filed next.")
        self.stage.say(f"not        It did not happen. {twice}")
        self.stage.say("ask        I cannot tell: somebody else may know.")
        said = Prompt.ask("Was it posted?", choices=[each.value for each in Answer])
        return Answer(said)

    def _decide(self, hosted: Hosted, view: WorkflowView, answer: Answer) -> None:
        who = "nobody answered, so the demo plays the person: " if self.is_played else ""
        letters = sorted(self.place.outbox.iterdir(), key=lambda each: each.stat().st_mtime_ns)
        if answer is Answer.HAPPENED:
            name = letters[-1].name if letters else ""
            evidence = f"looked into the outbox: {name} is there"
            outcome, claim = Outcome.SUCCEEDED, "it happened"
        else:
            name = ""
            evidence = "looked into the outbox and did not find it"
            outcome, claim = Outcome.NOT_EXECUTED, "it did not happen"
        self.stage.step("decided", f'{who}"{claim}": {evidence}')
        operation = _undecided(view)
        while True:
            try:
                hosted.client.resolve(
                    view.id,
                    operation.name,
                    outcome,
                    evidence=evidence,
                    revision=view.revision,
                    effect_id=name or None,
                )
            except ConflictError as error:
                if error.code is not ProblemCode.MAY_STILL_LAND:
                    raise
                left_ms = int(error.more["allowed_from_ms"]) - int(error.more["now_ms"])
                self.stage.wait(
                    max(left_ms, SECOND_MS // 10), "refused till then, a call might still land"
                )
            else:
                return

    def _finish(self, crew: Crew, hosted: Hosted, answer: Answer) -> tuple[ExitCode, WorkflowView]:
        pid, code, ended = crew.run()
        view = hosted.client.workflow(crew.workflow)
        if ended.outcome != "done":
            raise crash.failed(code, ended, words.show_command(self.place, view))
        attempts = words.counted(len(view.operations[0].attempts), "attempt")
        if answer is Answer.HAPPENED:
            self.stage.say(
                f"worker {pid} goes on: the copy is filed.", f"1 letter, {attempts}, 1 copy."
            )
        else:
            self.stage.say(
                f"worker {pid} is told to try once more: the letter is out a second time, "
                "because the person was wrong, and the copy is filed.",
                f"2 letters, {attempts}, 1 copy.",
            )
        return ExitCode.OK, view


def _undecided(view: WorkflowView) -> OperationView:
    return view.operations[0]
