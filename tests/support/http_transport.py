"""The SDK's side of HTTP, and what a scripted server answers to it."""

import msgspec

from onceward.transport import HttpController
from onceward.wire import messages
from onceward.wire.identifiers import WorkflowKey, WorkspaceName
from onceward.wire.secrets import Secret
from tests.support.ports import ManualClock
from tests.support.scripted_controller import WORKFLOW
from tests.support.scripted_http import Answer

TOKEN = "owa_0000000000000000_not-a-real-one"
DOCS = WorkspaceName("docs")
DIGEST = "d" * 64

VIEW = messages.WorkflowView(
    WORKFLOW,
    DOCS,
    WorkflowKey("k"),
    messages.WorkflowStatus.ENABLED,
    1,
    DIGEST,
    0,
    (),
)
STORED = messages.PayloadStored(DIGEST, DIGEST, 3)


def controller_at(url: str) -> HttpController:
    """Return a controller behind ``url``, which its caller closes."""
    return HttpController(url, Secret(TOKEN), workspace=DOCS, clock=ManualClock())


def reply(shape: object) -> Answer:
    """Return the answer that holds ``shape``."""
    return Answer(200, msgspec.json.encode(shape), headers=(("Content-Type", "application/json"),))
