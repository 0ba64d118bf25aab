"""The one loop that changes a workflow: read, decide, create the next revision, or read again.

    head (known, or read) -> decide -> create revision n+1 -> answer
                                ^          | another was first
                                `-- read <-'

Nobody hears an answer before what it rests on is durable. An answer that writes nothing rests on
a head that was looked up after the question came; one that writes, on the create itself. Neither
rests on a time that the store's reply to either has shown to be wrong.

Commands for one workflow that arrive while its revision is being written are decided together, in
order, and leave in the next: whoever gets the lane next takes everything that waits in it.
"""

import threading
from collections.abc import Sequence
from functools import partial

from onceward.sealing import IntegrityError
from onceward.wire.identifiers import WorkflowId
from onceward.wire.problems import ProblemCode, ProblemError, problem
from onceward_controller.protocol.answers import Answer
from onceward_controller.protocol.authority import Caller, unknown_workflow
from onceward_controller.protocol.clockguard import Moment, moment
from onceward_controller.protocol.commands import Command
from onceward_controller.protocol.decide import decide, needs
from onceward_controller.protocol.plan import Plan
from onceward_controller.protocol.recording import Stamp
from onceward_controller.protocol.rows import Row
from onceward_controller.protocol.workflow import Workflow, evolve
from onceward_controller.service.heads import Heads
from onceward_controller.service.retraction import Refusal, releases, retracted
from onceward_controller.service.rows import RowWriter
from onceward_controller.vault.body import Entry
from onceward_controller.vault.store import ConflictError, OutcomeUnknownError, StoreError
from onceward_controller.vault.vault import Vault
from onceward_controller.vault.workflow_log import Head, WorkflowLog

TRIES_MAX = 16
"""Lost races in a row after which the caller is asked to come again."""
COMMANDS_MAX = 64
"""Commands that leave in one revision, each of which may bring a receipt."""


class Settled:
    """What a command came to.

    Attributes:
        answer: As decided.
        head: The state it was answered from: after the revision that carries it, if it wrote.
        moment: The time at which it was decided.
        is_new: Whether ``head`` was written just now, for this command or for one beside it.
    """

    __slots__ = ("answer", "head", "is_new", "moment")

    def __init__(self, answer: Answer, head: Head, moment: Moment, *, is_new: bool) -> None:
        self.answer = answer
        self.head = head
        self.moment = moment
        self.is_new = is_new


class _Waiting:
    """One command in its lane."""

    __slots__ = ("caller", "command", "outcome")

    def __init__(self, caller: Caller, command: Command) -> None:
        self.caller = caller
        self.command = command
        self.outcome: Settled | BaseException | None = None


class _Lane:
    """Commands for one workflow; the lock is held while they are decided and written."""

    __slots__ = ("lock", "users", "waiting")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: list[_Waiting] = []
        self.users = 0


class Transactor:
    """Runs commands against workflows of one vault."""

    def __init__(self, vault: Vault, heads: Heads, rows: RowWriter) -> None:
        self._vault = vault
        self._heads = heads
        self._rows = rows
        self._lanes: dict[WorkflowId, _Lane] = {}
        self._lock = threading.Lock()

    def run(self, workflow: WorkflowId, caller: Caller, command: Command) -> Settled:
        """Decide ``command`` and make the decision durable.

        Raises:
            ProblemError: The command is refused; nothing changes.
            StoreError: The store could not be read or written; what is true, its class says.
            IntegrityError: What is stored is not what was written.
        """
        waiting = _Waiting(caller, command)
        with self._lock:
            lane = self._lanes.setdefault(workflow, _Lane())
            lane.users += 1
            lane.waiting.append(waiting)
        try:
            with lane.lock:
                while waiting.outcome is None:
                    self._drain(workflow, lane)
        finally:
            with self._lock:
                if waiting in lane.waiting:  # Interrupted: nobody would hear the answer.
                    lane.waiting.remove(waiting)
                lane.users -= 1
                if lane.users == 0:
                    del self._lanes[workflow]
        outcome = waiting.outcome
        if isinstance(outcome, Settled):
            return outcome
        assert outcome is not None, "a drained lane leaves no command without an outcome"
        raise outcome

    def look(self, workflow: WorkflowId, caller: Caller) -> Head:
        """Return the newest state, looked up now.

        Raises:
            NotFoundError: There is no such workflow, or it is not the caller's.
            StoreError: The store could not be read.
            IntegrityError: What is stored is not what was written.
        """
        head = self._newest(workflow, self._vault.workflow_log(workflow), self._heads.get(workflow))
        if head is None:
            raise unknown_workflow()
        caller.require_workflow(workflow, head.workflow.plan.identity.workspace)
        return head

    def _drain(self, workflow: WorkflowId, lane: _Lane) -> None:
        with self._lock:
            batch, lane.waiting = lane.waiting[:COMMANDS_MAX], lane.waiting[COMMANDS_MAX:]
        try:
            self._decide(workflow, batch)
        except BaseException as error:
            # Every caller of the batch gets the failure that is also theirs. Whatever may have been
            # written is read before anything else is; but what this process has seen of a log that
            # is damaged or rolled back stays known, or the next question would believe the rest.
            if not isinstance(error, IntegrityError):
                self._heads.drop(workflow)
            is_ours_alone = not isinstance(error, Exception)  # This thread is told to end.
            told = OutcomeUnknownError("the write was interrupted") if is_ours_alone else error
            for waiting in batch:
                if waiting.outcome is None:
                    waiting.outcome = told
            if is_ours_alone:
                raise

    def _decide(self, workflow: WorkflowId, batch: Sequence[_Waiting]) -> None:
        log = self._vault.workflow_log(workflow)
        head = self._heads.get(workflow)
        is_fresh = head is None
        if head is None:
            head = self._newest(workflow, log, None)
        for _ in range(TRIES_MAX):
            if head is None:
                raise unknown_workflow()
            steps = self._vault.time.steps
            now = self._moment(head)
            stamp = Stamp(revision=head.tip.revision + 1, ms=now.ms, safe=now.safe)
            state, entries, outcomes = self._decided(log, head, batch, now, stamp)
            if entries:
                announced: list[Row] = []
                announce = partial(self._announce, announced)
                try:
                    head = log.append(head, state, tuple(entries), stamp, announce=announce)
                except ConflictError:
                    head, is_fresh = self._newest(workflow, log, head), True
                    if head is not None and announced:
                        self._rows.heal(head, *announced)
                    continue
                self._heads.put(workflow, head)
                self._rows.moved(head)
                if self._vault.time.steps != steps:
                    head = self._taken_back(workflow, log, head, entries)
                    now = self._moment(head)
                    outcomes = [retracted(outcome, now) for outcome in outcomes]
            elif not is_fresh:
                known, head, is_fresh = head, self._newest(workflow, log, head), True
                if head is not known or self._vault.time.steps != steps:
                    continue
            for waiting, outcome in zip(batch, outcomes, strict=True):
                waiting.outcome = (
                    outcome
                    if isinstance(outcome, Refusal)
                    else Settled(outcome, head, now, is_new=bool(entries))
                )
            return
        raise problem(ProblemCode.CONTENTION, "others were first too many times: come again")

    def _decided(
        self,
        log: WorkflowLog,
        head: Head,
        batch: Sequence[_Waiting],
        now: Moment,
        stamp: Stamp,
    ) -> tuple[Workflow, list[Entry], list[Answer | Refusal]]:
        """Decide the batch in order, each command on the state that the one before it left.

        A record that is damaged is the failure of who needs it, and of nobody else.
        """
        state = head.workflow
        entries: list[Entry] = []
        outcomes: list[Answer | Refusal] = []
        for waiting in batch:
            command = waiting.command
            try:
                waiting.caller.require_workflow(
                    state.plan.identity.id, state.plan.identity.workspace
                )
                for recorded in log.records(head, needs(state, command)):
                    state = state.thawed(recorded.operation)
                transition = decide(state, command, now, self._vault.naming)
            except (ProblemError, IntegrityError) as refusal:
                outcomes.append(refusal)
                continue
            for event in transition.events:
                state = evolve(state, event, stamp)
            if transition.events:
                entries.append(
                    Entry(
                        actor=waiting.caller.principal,
                        command=type(command).__name__.lower(),
                        events=transition.events,
                    )
                )
            outcomes.append(transition.answer)
        return state, entries, outcomes

    def _taken_back(
        self, workflow: WorkflowId, log: WorkflowLog, head: Head, entries: Sequence[Entry]
    ) -> Head:
        """Release what ``entries`` granted; left undone, it counts as calls of unknown outcome."""
        released = releases(entries)
        if not released:
            return head
        now = self._moment(head)
        stamp = Stamp(revision=head.tip.revision + 1, ms=now.ms, safe=now.safe)
        state = head.workflow
        for event in (event for entry in released for event in entry.events):
            state = evolve(state, event, stamp)
        try:
            head = log.append(head, state, released, stamp, announce=self._rows.announce)
        except StoreError:
            self._heads.drop(workflow)
            return head
        self._heads.put(workflow, head)
        self._rows.moved(head)
        return head

    def _announce(self, announced: list[Row], plan: Plan, row: Row) -> bool:
        announced.append(row)
        return self._rows.announce(plan, row)

    def _moment(self, head: Head) -> Moment:
        return moment(self._vault.time.read(), high_water_ms=head.workflow.progress.high_water_ms)

    def _newest(self, workflow: WorkflowId, log: WorkflowLog, known: Head | None) -> Head | None:
        head = log.load() if known is None else log.refresh(known)
        if head is not None:
            self._heads.put(workflow, head)
        return head
