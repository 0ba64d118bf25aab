"""Arguments and results too large to ride in a revision, over the embedded client."""

from hashlib import sha256

import pytest

from onceward.wire import limits, messages
from onceward.wire.decisions import Execute, Reuse
from onceward.wire.definitions import OperationDefinition, PayloadRef
from onceward.wire.identifiers import WorkflowId
from onceward.wire.problems import InvalidError, NotFoundError, ProblemCode, ProblemError
from onceward.wire.receipts import Outcome, Receipt, encode
from onceward_controller.vault import store as stores
from tests.support.services import DOCS, Agent, Site, chain, cold_head
from tests.support.stores import CountingStore, FaultyStore

LARGE = b"content " * 20_000


@pytest.fixture
def site() -> Site:
    return Site()


def reference(stored: messages.PayloadStored) -> PayloadRef:
    return PayloadRef(digest=stored.digest, sha256=stored.sha256, size=stored.size)


def with_payload(stored: messages.PayloadStored) -> OperationDefinition:
    return OperationDefinition(name="op-0", tool="upload", arguments_payload=reference(stored))


def refused(refusal: pytest.ExceptionInfo[ProblemError]) -> ProblemCode:
    return refusal.value.code


# -------------------------------------------------------------------------------------- arguments


def test_arguments_are_uploaded_before_their_workflow_exists_and_read_by_who_runs_it(
    site: Site,
) -> None:
    ann = Agent(site.open())
    stored = ann.upload(DOCS, LARGE, key="k")
    assert (stored.size, stored.sha256) == (len(LARGE), sha256(LARGE).hexdigest())
    workflow = ann.create("k", [with_payload(stored)])
    bob = Agent(site.open(), "bob")

    grant = bob.granted(workflow)

    assert isinstance(grant, Execute)
    assert grant.arguments == {}
    assert grant.arguments_payload == reference(stored)
    assert bob.download(workflow, stored.digest) == LARGE


@pytest.mark.parametrize("size", [0, 1, limits.KIB, limits.MIB, limits.PAYLOAD_BYTES_MAX])
def test_a_payload_of_any_size_up_to_the_limit_comes_back(site: Site, size: int) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    content = b"\xa5" * size

    stored = ann.upload_result(workflow, content)

    assert Agent(site.open()).download(workflow, stored.digest) == content


def test_a_payload_above_the_limit_is_refused_and_nothing_is_stored(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    before = site.store.list("").names

    with pytest.raises(InvalidError) as refusal:
        ann.upload_result(workflow, bytes(limits.PAYLOAD_BYTES_MAX + 1))

    assert refused(refusal) is ProblemCode.PAYLOAD_TOO_LARGE
    assert refusal.value.more["bytes_max"] == limits.PAYLOAD_BYTES_MAX
    assert site.store.list("").names == before


def test_a_workflow_that_names_arguments_nobody_uploaded_is_refused(site: Site) -> None:
    ann = Agent(site.open())
    stored = ann.upload(DOCS, LARGE, key="another key")

    for key in ("k", "k too"):
        ann.upload(DOCS, b"something else", key="k too")
        with pytest.raises(InvalidError) as refusal:
            ann.create(key, [with_payload(stored)])
        assert refused(refusal) is ProblemCode.PAYLOAD_UNKNOWN
        assert refusal.value.more["operation"] == "op-0"
    assert ann.workflows(DOCS).rows == ()


def test_a_workflow_that_names_its_arguments_by_another_digest_is_refused(site: Site) -> None:
    ann = Agent(site.open())
    stored = ann.upload(DOCS, LARGE, key="k")
    lied = PayloadRef(digest=stored.digest, sha256="0" * 64, size=stored.size)

    with pytest.raises(InvalidError) as refusal:
        ann.create("k", [OperationDefinition(name="o", tool="t", arguments_payload=lied)])
    assert refused(refusal) is ProblemCode.PAYLOAD_UNKNOWN


def test_the_same_content_twice_is_two_objects_and_both_open(site: Site) -> None:
    ann = Agent(site.open())
    first, second = (ann.upload(DOCS, LARGE, key="k") for _ in range(2))
    workflow = ann.create("k", [with_payload(first)])

    assert first.digest != second.digest
    assert ann.download(workflow, first.digest) == ann.download(workflow, second.digest) == LARGE


def test_an_upload_whose_reply_was_lost_is_stored_once(site: Site) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(1))
    before = len(site.store.list("").names)
    faulty.fail("create", stores.OutcomeUnknownError("lost"), after_effect=True)

    stored = ann.upload_result(workflow, LARGE)

    assert len(site.store.list("").names) == before + 1
    assert ann.download(workflow, stored.digest) == LARGE


def test_two_who_upload_for_one_new_workflow_at_once_share_its_key(site: Site) -> None:
    ann, bob = Agent(site.open()), Agent(site.open(), "bob")
    first = ann.upload(DOCS, b"from ann", key="k")
    second = bob.upload(DOCS, b"from bob", key="k")
    workflow = ann.create("k", [with_payload(second)])

    assert bob.download(workflow, first.digest) == b"from ann"
    assert bob.download(workflow, second.digest) == b"from bob"


# ---------------------------------------------------------------------------------------- results


def test_a_result_is_uploaded_named_in_the_receipt_and_reused(site: Site) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))
    grant = ann.granted(workflow)
    stored = ann.upload_result(workflow, LARGE)
    receipt = Receipt(
        outcome=Outcome.SUCCEEDED,
        operation_id=grant.operation_id,
        result_payload=reference(stored),
    )
    body = messages.Complete(attempt=grant.attempt, lease_token=grant.lease_token, receipt=receipt)
    ann.complete(workflow, grant.operation, body)

    answer = Agent(site.open(), "bob").ask(workflow, "op-0")

    assert isinstance(answer, Reuse)
    assert answer.receipt == receipt
    assert ann.download(workflow, stored.digest) == LARGE


def test_a_receipt_of_exactly_the_limit_is_taken_and_one_above_changes_nothing(
    site: Site,
) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(2))
    grant = ann.granted(workflow)
    bare = Receipt(
        outcome=Outcome.SUCCEEDED, operation_id=grant.operation_id, effect_id="effect", result=""
    )
    room = limits.RECEIPT_BYTES_MAX - len(encode(bare))
    before = cold_head(site.open(), workflow).tip

    with pytest.raises(InvalidError) as refusal:
        ann.succeed(workflow, grant, result="x" * (room + 1))

    assert refused(refusal) is ProblemCode.RECEIPT_TOO_LARGE
    assert cold_head(site.open(), workflow).tip == before
    ann.succeed(workflow, grant, result="x" * room)
    answer = ann.ask(workflow, "op-0")
    assert isinstance(answer, Reuse)
    assert answer.receipt.result == "x" * room


def test_a_read_of_a_workflow_reads_no_payload(site: Site) -> None:
    counted = CountingStore(site.store)
    ann = Agent(site.open(counted))
    stored = ann.upload(DOCS, LARGE, key="k")
    workflow = ann.create("k", [with_payload(stored)])
    counted.reset()

    ann.workflow(workflow)

    assert counted.calls["get"] == 0


# ----------------------------------------------------------------------------------- whose it is


def test_another_workflows_payload_is_not_found_and_not_called_damaged(site: Site) -> None:
    ann = Agent(site.open())
    mine, theirs = ann.create("mine", chain(1)), ann.create("theirs", chain(1))
    stored = ann.upload_result(theirs, LARGE)

    with pytest.raises(NotFoundError):
        ann.download(mine, stored.digest)


@pytest.mark.parametrize(
    "digest", ["0" * 64, "", "x", "../../keyring", "/", "ab/p/ab", "é" * 64, "A" * 64, "0" * 2_000]
)
def test_a_digest_that_names_nothing_is_not_found(site: Site, digest: str) -> None:
    ann = Agent(site.open())
    workflow = ann.create("k", chain(1))

    with pytest.raises(NotFoundError):
        ann.download(workflow, digest)


def test_a_payload_of_a_workflow_that_does_not_exist_is_not_found(site: Site) -> None:
    ann = Agent(site.open())
    stored = ann.upload(DOCS, LARGE, key="k")

    with pytest.raises(NotFoundError):
        ann.download(WorkflowId("wf_" + "0" * 32), stored.digest)
    with pytest.raises(NotFoundError):
        ann.upload_result(WorkflowId("wf_" + "0" * 32), LARGE)


def test_an_outage_is_never_not_found(site: Site) -> None:
    faulty = FaultyStore(site.store)
    ann = Agent(site.open(faulty))
    workflow = ann.create("k", chain(1))
    stored = ann.upload_result(workflow, LARGE)
    faulty.fail("get", stores.UnavailableError("down"), after_effect=False)

    with pytest.raises(ProblemError) as refusal:
        ann.download(workflow, stored.digest)
    assert refused(refusal) is ProblemCode.STORE_UNAVAILABLE
