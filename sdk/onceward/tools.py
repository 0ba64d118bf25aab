"""How a tool is declared, and what it promises about its destination.

A declaration is copied into every workflow that uses the tool and cannot change there: it is what
a person reviews and what the controller decides by. It is therefore made once, beside the function,
and ``Tool.operation`` copies it; nobody repeats it by hand.

    query        the tool can ask the destination whether the effect is there
    idempotency  the destination enforces an idempotency key, for so long

With neither, a call of unknown outcome stops for a person.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec

from onceward.call import Call
from onceward.callbacks import Callback, Perform, perform
from onceward.wire import definitions, limits
from onceward.wire.capabilities import Capability
from onceward.wire.decisions import Mode
from onceward.wire.definitions import OperationDefinition
from onceward.wire.messages import ToolOffer

MAX_IN_FLIGHT = timedelta(milliseconds=limits.MAX_IN_FLIGHT_DEFAULT_MS)
TIMEOUT = timedelta(milliseconds=limits.TIMEOUT_DEFAULT_MS)
LEASE = timedelta(milliseconds=limits.LEASE_DEFAULT_MS)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a tool that reports "not executed" may be executed, and how soon.

    Attributes:
        attempts: Executions in all that may end in such a report, 1 to 100.
        first: Wait after the first report, up to a day.
        factor: Each further wait is this many times the one before, 1.0 to 100.0.
        cap: No wait is longer; up to a day.
    """

    attempts: int = 3
    first: timedelta = timedelta(seconds=1)
    factor: float = 2.0
    cap: timedelta = timedelta(hours=1)

    def on_the_wire(self) -> definitions.Retry:
        """Return the same in milliseconds."""
        return definitions.Retry(
            self.attempts, milliseconds(self.first), float(self.factor), milliseconds(self.cap)
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """One function, what it does where, and how it answers for it.

    Attributes:
        name: Registered name: lowercase, digits, ``.``, ``_`` and ``-``, up to 64 characters.
        execute: Performs the effect; one of the two forms of ``onceward.callbacks``.
        version: Part of what is reviewed; a workflow keeps the version it was created with.
        destination: Where the effect goes; the tool enforces it.
        query: Looks the effect up and performs nothing; None when the destination cannot tell.
        idempotency: How long the destination enforces an idempotency key, counted from its first
            use, 2 minutes to 366 days; None when it knows no keys.
        max_in_flight: How long an issued call can still land after its lease ended, up to a day.
        timeout: How long one call may take, up to an hour; enforced.
        lease: How long one grant lasts unless renewed, 1 second to 15 minutes.
        retry: What to do after "not executed"; None for no retry.

    Raises:
        TypeError: A function has neither form, or both.
        ValueError: A value is out of its range; the message names it.
    """

    name: str
    execute: Callback
    version: str = "1"
    destination: str = ""
    query: Callback | None = None
    idempotency: timedelta | None = None
    max_in_flight: timedelta = MAX_IN_FLIGHT
    timeout: timedelta = TIMEOUT
    lease: timedelta = LEASE
    retry: Retry | None = None
    _execute: Perform = field(init=False, repr=False, compare=False)
    _query: Perform | None = field(init=False, repr=False, compare=False)
    _definition: OperationDefinition = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_execute", perform(self.execute))
        object.__setattr__(self, "_query", None if self.query is None else perform(self.query))
        object.__setattr__(self, "_definition", self._declared())

    def __call__(self, call: Call) -> Any:  # noqa: ANN401 - what the function returns, awaitable or not
        """Perform the effect directly, ungoverned; for tests of the tool itself."""
        return self._execute.start(call)

    def operation(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        after: Iterable[str] | None = None,
    ) -> OperationDefinition:
        """Return one call of this tool, for ``Client.create``.

        Args:
            name: The operation's name, unique in its workflow.
            arguments: JSON object for the tool; None for an empty one.
            after: Names of operations that must have succeeded first; None for the one before it.

        Raises:
            TypeError: ``arguments`` is no mapping.
        """
        if arguments is not None and not isinstance(arguments, Mapping):
            raise TypeError(f"arguments are a mapping: got `{type(arguments).__name__}`")
        return msgspec.structs.replace(
            self._definition,
            name=name,
            arguments={} if arguments is None else dict(arguments),
            after=None if after is None else tuple(after),
        )

    def performs(self, mode: Mode) -> Perform | None:
        """Return what to call in ``mode``; None for a query where the tool has none."""
        return self._query if mode is Mode.QUERY else self._execute

    @property
    def offer(self) -> ToolOffer:
        """What the controller is told that this process can run."""
        return ToolOffer(self.name, self.version)

    def _declared(self) -> OperationDefinition:
        idempotency_ms = None if self.idempotency is None else milliseconds(self.idempotency)
        declared = OperationDefinition(
            name="any",
            tool=self.name,
            version=self.version,
            destination=self.destination,
            capability=Capability(self.query is not None, idempotency_ms),
            timeout_ms=milliseconds(self.timeout),
            lease_ms=milliseconds(self.lease),
            max_in_flight_ms=milliseconds(self.max_in_flight),
            retry=None if self.retry is None else self.retry.on_the_wire(),
        )
        try:
            # A Struct takes what it is given; only a conversion holds its fields to their bounds.
            return msgspec.convert(msgspec.to_builtins(declared), OperationDefinition)
        except msgspec.ValidationError as error:
            raise ValueError(f"tool cannot be declared so: {error}: tool=`{self.name}`") from None


def tool(  # noqa: PLR0913 - each is one word of the declaration
    name: str,
    *,
    version: str = "1",
    destination: str = "",
    query: Callback | None = None,
    idempotency: timedelta | None = None,
    max_in_flight: timedelta = MAX_IN_FLIGHT,
    timeout: timedelta = TIMEOUT,
    lease: timedelta = LEASE,
    retry: Retry | None = None,
) -> Callable[[Callback], Tool]:
    """Declare the function below as a tool; see ``Tool`` for the words.

    Raises:
        TypeError: See ``Tool``.
        ValueError: See ``Tool``.
    """

    def declare(execute: Callback) -> Tool:
        return Tool(
            name,
            execute,
            version=version,
            destination=destination,
            query=query,
            idempotency=idempotency,
            max_in_flight=max_in_flight,
            timeout=timeout,
            lease=lease,
            retry=retry,
        )

    return declare


def milliseconds(duration: timedelta) -> int:
    """Return whole milliseconds, rounded down.

    Raises:
        TypeError: It is no ``timedelta``.
    """
    if not isinstance(duration, timedelta):
        raise TypeError(f"a duration is a timedelta: got `{type(duration).__name__}`")
    return duration // timedelta(milliseconds=1)
