"""What a script learns from the worker's end: the numbers of ``onceward.exit_codes``, and why.

0 all done, or told to stop and nothing left undone   3 a person must decide
1 failed, or not now: run it again                    4 paused, not enabled, or not permitted
2 the command line, or the tools, are not the ones    5 conflict: look again
6 no such workflow   7 the controller gave no answer  9 the clocks disagree   130 interrupted
"""

from onceward import exit_codes
from onceward.errors import LocalReason, ProblemError, Stopped, StoppedReason
from onceward.exit_codes import ExitCode
from onceward.wire.decisions import StopReason, WaitReason

_E, _S, _L = ExitCode, StopReason, LocalReason

STOPS: dict[StoppedReason, ExitCode] = {
    _S.ABANDONED: _E.CONFLICT,
    _S.NEEDS_DECISION: _E.NEEDS_PERSON,
    _S.NOT_EXECUTED: _E.NEEDS_PERSON,
    _S.NOT_ENABLED: _E.PAUSED_OR_DENIED,
    _S.PAUSED: _E.PAUSED_OR_DENIED,
    _S.CLOCK_UNSAFE: _E.CLOCK_UNSAFE,
    _S.PREDECESSOR_NEEDS_DECISION: _E.NEEDS_PERSON,
    _S.PREDECESSOR_STOPPED: _E.CONFLICT,
    _S.ATTEMPT_LIMIT: _E.NEEDS_PERSON,
    _S.REVISION_LIMIT: _E.NEEDS_PERSON,
    _S.UNKNOWN_TOOL: _E.USAGE,
    # Another worker is at it, or its time has not come: nothing is wrong, and nothing is done.
    **dict.fromkeys(WaitReason, _E.FAILED),
    _L.TOOL_CHANGED: _E.USAGE,
    _L.LATE_GRANT: _E.FAILED,
    _L.ARGUMENTS_UNREADABLE: _E.NEEDS_PERSON,
    _L.CLOSING: _E.OK,
}
"""Every reason for which nothing runs; a new one without a row fails at import."""

assert set(STOPS) == {*StopReason, *WaitReason, *LocalReason}, "every reason has its exit code"


def of(error: Stopped | ProblemError) -> ExitCode:
    """Return the exit code for what kept the worker from finishing."""
    if isinstance(error, Stopped):
        return STOPS[error.reason]
    return exit_codes.of(error)
