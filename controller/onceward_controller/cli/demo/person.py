"""The person of the lost receipt: what they are shown, what they say, and how it is recorded.

The answer is theirs. Where nobody can be asked, and nobody said beforehand what to answer, the demo
plays the person, and says that it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from onceward.client import Client
from onceward.wire.limits import SECOND_MS
from onceward.wire.messages import WorkflowView
from onceward.wire.problems import ConflictError, ProblemCode
from onceward.wire.receipts import Outcome
from onceward_controller.cli.demo.stage import Stage
from onceward_controller.cli.workflows import choices

UNSURE = "unsure"
_AGAIN_MS = SECOND_MS // 10


class Answer(StrEnum):
    """What a person can say."""

    HAPPENED = "happened"
    NOT = "not"
    ASK = "ask"
    """Ask at the terminal; where there is none, or they cannot tell, it stays undecided."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who decides.

    Attributes:
        stage: Where they are asked.
        answer: What they said beforehand.
        is_played: Whether that is only what the demo plays.
        may_ask: Whether there is a terminal to ask at.
    """

    stage: Stage
    answer: Answer
    is_played: bool
    may_ask: bool

    def asked(self, view: WorkflowView) -> Answer:
        """Return what they say about the first operation of ``view``; ASK for nothing yet."""
        if self.answer is not Answer.ASK or not self.may_ask:
            return self.answer
        twice = choices.not_executed_consequence(len(view.operations[0].attempts) + 1)
        self.stage.choice(Answer.HAPPENED, "It happened. The copy is filed next.")
        self.stage.choice(Answer.NOT, f"It did not happen. {twice}")
        self.stage.choice(UNSURE, "I cannot tell. Somebody else may know.")
        said = self.stage.ask("Is the letter out?", (Answer.HAPPENED, Answer.NOT, UNSURE))
        return Answer.ASK if said == UNSURE else Answer(said)

    def decide(
        self, client: Client, view: WorkflowView, answer: Answer, letters: Sequence[Path]
    ) -> None:
        """Record the answer, with evidence; wait where it is too early to say.

        Args:
            client: Speaks to the controller as an operator.
            view: The workflow as they saw it; the answer is refused if it has changed since.
            answer: Whether it happened.
            letters: What lies in the outbox.

        Raises:
            ProblemError: The controller refused.
        """
        effect_id = None
        if answer is Answer.HAPPENED:
            outcome, claim = Outcome.SUCCEEDED, "it happened"
            effect_id = letters[-1].name if letters else None
            evidence = f"looked into the outbox: {effect_id or 'somebody took it out'}"
        else:
            outcome, claim = Outcome.NOT_EXECUTED, "it did not happen"
            evidence = "looked into the outbox: it is not there"
        who = "Nobody was asked: the demo plays the person." if self.is_played else ""
        self.stage.step("decided", f'"{claim}", evidence: "{evidence}"', *filter(None, [who]))
        while True:
            try:
                client.resolve(
                    view.id,
                    view.operations[0].name,
                    outcome,
                    evidence=evidence,
                    revision=view.revision,
                    effect_id=effect_id,
                )
            except ConflictError as error:
                if error.code is not ProblemCode.MAY_STILL_LAND:
                    raise
                left_ms = int(error.more["allowed_from_ms"]) - int(error.more["now_ms"])
                self.stage.wait(max(left_ms, _AGAIN_MS), "until then a call may still land")
            else:
                return
