"""A controller that keeps its promises, and what loses its replies on the way."""

from collections import Counter, deque
from collections.abc import Callable
from typing import cast

from onceward.controller import Controller
from tests.support.scripted_controller import lost


class FaultyController:
    """Fails the scripted calls of a working controller, before or after they took effect.

    Attributes:
        counts: How often each verb took effect.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._faults: dict[str, deque[bool | None]] = {}
        self.counts: Counter[str] = Counter()

    @property
    def controller(self) -> Controller:
        """This, as what it stands before; the type checker cannot see through ``__getattr__``."""
        return cast("Controller", self)

    def lose(self, verb: str, *, after_effect: bool, calls_before: int = 0) -> None:
        """Let ``calls_before`` calls of ``verb`` through, then lose one."""
        self._faults.setdefault(verb, deque()).extend([*[None] * calls_before, after_effect])

    def __getattr__(self, verb: str) -> Callable[..., object]:
        method = getattr(self._controller, verb)

        def call(*positional: object, **named: object) -> object:
            faults = self._faults.get(verb)
            after_effect = faults.popleft() if faults else None
            if after_effect is False:
                raise lost()
            reply = method(*positional, **named)
            self.counts[verb] += 1
            if after_effect:
                raise lost()
            return reply

        return call
