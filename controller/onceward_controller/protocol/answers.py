"""What the core answers: facts by index and number, which the service words for the wire."""

from msgspec import Struct

from onceward.wire.decisions import Mode, StopReason, WaitReason
from onceward.wire.messages import Standing
from onceward_controller.protocol.events import Event


class Grant(Struct, frozen=True):
    """Run attempt ``number`` of the operation at index ``at``."""

    at: int
    number: int
    mode: Mode


class Reuse(Struct, frozen=True):
    """It has succeeded."""

    at: int


class Wait(Struct, frozen=True):
    """Ask again at trusted time ``until_ms``."""

    at: int
    reason: WaitReason
    until_ms: int
    predecessor: int | None = None


class Stop(Struct, frozen=True):
    """Not without a person, or not ever."""

    at: int
    reason: StopReason
    detail: str
    predecessor: int | None = None


class Done(Struct, frozen=True):
    """Every operation has succeeded."""


class Extended(Struct, frozen=True):
    """The lease now ends at ``lease_until_ms``."""

    lease_until_ms: int


class Noted(Struct, frozen=True):
    """It is as asked; there is nothing more to say."""


Verdict = Grant | Reuse | Wait | Stop | Done


class Filed(Struct, frozen=True):
    """What became of the receipt, and the answer to the next begin."""

    standing: Standing
    then: Verdict | None = None


Answer = Verdict | Extended | Noted | Filed


class Transition(Struct, frozen=True):
    """What changes, and what to say once that is durable.

    Without events nothing is written, and the answer holds only for the newest revision.
    """

    events: tuple[Event, ...]
    answer: Answer
