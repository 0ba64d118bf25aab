"""What one client owns, put together: the parts that ask, call, keep leases, report and keep.

This is the SDK's composition root. Closing it is an order: no further grant is taken, running tools
are told, their receipts are waited for, and only then is closed what delivers them.

In a process forked from its own it refuses to work, and closing it does nothing.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from onceward.attempt import Attempts
from onceward.controller import Controller
from onceward.delivery import Delivery, Flushed
from onceward.dispatch import Dispatcher
from onceward.errand import Errand
from onceward.errands import Errands
from onceward.grants import Held
from onceward.lease_keeper import LeaseKeeper
from onceward.loops import Loops
from onceward.own_process import OwnProcess
from onceward.ports import Clock, Entropy, Spawner
from onceward.runner import Runner
from onceward.seats import Seats
from onceward.spool import Spool
from onceward.system import SystemClock, SystemEntropy, ThreadSpawner
from onceward.wire.receipts import Receipt

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
        self._process = OwnProcess()
        self._controller = controller
        self._spool = spool
        self._seats = Seats(ports.spawner)
        self._loops = Loops(ports.spawner)
        self._keeper = LeaseKeeper(controller, clock, ports.spawner)
        self._dispatcher = Dispatcher(controller, clock, entropy)
        self._delivery = Delivery(controller, clock, entropy, spool=spool, origin=origin)
        attempts = Attempts(
            controller,
            clock,
            loops=self._loops,
            keeper=self._keeper,
            late=self._set_aside,
            spool=spool,
            origin=origin,
        )
        runner = Runner(
            controller,
            clock,
            dispatcher=self._dispatcher,
            attempts=attempts,
            delivery=self._delivery,
        )
        self._errands = Errands(clock, seats=self._seats, attempts=attempts, runner=runner)
        self._guard = Lock()
        self._is_closed = False

    def carry_out(self, errand: Errand) -> dict[str, Any]:
        """Deliver what waits, then run the errand; see ``Errands.carry_out``.

        Raises:
            InvalidError: The threads belong to the process that this one was forked from.
        """
        self._process.check()
        return self._errands.carry_out(errand)

    def flush(self) -> Flushed:
        """Deliver what waits in the spool, each receipt tried once.

        Raises:
            InvalidError: As for ``carry_out``; nothing was moved.
        """
        self._process.check()
        return self._delivery.flush()

    def close(self) -> None:
        """See ``Client.close``; idempotent."""
        if not self._process.is_here():
            return
        with self._guard:
            if self._is_closed:
                return
            self._is_closed = True
        self._errands.close(CLOSE_SECONDS)
        with ExitStack() as closing:
            # Called last first, and each whatever became of the one before.
            if self._spool is not None:
                closing.callback(self._spool.close)
            closing.callback(self._controller.close)
            closing.callback(self._loops.close)
            closing.callback(self._seats.close)
            closing.callback(self._keeper.close)
            closing.callback(self._dispatcher.return_left)

    def _set_aside(self, held: Held, receipt: Receipt) -> None:
        self._delivery.set_aside(held.workflow, held.grant, receipt, "came after its timeout")
