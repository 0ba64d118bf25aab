"""Giving the right to run an attempt back."""

from collections.abc import Callable

import msgspec
import pytest

from onceward.wire import limits, messages
from onceward.wire.definitions import Retry
from onceward.wire.problems import ProblemCode
from onceward.wire.receipts import Outcome
from onceward_controller.protocol import commands
from onceward_controller.protocol.answers import Grant, Noted, Stop
from tests.support.protocol import (
    DAY_MS,
    History,
    history,
    tool,
)

KEY_MS = 10 * limits.MINUTE_MS


def plain() -> History:
    return history(tool())


def asking() -> History:
    return history(tool(query=True))


def keyed() -> History:
    return history(tool(idempotency_ms=KEY_MS))


def test_a_released_attempt_leaves_a_pending_operation_as_it_was() -> None:
    past = plain().grant("execute").released()
    assert past.answer == Noted()
    assert past.status == "pending"
    assert past.operation().refusals == 0


def test_a_grant_may_be_given_back_by_its_request_id_alone() -> None:
    past = plain().grant("execute", to="bob")
    body = messages.Release(request_id="request-of-bob")
    past.do(commands.Release("send", body))
    assert past.status == "pending"


def test_the_newest_attempt_of_a_request_id_is_given_back() -> None:
    past = asking().grant("execute").lease_over().grant("query")
    past.do(commands.Release("send", messages.Release(request_id="request-of-ann")))
    first, second = past.operation().attempts
    assert not first.released
    assert second.released


def test_a_request_id_that_holds_nothing_gives_nothing_back() -> None:
    past = plain().grant("execute")
    command = commands.Release("send", messages.Release(request_id="request-of-bob"))
    assert past.refusal(command) is ProblemCode.ATTEMPT_UNKNOWN


@pytest.mark.parametrize(
    "body",
    [messages.Release(), messages.Release(attempt=1), messages.Release(lease_token="lease")],
    ids=["nothing", "attempt-alone", "token-alone"],
)
def test_a_release_says_whose_it_is(body: messages.Release) -> None:
    past = plain().grant("execute")
    assert past.refusal(commands.Release("send", body)) is ProblemCode.BODY_INVALID


def test_a_release_with_another_token_is_denied() -> None:
    past = asking().grant("execute").lease_over().grant("query", to="bob")
    command = past.giving_back(2)
    body = msgspec.structs.replace(command.body, attempt=1)
    refused = past.refusal(msgspec.structs.replace(command, body=body))
    assert refused is ProblemCode.LEASE_TOKEN_INVALID


def test_a_renewal_with_another_token_is_denied() -> None:
    past = plain().grant("execute")
    body = messages.Renew(attempt=1, lease_token="lease")
    assert past.refusal(commands.Renew("send", body)) is ProblemCode.LEASE_TOKEN_INVALID


@pytest.mark.parametrize(
    "command",
    [
        commands.Release("third", messages.Release(request_id="request-of-ann")),
        commands.Renew("third", messages.Renew(attempt=1, lease_token="lease")),
    ],
    ids=["release", "renew"],
)
def test_there_must_be_such_an_operation(command: commands.Command) -> None:
    assert plain().grant("execute").refusal(command) is ProblemCode.NOT_FOUND


def test_a_release_sent_twice_is_heard_once() -> None:
    past = plain().grant("execute")
    command = past.giving_back()
    past.do(command)
    assert past.do(command).answer == Noted()
    assert past.changes == ()


@pytest.mark.parametrize(
    "past",
    [
        lambda: plain().grant("execute").paused(),
        lambda: plain().grant("execute").clocks_apart(DAY_MS),
        lambda: plain().grant("execute").lease_over(),
    ],
    ids=["paused", "clocks-apart", "lease-over"],
)
def test_a_grant_is_given_back_whatever_else_is_so(past: Callable[[], History]) -> None:
    made = past().released()
    assert made.status == "pending"


@pytest.mark.parametrize(
    ("past", "code"),
    [
        pytest.param(
            lambda: plain().grant("execute").unknown(),
            ProblemCode.OPERATION_SETTLED,
            id="that-has-reported",
        ),
        pytest.param(
            lambda: plain().grant("execute").succeeded(),
            ProblemCode.OPERATION_SETTLED,
            id="that-has-succeeded",
        ),
        pytest.param(
            lambda: plain().grant("execute").landed().attested(Outcome.NOT_EXECUTED),
            ProblemCode.OPERATION_SETTLED,
            id="that-a-person-has-closed",
        ),
        pytest.param(
            lambda: plain().grant("execute").lease_over().abandoned("send"),
            ProblemCode.OPERATION_SETTLED,
            id="that-was-abandoned",
        ),
        pytest.param(
            lambda: keyed().grant("execute").lease_over().grant("repeat", to="bob"),
            ProblemCode.LEASE_LOST,
            id="whose-place-another-has-taken",
        ),
    ],
)
def test_an_attempt_is_not_given_back(past: Callable[[], History], code: ProblemCode) -> None:
    made = past()
    assert made.refusal(made.giving_back(1)) is code


def test_an_execute_is_given_back_while_a_query_runs() -> None:
    past = asking().grant("execute").lease_over().grant("query", to="bob").released(1)
    assert past.operation().attempts[0].released
    past.released(2)
    assert past.status == "pending"


def test_a_release_while_an_older_outcome_is_unknown_leaves_it_uncertain() -> None:
    past = keyed().grant("execute").lease_over().grant("repeat").released()
    assert past.status == "uncertain"
    assert not past.operation().one_more
    past.grant("repeat")


def test_giving_back_a_query_never_changes_where_the_operation_stands() -> None:
    past = asking().grant("execute").lease_over()
    assert past.grant("query").released().status == "uncertain"
    assert not past.operation().one_more


def test_giving_back_a_query_after_the_tool_said_no_permits_no_more() -> None:
    past = asking().grant("execute").lease_over().grant("query", to="bob")
    past.not_executed(1).released(2)
    assert past.status == "not_executed"
    assert isinstance(past.begin("eve"), Stop)


def test_a_release_leaves_what_was_not_executed_so_and_permits_one_more_without_backoff() -> None:
    past = history(tool(retry=Retry(attempts=2, first_ms=60_000)))
    past.grant("execute").not_executed().later(60_000).grant("execute").released()
    assert past.status == "not_executed"
    assert past.operation().refusals == 1
    past.grant("execute").not_executed()
    assert isinstance(past.begin(), Stop)


def test_a_release_after_a_success_kept_as_evidence_permits_nothing() -> None:
    past = keyed().grant("execute").lease_over().grant("repeat", to="bob").succeeded(1).released(2)
    assert not past.operation().one_more
    assert past.status == "blocked"


def test_what_was_given_back_spends_an_attempt_number() -> None:
    past = plain().grant("execute").released()
    verdict = past.begin()
    assert isinstance(verdict, Grant)
    assert verdict.number == 2


@pytest.mark.parametrize("word", [Outcome.UNKNOWN, Outcome.NOT_EXECUTED])
def test_an_execute_given_back_leaves_it_pending_whatever_a_query_said(word: Outcome) -> None:
    past = asking().grant("execute").lease_over().grant("query", to="bob").released(1)
    past.report(word, 2)
    assert past.status == "pending"


def test_a_release_under_a_success_that_a_person_has_to_look_at_permits_nothing() -> None:
    past = plain().grant("execute").landed().attested(Outcome.NOT_EXECUTED).grant("execute")
    past.succeeded(1).released(2)
    assert past.status == "blocked"
    assert not past.operation().one_more
