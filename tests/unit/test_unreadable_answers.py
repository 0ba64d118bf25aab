"""What is told of a change that is durable when the state after it cannot be read."""

import pytest

from onceward.wire import messages
from onceward.wire.identifiers import OperationName
from onceward.wire.messages import OperationStatus
from onceward.wire.problems import ProblemCode, UnknownWriteError
from onceward.wire.receipts import Outcome, Receipt
from onceward_controller.vault import store as stores
from tests.support.services import Agent, Site, chain, parallel
from tests.support.stores import FaultyStore

DOWN = stores.UnavailableError("the store is down")
DENIED = stores.RefusedError("the bucket's policy has changed")


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.mark.parametrize("error", [DOWN, DENIED], ids=["down", "denied"])
def test_a_persons_word_that_is_recorded_is_never_told_as_nothing_happened(
    site: Site, error: stores.StoreError
) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(2))
    revision = ann.workflow(workflow).revision
    # The view reads the record of what is final, which is the operation just settled.
    faulty.fail("get", error, after_effect=False)

    with pytest.raises(UnknownWriteError) as refusal:
        ann.attest(workflow, "op-0", Outcome.SUCCEEDED, revision=revision)

    assert refusal.value.code is ProblemCode.STORE_OUTCOME_UNKNOWN
    assert "recorded" in refusal.value.detail
    assert ann.workflow(workflow).operations[0].status is OperationStatus.SUCCEEDED


def test_a_pause_that_is_recorded_is_never_told_as_nothing_happened(site: Site) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(2))
    ann.succeed(workflow, ann.granted(workflow))
    faulty.fail("get", DOWN, after_effect=False)

    with pytest.raises(UnknownWriteError):
        ann.pause(workflow)

    assert ann.workflow(workflow).status == "paused"


def test_a_receipt_that_is_filed_is_never_told_as_nothing_happened(site: Site) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", parallel(2))
    ann.succeed(workflow, ann.granted(workflow))
    grant = ann.granted(workflow)
    body = messages.Complete(
        attempt=grant.attempt,
        lease_token=grant.lease_token,
        receipt=Receipt(outcome=Outcome.SUCCEEDED, operation_id=grant.operation_id),
        then_begin=messages.Begin(request_id=ann.request_id, operation="op-0"),
    )
    # What is asked for next has succeeded: its receipt is read, to be given back.
    faulty.fail("get", DOWN, after_effect=False)

    with pytest.raises(UnknownWriteError):
        ann.complete(workflow, grant.operation, body)

    assert ann.workflow(workflow).operations[1].status is OperationStatus.SUCCEEDED
    assert ann.complete(workflow, OperationName("op-1"), body).standing == "accepted"
