"""Renewing the right to run an attempt."""

from collections.abc import Callable

import pytest

from onceward.wire import limits
from onceward.wire.problems import ProblemCode
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.answers import Extended
from tests.support.protocol import (
    IN_FLIGHT_MS,
    LEASE_MS,
    START_MS,
    History,
    history,
    tool,
)

KEY_MS = 10 * limits.MINUTE_MS

KEY_DIES_MS = KEY_MS - IN_FLIGHT_MS - limits.REPEAT_MARGIN_MS
"""The last moment at which a call under the key may be issued, first grant at the start."""


def plain() -> History:
    return history(tool())


def asking() -> History:
    return history(tool(query=True))


def keyed() -> History:
    return history(tool(idempotency_ms=KEY_MS))


# Renewing.


def test_a_renewed_lease_lasts_a_whole_lease_from_now() -> None:
    past = plain().grant("execute").later(40_000).renewed()
    assert past.answer == Extended(lease_until_ms=START_MS + 40_000 + LEASE_MS)
    last = past.operation().last
    assert last is not None
    assert last.lease_until_ms == START_MS + 40_000 + LEASE_MS
    assert last.renewals == 1


def test_a_renewal_moves_the_lease_and_not_the_moment_before_which_to_call() -> None:
    last = plain().grant("execute").later(40_000).renewed().operation().last
    assert last is not None
    assert last.call_before_ms == START_MS + LEASE_MS


def test_a_lease_is_renewed_in_its_last_ms_and_not_after() -> None:
    past = plain().grant("execute").later(LEASE_MS - 1).renewed()
    assert past.answer == Extended(lease_until_ms=START_MS + 2 * LEASE_MS - 1)
    past = plain().grant("execute").later(LEASE_MS)
    assert past.refusal(past.renewal()) is ProblemCode.LEASE_LOST


def test_ten_renewals_are_given_and_the_eleventh_is_refused() -> None:
    past = plain().grant("execute")
    for _ in range(limits.RENEWALS_MAX):
        past.later(60_000).renewed()
    past.later(60_000)
    assert past.refusal(past.renewal()) is ProblemCode.RENEWAL_LIMIT


def test_each_attempt_has_its_own_ten_renewals() -> None:
    past = asking().grant("execute")
    for _ in range(limits.RENEWALS_MAX):
        past.later(60_000).renewed()
    past.lease_over().grant("query").later(60_000).renewed()
    assert isinstance(past.answer, Extended)


def test_a_renewal_sent_twice_is_granted_twice() -> None:
    past = plain().grant("execute").later(60_000)
    command = past.renewal()
    first = past.do(command).answer
    assert past.do(command).answer == first


def test_a_renewal_read_on_a_clock_a_little_behind_is_not_refused() -> None:
    past = plain().grant("execute").later(60_000).renewed().later(-2_000).renewed()
    assert past.answer == Extended(lease_until_ms=START_MS + 60_000 + LEASE_MS)


@pytest.mark.parametrize(
    ("past", "code"),
    [
        pytest.param(
            lambda: plain().grant("execute").paused(), ProblemCode.PAUSED, id="while-paused"
        ),
        pytest.param(
            lambda: plain().grant("execute").clocks_apart(9_000),
            ProblemCode.CLOCK_UNSAFE,
            id="with-clocks-apart",
        ),
        pytest.param(
            lambda: plain().grant("execute").released(), ProblemCode.LEASE_LOST, id="released"
        ),
        pytest.param(
            lambda: plain().grant("execute").succeeded(), ProblemCode.LEASE_LOST, id="succeeded"
        ),
        pytest.param(
            lambda: plain().grant("execute").unknown(), ProblemCode.LEASE_LOST, id="reported"
        ),
        pytest.param(
            lambda: plain().grant("execute").lease_over().attested(Outcome.SUCCEEDED),
            ProblemCode.LEASE_LOST,
            id="attested",
        ),
    ],
)
def test_a_renewal_is_refused(past: Callable[[], History], code: ProblemCode) -> None:
    made = past().later(1_000)
    assert made.refusal(made.renewal(1)) is code


def test_a_lease_whose_place_another_has_taken_is_not_renewed() -> None:
    past = asking().grant("execute").lease_over().grant("query", to="bob").later(1_000)
    assert past.refusal(past.renewal(1)) is ProblemCode.LEASE_LOST
    past.renewed(2)


def test_a_renewal_counts_no_revision_and_raises_no_high_water_mark() -> None:
    past = plain().grant("execute").later(60_000)
    before = past.workflow.progress
    past.renewed()
    after = past.workflow.progress
    assert (after.counted, after.high_water_ms) == (before.counted, before.high_water_ms)


def test_a_lease_is_renewed_beyond_the_revision_limit() -> None:
    past = plain().grant("execute").later(60_000).revisions_used(limits.REVISIONS_MAX).renewed()
    assert isinstance(past.answer, Extended)


def test_a_repeat_is_renewed_to_the_death_of_its_key_and_no_further() -> None:
    past = keyed().grant("execute").at(KEY_DIES_MS - LEASE_MS - 1).grant("repeat")
    past.later(60_000).renewed()
    assert past.answer == Extended(lease_until_ms=START_MS + KEY_DIES_MS)
    past.later(1_000)
    assert past.refusal(past.renewal()) is ProblemCode.RENEWAL_LIMIT


def test_an_execute_is_renewed_whatever_its_key() -> None:
    past = keyed().grant("execute")
    for _ in range(limits.RENEWALS_MAX):
        past.later(LEASE_MS - 1).renewed()
    assert past.answer == Extended(lease_until_ms=past.now_ms + LEASE_MS)
