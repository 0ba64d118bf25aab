"""What one client owns, put together: the parts that ask, call, keep leases, report and keep.

This is the SDK's composition root. Closing it is an order: no further grant is taken, running tools
are told, their receipts are waited for, and only then is closed what delivers them.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

from onceward.attempt import Attempts
from onceward.controller import Controller
from onceward.delivery import Delivery, Flushed
from onceward.dispatch import Dispatcher
from onceward.lease_keeper import LeaseKeeper
from onceward.ports import Clock, Entropy, Spawner
from onceward.runner import Errand, Runner
from onceward.spool import Spool
from onceward.system import SystemClock, SystemEntropy, ThreadSpawner
from onceward.toolhost import ToolHost

CLOSE_SECONDS = 30.0
"""How long closing waits for calls under way."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Clock, random source and threads; by default the real ones."""

    clock: Clock = field(default_factory=SystemClock)
    entropy: Entropy = field(default_factory=SystemEntropy)
    spawner: Spawner = field(default_factory=ThreadSpawner)


class Engine:
    """Runs errands against one controller.

    Args:
        controller: Whom to ask; closed with the engine.
        ports: For all parts.
        spool: Where undelivered receipts are kept, None for nowhere; closed with the engine.
        origin: Which controller this is, in the spool's words.
    """

    def __init__(
        self, controller: Controller, ports: Ports, *, spool: Spool | None, origin: str
    ) -> None:
        clock, entropy = ports.clock, ports.entropy
        self._controller = controller
        self._spool = spool
        self._host = ToolHost(ports.spawner)
        self._keeper = LeaseKeeper(controller, clock, ports.spawner)
        self._dispatcher = Dispatcher(controller, clock, entropy)
        self._delivery = Delivery(controller, clock, entropy, spool=spool, origin=origin)
        self._runner = Runner(
            controller,
            clock,
            dispatcher=self._dispatcher,
            attempts=Attempts(
                controller, clock, host=self._host, keeper=self._keeper, spool=spool, origin=origin
            ),
            delivery=self._delivery,
        )
        self._changed = Condition()
        self._errands = 0
        self._is_closed = False

    def carry_out(self, errand: Errand) -> dict[str, Any]:
        """Deliver what waits, then run the errand; see ``Runner.run``."""
        with self._changed:
            self._errands += 1
        try:
            self._delivery.flush()
            return self._runner.run(errand)
        finally:
            with self._changed:
                self._errands -= 1
                if self._is_closed:
                    self._changed.notify_all()

    def flush(self) -> Flushed:
        """Deliver what waits in the spool, each receipt tried once."""
        return self._delivery.flush()

    def close(self) -> None:
        """See ``Client.close``; idempotent."""
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
        self._runner.close()
        with self._changed:
            self._changed.wait_for(lambda: self._errands == 0, CLOSE_SECONDS)
        with ExitStack() as closing:
            # Called last first, and each whatever became of the one before.
            if self._spool is not None:
                closing.callback(self._spool.close)
            closing.callback(self._controller.close)
            closing.callback(self._host.close)
            closing.callback(self._keeper.close)
            closing.callback(self._dispatcher.return_left)
