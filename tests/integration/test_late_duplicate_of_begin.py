"""A question that arrives once more, late, takes no grant that nobody will use.

The client asks again when a reply is lost, and a proxy may send a request twice. The question that
was answered and whose attempt has reported is asked by nobody any more: whatever it is granted now
runs out in silence, and stops for a person where the tool can neither ask nor repeat.
"""

import pytest

from onceward.wire.decisions import Granted
from onceward.wire.identifiers import WorkflowId
from onceward.wire.messages import Begin, Complete
from onceward.wire.receipts import Outcome, Receipt
from tests.support.services import Agent, Site, parallel


@pytest.mark.xfail(
    reason="a late copy of a begin is granted, and nobody calls: a needless stop",
    raises=AssertionError,
)
def test_a_question_whose_attempt_has_reported_is_granted_nothing_more() -> None:
    site = Site()
    ann = Agent(site.open(), "ann")
    workflow = ann.create("work", parallel(3))
    first, second = Begin(request_id="question-1"), Begin(request_id="question-2")
    granted = ann.begin(workflow, first)
    assert isinstance(granted, Granted)
    assert isinstance(_reported(ann, workflow, granted, second), Granted)

    late = ann.begin(workflow, first)

    assert not isinstance(late, Granted), f"nobody waits for the grant of `{late.operation}`"


def _reported(ann: Agent, workflow: WorkflowId, granted: Granted, following: Begin) -> object:
    receipt = Receipt(Outcome.SUCCEEDED, granted.operation_id, "effect")
    body = Complete(granted.attempt, granted.lease_token, receipt, following)
    return ann.complete(workflow, granted.operation, body).decision
