"""The immutable description of a workflow's operations.

A definition is checked once, at creation, and never changes. ``resolve`` writes every default out
(an operation without ``after`` follows the one before it), so that two definitions are equal
exactly when they mean the same, and orders the operations so that each comes after all that it
waits for. The digest of the resolved definition is part of every operation's id.
"""

import hashlib
import heapq
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from onceward.wire import canonical, limits
from onceward.wire.capabilities import Capability
from onceward.wire.identifiers import NAME_PATTERN, VERSION_PATTERN

Name = Annotated[str, Meta(pattern=NAME_PATTERN)]
Version = Annotated[str, Meta(pattern=VERSION_PATTERN)]
Milliseconds = Annotated[int, Meta(ge=0, le=limits.RETENTION_MAX_MS)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class DefinitionError(ValueError):
    """The definition cannot mean anything. Correct it and send it again.

    Attributes:
        code: The problem code that says so on the wire.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Retry(Struct, frozen=True, forbid_unknown_fields=True):
    """How often an operation that reports "not executed" may be executed, and how soon.

    Attributes:
        attempts: Executions in all that may end in such a report; 1 means no retry.
        first_ms: Wait after the first report.
        factor: Each further wait is this many times the one before.
        cap_ms: No wait is longer.
    """

    attempts: Annotated[int, Meta(ge=1, le=limits.ATTEMPTS_MAX)] = 3
    first_ms: Annotated[int, Meta(ge=0, le=limits.BACKOFF_CAP_MAX_MS)] = limits.SECOND_MS
    factor: Annotated[float, Meta(ge=1.0, le=100.0)] = 2.0
    cap_ms: Annotated[int, Meta(ge=0, le=limits.BACKOFF_CAP_MAX_MS)] = limits.HOUR_MS

    def backoff_ms(self, reports: int) -> int:
        """Return the wait after ``reports`` (>= 1) reports in a row, in milliseconds."""
        # 64 doublings pass every cap; the bound keeps the power a finite float.
        return int(min(self.first_ms * self.factor ** min(reports - 1, 64), self.cap_ms))


NO_RETRY = Retry(attempts=1)
"""What a tool without ``retry=`` has; its waits also pace queries and repeats after "unknown"."""


class PayloadRef(Struct, frozen=True, forbid_unknown_fields=True):
    """A payload object, named by the digest of its sealed bytes.

    Attributes:
        digest: What the upload answered; where the sealed object lies.
        sha256: Of the content before sealing.
        size: Of the content, in bytes.
    """

    digest: Sha256
    sha256: Sha256
    size: Annotated[int, Meta(ge=0, le=limits.PAYLOAD_BYTES_MAX)]


class OperationDefinition(Struct, frozen=True, forbid_unknown_fields=True):
    """One tool call with one intended effect.

    Attributes:
        name: Unique in the workflow.
        tool: The registered name of the tool that performs it.
        version: The tool's declared version.
        destination: Where the effect goes, as the tool declares it; part of what is reviewed.
        arguments: JSON object handed to the tool; empty when ``arguments_payload`` is given.
        arguments_payload: Arguments too large to ride in the definition.
        capability: What the tool declares about the destination.
        timeout_ms: How long one call may take.
        lease_ms: How long one grant lasts before it must be renewed.
        max_in_flight_ms: How long an issued call can still land after its lease ended.
        retry: What to do after a report of "not executed"; None for no retry.
        after: Names of the operations that must have succeeded first; None for the previous one.
    """

    name: Name
    tool: Name
    version: Version = "1"
    destination: Annotated[str, Meta(max_length=limits.DESTINATION_CHARACTERS_MAX)] = ""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    arguments_payload: PayloadRef | None = None
    capability: Capability = Capability()
    timeout_ms: Annotated[int, Meta(ge=1, le=limits.TIMEOUT_MAX_MS)] = limits.TIMEOUT_DEFAULT_MS
    lease_ms: Annotated[int, Meta(ge=limits.LEASE_MIN_MS, le=limits.LEASE_MAX_MS)] = (
        limits.LEASE_DEFAULT_MS
    )
    max_in_flight_ms: Annotated[int, Meta(ge=0, le=limits.MAX_IN_FLIGHT_MAX_MS)] = (
        limits.MAX_IN_FLIGHT_DEFAULT_MS
    )
    retry: Retry | None = None
    after: tuple[Name, ...] | None = None


Operations = tuple[OperationDefinition, ...]


class Resolved(Struct, frozen=True):
    """A definition with every default written out.

    Attributes:
        operations: As sent, in the same order, each with its ``after`` spelled out.
        digest: SHA-256 (hex) of the operations as canonical JSON.
    """

    operations: Operations
    digest: str


def resolve(operations: Operations) -> Resolved:
    """Write every default out and check what the shape alone cannot.

    Args:
        operations: As sent, 1 to ``limits.OPERATIONS_MAX`` of them.

    Raises:
        DefinitionError: A name is used twice or unknown, the order is cyclic, a payload stands
            beside inline arguments, or a bound is passed.
        CanonicalError: Arguments hold what JSON readers disagree about.
    """
    if not 1 <= len(operations) <= limits.OPERATIONS_MAX:
        raise DefinitionError(
            "operations_limit",
            f"a workflow has 1 to {limits.OPERATIONS_MAX} operations: count=`{len(operations)}`",
        )
    names = [operation.name for operation in operations]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise DefinitionError("operation_duplicate", f"two operations share a name: `{name}`")
    resolved = tuple(
        _resolve_one(operation, names[position - 1 : position] if position else [])
        for position, operation in enumerate(operations)
    )
    order(resolved)
    written = canonical.encode(as_json(resolved))
    _check_size(len(written) - sum(map(_arguments_bytes, resolved)))
    return Resolved(operations=resolved, digest=hashlib.sha256(written).hexdigest())


def as_json(operations: Operations) -> list[dict[str, Any]]:
    """Return resolved operations as plain JSON values, for digests and comparison.

    A field that has its default value is left out, whether it was sent or not: what means the same
    is the same, and a field that a later version adds changes no digest. Of a payload only the
    content counts, not the object that holds it: an upload names a new one each time.
    """
    return [_spare(msgspec.to_builtins(operation)) for operation in operations]


def order(operations: Operations) -> tuple[int, ...]:
    """Return the indexes so that each operation comes after all that it waits for.

    Args:
        operations: Resolved ones.

    Returns:
        Indexes into ``operations``, stable: as declared where the graph leaves a choice.

    Raises:
        DefinitionError: ``definition_cyclic`` or ``operation_unknown``, naming the operation.
    """
    index = {operation.name: position for position, operation in enumerate(operations)}
    for operation in operations:
        for name in operation.after or ():
            if name not in index:
                raise DefinitionError(
                    "operation_unknown",
                    f"operation `{operation.name}` waits for an unknown one: after=`{name}`",
                )
    waits = [len(operation.after or ()) for operation in operations]
    followers: list[list[int]] = [[] for _ in operations]
    for at, operation in enumerate(operations):
        for name in operation.after or ():
            followers[index[name]].append(at)
    ready = [at for at, count in enumerate(waits) if count == 0]  # Sorted, and so a heap.
    ordered: list[int] = []
    while ready:
        placed = heapq.heappop(ready)
        ordered.append(placed)
        for at in followers[placed]:
            waits[at] -= 1
            if waits[at] == 0:
                heapq.heappush(ready, at)
    if len(ordered) < len(operations):
        stuck = next(operations[at].name for at, count in enumerate(waits) if count)
        raise DefinitionError(
            "definition_cyclic", f"operations wait for each other: one is `{stuck}`"
        )
    return tuple(ordered)


_DEFAULTS: dict[str, Any] = msgspec.to_builtins(OperationDefinition(name="any", tool="any"))


def _spare(written: dict[str, Any]) -> dict[str, Any]:
    """Return an operation's fields without those that have their default value."""
    spared = {
        name: value
        for name, value in written.items()
        if name in ("name", "tool", "after") or value != _DEFAULTS[name]
    }
    if "arguments_payload" in spared:
        payload = spared["arguments_payload"]
        spared["arguments_payload"] = {"sha256": payload["sha256"], "size": payload["size"]}
    if "capability" in spared:
        spared["capability"] = {
            name: value
            for name, value in spared["capability"].items()
            if value != _DEFAULTS["capability"][name]
        }
    return spared


def _resolve_one(operation: OperationDefinition, previous: list[str]) -> OperationDefinition:
    if operation.arguments_payload is not None and operation.arguments:
        raise DefinitionError(
            "arguments_twice", f"operation `{operation.name}` has inline arguments and a payload"
        )
    size = _arguments_bytes(operation)
    if size > limits.ARGUMENTS_BYTES_MAX:
        raise DefinitionError(
            "arguments_too_large",
            f"arguments of `{operation.name}` pass {limits.ARGUMENTS_BYTES_MAX} bytes "
            f"(bytes=`{size}`): upload them as a payload",
        )
    after = tuple(previous) if operation.after is None else tuple(sorted(set(operation.after)))
    return msgspec.structs.replace(operation, after=after)


def _arguments_bytes(operation: OperationDefinition) -> int:
    return len(canonical.encode(operation.arguments))


def _check_size(size: int) -> None:
    if size > limits.DEFINITION_BYTES_MAX:
        raise DefinitionError(
            "definition_too_large",
            f"a definition has at most {limits.DEFINITION_BYTES_MAX} bytes without its "
            f"arguments: bytes=`{size}`",
        )
