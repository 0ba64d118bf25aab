"""Who may run what now: one operation by name, or the next that is ready.

The table (``table``) answers for an operation; here it is asked, and a caller that does not offer
the tool gets no grant of it.
"""

from collections.abc import Iterator, Sequence

from onceward.wire.decisions import StopReason
from onceward.wire.definitions import OperationDefinition
from onceward.wire.messages import ToolOffer
from onceward_controller.protocol import reasons
from onceward_controller.protocol.answers import Done, Grant, Reuse, Stop, Verdict, Wait
from onceward_controller.protocol.clockguard import Moment
from onceward_controller.protocol.table import FOR_A_PERSON, Question, verdict_on
from onceward_controller.protocol.workflow import Workflow


def judge(
    workflow: Workflow,
    at: int,
    *,
    request_id: str,
    moment: Moment,
    tools: Sequence[ToolOffer] | None = None,
) -> Verdict:
    """Answer for the operation at index ``at``.

    Args:
        workflow: The state; the operation's record must be at hand.
        at: Index in the plan.
        request_id: Of the process that asks.
        moment: When.
        tools: What the caller can run; None when it does not say.
    """
    question = Question(workflow=workflow, at=at, request_id=request_id, moment=moment)
    verdict = verdict_on(question)
    definition = question.definition
    if isinstance(verdict, Grant) and not _is_offered(definition, tools):
        return question.stop(StopReason.UNKNOWN_TOOL, reasons.unknown_tool(definition))
    return verdict


def judge_all(workflow: Workflow, *, moment: Moment) -> list[Verdict]:
    """Answer for every operation, by index, as for a process that holds nothing.

    Args:
        workflow: The state; records of final operations must be at hand.
        moment: When.
    """
    of_roots: dict[int, Verdict] = {}
    return [
        verdict_on(Question(workflow, at, "", moment, of_roots))
        for at in range(len(workflow.plan.operations))
    ]


def judge_next(
    workflow: Workflow,
    *,
    request_id: str,
    moment: Moment,
    tools: Sequence[ToolOffer] | None = None,
) -> Verdict:
    """Answer for the whole workflow: the first operation, in plan order, that may run now.

    Where none may, the answer is the nearest wait, else the first stop that needs a person, else
    the first: of operations whose predecessors have all succeeded, since no other is a cause.
    """
    waits: list[Wait] = []
    stops: list[Stop] = []
    for at in _candidates(workflow, request_id):
        verdict = judge(workflow, at, request_id=request_id, moment=moment, tools=tools)
        match verdict:
            case Grant():
                return verdict
            case Wait():
                waits.append(verdict)
            case Stop():
                stops.append(verdict)
            case Reuse() | Done():
                raise AssertionError("a candidate has not succeeded")
    if waits:
        return min(waits, key=lambda wait: wait.until_ms)
    if stops:
        return next((each for each in stops if each.reason in FOR_A_PERSON), stops[0])
    if workflow.progress.succeeded == len(workflow.plan.operations):
        return Done()
    # All that is left was given up, or waits for what was.
    left = next(at for at in workflow.plan.order if not workflow.has_succeeded(at))
    return judge(workflow, left, request_id=request_id, moment=moment, tools=tools)


def _candidates(workflow: Workflow, request_id: str) -> Iterator[int]:
    """Yield what could run next, in plan order; what this process already holds comes first."""
    progress = workflow.progress
    for at, operation in progress.open.items():
        if operation.last is not None and operation.last.request_id == request_id:
            yield at
    predecessors = workflow.plan.predecessors
    for at in workflow.plan.order:
        # The first test alone settles nearly all of a long chain.
        if at in progress.finished or workflow.is_finished(at):
            continue
        if all(workflow.has_succeeded(before) for before in predecessors[at]):
            yield at


def _is_offered(definition: OperationDefinition, tools: Sequence[ToolOffer] | None) -> bool:
    return tools is None or ToolOffer(definition.tool, definition.version) in tools
