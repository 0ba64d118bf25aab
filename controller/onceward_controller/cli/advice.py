"""What to do about each refusal of the controller: one row for each code.

``{show}``, ``{list}`` and so on stand for commands that reach the same controller as the refused
one did, so that they can be copied.
"""

from onceward.wire.problems import ProblemCode, ProblemError, UnknownWriteError
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.terminal import moments

_CORRECT = "correct it and run the command again"
_DEFINITION = "correct the definition and run the command again: docs/reference/cli.md shows one"
_LOOK = "look at the present state, then decide again: {show}"
_RUNNER = "this concerns a running tool, not an operator: {show}"
_TOKEN = (
    "put a token into ONCEWARD_TOKEN; on the controller's host, make one with: "
    "onceward credential create --role operator --workspace NAME --store STORE --key-file FILE"
)
_C = ProblemCode

_NEXT: dict[ProblemCode, str] = {
    _C.BODY_TOO_LARGE: "make it smaller, or upload large arguments as payloads with the SDK",
    _C.BODY_NOT_JSON: _CORRECT,
    _C.BODY_INVALID: _CORRECT,
    _C.JSON_DUPLICATE_KEY: _CORRECT,
    _C.JSON_NUMBER: _CORRECT,
    _C.JSON_TEXT: _CORRECT,
    _C.JSON_DEPTH: _CORRECT,
    _C.JSON_TYPE: _CORRECT,
    _C.CONTENT_TYPE: "use an `onceward` of the controller's version: onceward --version",
    _C.HEADER_INVALID: "use an `onceward` of the controller's version: onceward --version",
    _C.METHOD_NOT_ALLOWED: "use an `onceward` of the controller's version: onceward --version",
    _C.OPERATIONS_LIMIT: _DEFINITION,
    _C.OPERATION_DUPLICATE: _DEFINITION,
    _C.OPERATION_UNKNOWN: _DEFINITION,
    _C.DEFINITION_CYCLIC: _DEFINITION,
    _C.DEFINITION_TOO_LARGE: _DEFINITION,
    _C.ARGUMENTS_TWICE: _DEFINITION,
    _C.ARGUMENTS_TOO_LARGE: "upload the arguments as a payload with the SDK, then name its digest",
    _C.PAYLOAD_TOO_LARGE: "hand the tool a reference to the data instead of the data",
    _C.PAYLOAD_UNKNOWN: "upload the payload with the SDK first, then run the command again",
    _C.CREDENTIAL_MISSING: _TOKEN,
    _C.CREDENTIAL_INVALID: _TOKEN,
    _C.ROLE_DENIED: "use a credential whose role may do this; {credential}",
    _C.NOT_FOUND: "see what there is: {list}",
    _C.DEFINITION_CONFLICT: "look at the one that is there, or choose another key: {show}",
    _C.REVISION_CONFLICT: _LOOK,
    _C.WORKFLOW_FINISHED: "a new key makes a new workflow; what became of this one: {show}",
    _C.NOT_ENABLED: "review it, then let it run: {enable}",
    _C.PAUSED: "let it run again: {enable}",
    _C.UNKNOWN_TOOL: _RUNNER,
    _C.ATTEMPT_UNKNOWN: _RUNNER,
    _C.ATTEMPT_IN_PROGRESS: "wait until its lease is over, then decide",
    _C.LEASE_TOKEN_INVALID: _RUNNER,
    _C.LEASE_LOST: _RUNNER,
    _C.RENEWAL_LIMIT: _RUNNER,
    _C.RECEIPT_TOO_LARGE: "leave the result out, or keep it to its essentials: --result",
    _C.RECEIPT_MISMATCH: _RUNNER,
    _C.RECEIPT_CONFLICT: _RUNNER,
    _C.OPERATION_SETTLED: "nothing is left to decide; what was recorded: {show}",
    _C.MAY_STILL_LAND: "wait, look at the destination once more, then decide: {show}",
    _C.EVIDENCE_MISSING: 'say how you know: --evidence "what you saw, and where"',
    _C.OPENED_BEFORE_FORK: "open a client in each process, after the fork",
    _C.CLOCK_UNSAFE: "correct this host's clock or the store's, then see: onceward doctor",
    _C.STORE_UNAVAILABLE: "nothing happened: run the same command later; {status}",
    _C.STORE_OUTCOME_UNKNOWN: "it may have happened: look before you repeat it: {show}",
    _C.STORE_REFUSED: "nothing happened, and will not until the store lets us: onceward doctor",
    _C.CONTENTION: "nothing happened: run the same command again",
    _C.REQUEST_TIMEOUT: "it may have happened: look before you repeat it: {show}",
    _C.NOT_REACHED: "is the controller running, and at this address? {status}",
    _C.UNREACHABLE: "is the controller running, and at this address? {status}",
    _C.INTERNAL: "it may have happened: look before you repeat it, and see the log: {show}",
    _C.INTEGRITY: "stop what writes to the store, keep a copy of it, then see: onceward doctor",
}

assert set(_NEXT) == set(ProblemCode), "every problem code says what to do next"

_TIMES = ("allowed_from_ms", "now_ms", "expires_ms", "store_ms", "local_ms")


def fact(error: ProblemError) -> str:
    """Return what happened, with the code and the further facts, times in words."""
    more = {
        name.removesuffix("_ms") if name in _TIMES else name: (
            moments.clock(value) if name in _TIMES and isinstance(value, int) else value
        )
        for name, value in error.more.items()
    }
    named = " ".join(f"{name}=`{value}`" for name, value in {"code": error.code, **more}.items())
    return f"{error.detail}\n  {named}"


def following(error: ProblemError, invocation: Invocation, workflow: str | None) -> tuple[str, ...]:
    """Return what to do now, most useful first.

    Args:
        error: The refusal.
        invocation: Of the refused command.
        workflow: The id of the workflow it was about, where it was about one.
    """
    about = workflow or str(error.more.get("workflow", "")) or "ID"
    listing = invocation.command("workflows", "list", in_workspace=True)
    commands = {
        "show": listing if about == "ID" else invocation.command("workflows", "show", about),
        "list": listing,
        "enable": invocation.command("workflows", "enable", about),
        "status": invocation.command("status", in_workspace=True),
        "credential": "onceward credential create --help",
    }
    advice = _NEXT[error.code].format_map(commands)
    if error.code is _C.UNREACHABLE and isinstance(error, UnknownWriteError):
        return (f"it may have happened: look before you repeat it: {commands['show']}", advice)
    return (advice,)
