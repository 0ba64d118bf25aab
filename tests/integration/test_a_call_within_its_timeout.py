"""A call may take as long as its timeout says, and is not made a second time while it may.

A lease is renewed a few times only, and a worker that has lost its controller not at all. The call
itself goes on until its timeout, which the declaration names too. "It is not there" is therefore
no proof before a call that was issued at the lease's end has used up its timeout.
"""

import msgspec

from onceward.wire.decisions import Execute, Mode, Query
from onceward.wire.limits import SECOND_MS
from onceward.wire.receipts import Outcome
from tests.support.services import Agent, Site, chain

LEASE_MS = 10 * SECOND_MS
IN_FLIGHT_MS = SECOND_MS
TIMEOUT_MS = 600 * SECOND_MS


def test_an_absence_proves_nothing_while_a_call_may_still_be_within_its_timeout() -> None:
    site = Site()
    ann, bob = Agent(site.open(), "ann"), Agent(site.open(), "bob")
    (declared,) = chain(1, query=True)
    slow = msgspec.structs.replace(
        declared, lease_ms=LEASE_MS, max_in_flight_ms=IN_FLIGHT_MS, timeout_ms=TIMEOUT_MS
    )
    workflow = ann.create("slow", (slow,))
    called = ann.granted(workflow)
    assert called.mode is Mode.EXECUTE
    issued_ms = site.clock.boottime_ms()

    # Its worker cannot renew the lease, and its call, which nothing interrupts, goes on.
    again = None
    while site.clock.boottime_ms() < issued_ms + TIMEOUT_MS and again is None:
        site.clock.sleep(5 * SECOND_MS)
        decision = bob.ask(workflow)
        if isinstance(decision, Query):
            bob.report(workflow, decision, Outcome.NOT_EXECUTED)
        elif isinstance(decision, Execute):
            again = site.clock.boottime_ms() - issued_ms

    assert again is None, f"made again after {again} ms of {TIMEOUT_MS}: two calls are under way"
