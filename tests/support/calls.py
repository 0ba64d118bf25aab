"""A grant in hand and the call that it permits, for tests of what becomes of calls."""

from datetime import timedelta

from onceward.call import Call, Cancellation
from onceward.grants import Held
from tests.support.ports import ManualClock
from tests.support.scripted_controller import WORKFLOW, grant


def held() -> Held:
    return Held(WORKFLOW, grant(), ManualClock().boottime_ms(), None)


def a_call() -> Call:
    granted = grant()
    return Call(
        arguments={},
        operation_id=granted.operation_id,
        idempotency_key=granted.idempotency_key,
        destination=granted.destination,
        timeout=timedelta(milliseconds=granted.timeout_ms),
        attempt=granted.attempt,
        mode=granted.mode,
        fence=granted.fence,
        cancelled=Cancellation(),
    )
