"""What each role may do in its scope, and what no message ever tells."""

from collections.abc import Callable

import pytest

from onceward.wire import limits, messages, tokens
from onceward.wire.decisions import Execute
from onceward.wire.definitions import OperationDefinition
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.problems import (
    DeniedError,
    NotFoundError,
    ProblemCode,
    ProblemError,
)
from onceward.wire.receipts import Outcome, Receipt
from onceward.wire.tokens import Role
from onceward_controller.protocol.authority import ISSUED, MATRIX, Action, Caller
from onceward_controller.service.service import Service
from tests.support.credentials import TTL_MS, issued
from tests.support.services import DOCS, Agent, Site, chain


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def service(site: Site) -> Service:
    return site.open()


# -------------------------------------------------------------------------------- what it may do


@pytest.mark.parametrize(
    ("role", "workspace", "workflow"),
    [
        pytest.param(Role.OPERATOR, None, None, id="operator-of-nothing"),
        pytest.param(Role.OPERATOR, "docs", "wf_" + "0" * 32, id="operator-of-a-workflow"),
        pytest.param(Role.ADMIN, None, "wf_" + "0" * 32, id="admin-of-a-workflow"),
        pytest.param(Role.WORKER, None, None, id="worker-of-nothing"),
        pytest.param(Role.WORKER, "docs", None, id="worker-of-a-workspace"),
        pytest.param(Role.WORKER, None, "wf_x", id="worker-of-no-id"),
        *[pytest.param(role, "docs", None, id=role) for role in Role if role not in ISSUED],
    ],
)
def test_a_scope_that_does_not_fit_the_role_is_refused(
    service: Service, role: Role, workspace: str | None, workflow: str | None
) -> None:
    with pytest.raises(ProblemError) as refusal:
        issued(service, role, workspace=workspace, workflow=workflow)
    assert refusal.value.code is ProblemCode.BODY_INVALID


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_only_an_admin_makes_credentials(service: Service, role: Role) -> None:
    caller = Caller(principal="x", role=role, workspace="docs")
    with pytest.raises(DeniedError):
        service.credentials.create(
            caller, messages.CreateCredential(role=Role.ADMIN, principal="y", ttl_ms=TTL_MS)
        )


def acts(service: Service, workflow: WorkflowId) -> dict[Action, Callable[[Caller], object]]:
    """Return every call of the service, by the action that it needs."""
    begin = messages.Begin(request_id="request-of-somebody")
    name = OperationName("op-0")
    receipt = Receipt(outcome=Outcome.UNKNOWN, operation_id="op_" + "0" * 32)
    complete = messages.Complete(attempt=1, lease_token="x", receipt=receipt)
    renew = messages.Renew(attempt=1, lease_token="x")
    release = messages.Release(attempt=1, lease_token="x")
    resolve = messages.Resolve(outcome=Outcome.SUCCEEDED, evidence="x", revision=1)
    abandon = messages.Abandon(evidence="x", revision=1)
    create = messages.CreateWorkflow(key="new", operations=chain(1))
    credential = messages.CreateCredential(role=Role.ADMIN, principal="y", ttl_ms=TTL_MS)
    digest = "0" * 64
    return {
        Action.CREATE: lambda who: service.workflows.create(who, "docs", create),
        Action.READ: lambda who: (
            service.workflows.read(who, workflow),
            service.listing.history(who, workflow),
            service.payloads.read(who, workflow, digest),
        ),
        Action.LIST: lambda who: service.listing.rows(who, "docs"),
        Action.ENABLE: lambda who: service.workflows.enable(who, workflow),
        Action.PAUSE: lambda who: service.workflows.pause(who, workflow),
        Action.RESOLVE: lambda who: service.workflows.resolve(who, workflow, name, resolve),
        Action.ABANDON: lambda who: service.workflows.abandon(who, workflow, abandon),
        Action.BEGIN: lambda who: service.attempts.begin(who, workflow, begin),
        Action.COMPLETE: lambda who: service.attempts.complete(who, workflow, name, complete),
        Action.RENEW: lambda who: service.attempts.renew(who, workflow, name, renew),
        Action.RELEASE: lambda who: service.attempts.release(who, workflow, name, release),
        Action.UPLOAD: lambda who: service.payloads.store_result(who, workflow, b"x"),
        Action.CREDENTIAL_CREATE: lambda who: service.credentials.create(who, credential),
    }


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("role", Role)
def test_a_role_may_what_its_row_says_and_nothing_else(
    site: Site, service: Service, role: Role, action: Action
) -> None:
    workflow = Agent(service).create("k", chain(1))
    act = acts(service, workflow)[action]
    caller = Caller(
        principal="x",
        role=role,
        workspace="docs",
        workflow=workflow if role is Role.WORKER else None,
    )

    code = None
    try:
        act(caller)
    except ProblemError as error:
        code = error.code

    assert (code is ProblemCode.ROLE_DENIED) is (action not in MATRIX[role])


OUTSIDERS = {
    "of another workspace": Caller("x", Role.ADMIN, workspace="elsewhere"),
    "operator of another": Caller("x", Role.OPERATOR, workspace="elsewhere"),
    "worker of another": Caller("x", Role.WORKER, workflow=WorkflowId("wf_" + "0" * 32)),
}


@pytest.mark.parametrize(
    ("caller", "action"),
    [
        pytest.param(caller, action, id=f"{name}-{action}")
        for name, caller in OUTSIDERS.items()
        for action in Action
        if action in MATRIX[caller.role] and action is not Action.CREDENTIAL_CREATE
    ],
)
def test_what_is_outside_a_scope_is_not_found_whether_it_exists_or_not(
    service: Service, caller: Caller, action: Action
) -> None:
    workflow = Agent(service).create("k", chain(1))
    nothing = service.vault.naming.workflow_id("docs", "", "there is none")
    told = []
    for each in (workflow, nothing):
        act = acts(service, each)[action]
        with pytest.raises(NotFoundError) as refusal:
            act(caller)
        told.append((refusal.value.code, refusal.value.detail, refusal.value.more))

    assert told[0] == told[1]
    assert Agent(service).workflow(workflow).revision == 2


def test_arguments_are_uploaded_by_who_may_create_and_there_only(service: Service) -> None:
    elsewhere = Caller("x", Role.OPERATOR, workspace="elsewhere")
    worker = Caller("x", Role.WORKER, workflow=WorkflowId("wf_" + "0" * 32))

    with pytest.raises(NotFoundError):
        service.payloads.store_arguments(elsewhere, "docs", "k", b"x")
    with pytest.raises(DeniedError):
        service.payloads.store_arguments(worker, "docs", "k", b"x")


CANARIES = {
    "argument": "canary-of-an-argument",
    "result": "canary-of-a-result",
    "reason": "canary-of-a-reason",
    "evidence": "canary-of-evidence",
    "key": "canary-of-a-key",
    "label": "canary-of-a-label",
    "tag": "canary-of-a-tag",
    "workspace": "canary-workspace",
    "principal": "canary-principal",
    "operation": "canary-operation",
    "tool": "canary-tool",
    "destination": "s3://canary-destination",
    "payload": "canary-of-a-payload",
    "request": "canary-of-a-request-id",
}


# ------------------------------------------------------------------------------------- canaries


def test_nothing_that_anybody_said_is_stored_where_a_reader_of_the_bucket_sees_it(
    site: Site,
) -> None:
    service = site.open()
    ann = Agent(service, CANARIES["principal"])
    workspace = WorkspaceName(CANARIES["workspace"])
    ann.upload(workspace, CANARIES["payload"].encode() * 99, key=CANARIES["key"])
    [operation] = chain(1, arguments={"secret": CANARIES["argument"]})
    operation = OperationDefinition(
        name=CANARIES["operation"],
        tool=CANARIES["tool"],
        destination=CANARIES["destination"],
        arguments=operation.arguments,
    )
    workflow = ann.create_workflow(
        workspace,
        messages.CreateWorkflow(
            key=CANARIES["key"],
            operations=(operation, *chain(2)),
            label=CANARIES["label"],
            tags=(CANARIES["tag"],),
        ),
    ).id
    ann.enable(workflow)
    body = messages.Begin(request_id=CANARIES["request"])
    grant = ann.begin(workflow, body)
    assert isinstance(grant, Execute)
    ann.succeed(workflow, grant, result=CANARIES["result"])
    ann.upload_result(workflow, CANARIES["payload"].encode() * 99)
    following = ann.granted(workflow)
    site.clock.pass_ms(limits.HOUR_MS)
    revision = ann.workflow(workflow).revision
    ann.resolve(
        workflow,
        following.operation,
        messages.Resolve(
            outcome=Outcome.SUCCEEDED, evidence=CANARIES["evidence"], revision=revision
        ),
    )
    for _ in range(20):
        ann.pause(workflow)
        ann.enable(workflow)
    token = issued(service, Role.WORKER, workflow=workflow)
    service.rows.flush()

    parsed = tokens.parse(token)
    secrets = {
        **{name: text.encode() for name, text in CANARIES.items()},
        "token": token.encode(),
        "secret": parsed.secret.reveal(),
        "accessor": parsed.accessor.encode(),
        "principal of the credential": b"worker-1",
        "workflow id": workflow.encode(),
        "operation id": following.operation_id.encode(),
        "lease token": following.lease_token.encode(),
        "idempotency key": following.idempotency_key.encode(),
        "root": service.vault.keyring.root._root,
        "data key": service.workflows._heads.get(workflow).key.key,  # type: ignore[union-attr]  # it was just used
        **{f"wrapping {number}": key for number, key in service.vault.keyring.wrapping.items()},
    }
    stored = {name: site.store.get(name) for name in site.store.list("").names}
    assert len(stored) > 40
    assert {name[3] for name in stored if name[2] == "/"} == set("wkcp")
    for name, found in stored.items():
        assert found is not None
        for what, secret in secrets.items():
            assert secret not in name.encode(), what
            assert secret not in found.body, what


def test_no_refusal_shows_a_secret(service: Service) -> None:
    ann = Agent(service)
    workflow = ann.create("k", chain(1, arguments={"secret": "canary"}))
    grant = ann.granted(workflow)
    wrong = messages.Complete(
        attempt=1,
        lease_token="lt_wrong",
        receipt=Receipt(
            outcome=Outcome.SUCCEEDED, operation_id=grant.operation_id, result="canary"
        ),
    )
    with pytest.raises(ProblemError) as refusal:
        ann.complete(workflow, grant.operation, wrong)
    told = f"{refusal.value!r} {refusal.value.more}"
    assert "canary" not in told
    assert grant.lease_token not in told
    assert "lt_wrong" not in told


def test_a_listing_needs_a_workspace_of_ones_own(service: Service) -> None:
    operator = Caller("x", Role.OPERATOR, workspace="docs")
    Agent(service).create("k", chain(1))

    assert len(service.listing.rows(operator, DOCS).rows) == 1
    with pytest.raises(NotFoundError):
        service.listing.rows(operator, "elsewhere", key="k")
