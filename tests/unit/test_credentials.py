"""Credentials: shown once, looked up on every request, and never told apart by what they cost."""

from collections.abc import Callable

import pytest

from onceward.wire import base32hex, limits, messages, tokens
from onceward.wire.decisions import Execute
from onceward.wire.definitions import OperationDefinition
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.problems import (
    DamagedError,
    DeniedError,
    NotFoundError,
    ProblemCode,
    ProblemError,
)
from onceward.wire.receipts import Outcome, Receipt
from onceward.wire.tokens import Role
from onceward_controller.protocol.authority import ISSUED, MATRIX, Action, Caller
from onceward_controller.service.credentials import FRESH_MS, Credentials
from onceward_controller.service.service import Service
from onceward_controller.vault import store as stores
from tests.support.services import ADMIN, DOCS, Agent, Site, chain
from tests.support.stores import CountingStore, FaultyStore

TTL_MS = limits.DAY_MS


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def service(site: Site) -> Service:
    return site.open()


def issued(
    service: Service,
    role: Role = Role.ADMIN,
    *,
    workspace: str | None = None,
    workflow: str | None = None,
    ttl_ms: int = TTL_MS,
) -> str:
    body = messages.CreateCredential(
        role=role, principal="worker-1", ttl_ms=ttl_ms, workspace=workspace, workflow=workflow
    )
    return service.credentials.create(ADMIN, body).token


def forged(text: str, *, role: Role | None = None, secret: bytes | None = None) -> str:
    """Return a well-formed token with another role letter or another secret."""
    token = tokens.parse(text)
    chosen = base32hex.encode(token.secret.reveal() if secret is None else secret)
    body = f"ow{(role or token.role).letter}_{token.accessor}_{chosen}"
    return body + tokens._checksum(body)


def refused(credentials: Credentials, text: str) -> DeniedError:
    with pytest.raises(DeniedError) as refusal:
        credentials.authenticate(text)
    assert refusal.value.code is ProblemCode.CREDENTIAL_INVALID
    return refusal.value


# ------------------------------------------------------------------------------- who it is


def test_a_token_says_who_presents_it(service: Service) -> None:
    text = issued(service, Role.OPERATOR, workspace="docs")

    assert service.credentials.authenticate(text) == Caller(
        principal="worker-1", role=Role.OPERATOR, workspace="docs"
    )


def test_another_process_knows_it_at_once(site: Site, service: Service) -> None:
    text = issued(service)

    assert site.open().credentials.authenticate(text).role is Role.ADMIN


def test_a_token_with_another_secret_is_not_known(service: Service) -> None:
    text = issued(service)

    error = refused(service.credentials, forged(text, secret=bytes(32)))

    assert error.more == {}


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.WORKER])
def test_a_token_with_another_role_letter_is_not_known(
    site: Site, service: Service, role: Role
) -> None:
    workflow = Agent(service).create("k", chain(1))
    text = issued(service, Role.WORKER, workflow=workflow)

    refused(site.open().credentials, forged(text, role=role))


def test_a_token_that_was_never_made_is_not_known(service: Service) -> None:
    refused(service.credentials, tokens.mint(Role.ADMIN, bytes(tokens.RANDOM_BYTES)).text.reveal())


@pytest.mark.parametrize("text", ["", "owa_", "Bearer x", "owa_" + "0" * 76, "é" * 80])
def test_what_is_no_token_is_refused_without_asking_the_store(site: Site, text: str) -> None:
    counted = CountingStore(site.store)
    credentials = site.open(counted).credentials
    counted.reset()

    refused(credentials, text)

    assert not counted.calls


def test_a_token_of_another_vault_is_not_known(service: Service) -> None:
    refused(service.credentials, issued(Site().open()))


# --------------------------------------------------------------------------------------- when


def test_a_credential_is_good_to_the_last_millisecond(site: Site, service: Service) -> None:
    text = issued(service)
    site.clock.pass_ms(TTL_MS - 1)
    service.credentials.authenticate(text)
    site.clock.pass_ms(1)

    error = refused(service.credentials, text)

    assert error.more == {"expires_ms": site.clock.wall_ms(), "now_ms": site.clock.wall_ms()}


def test_a_credential_is_judged_by_the_stores_time_not_the_hosts(
    site: Site, service: Service
) -> None:
    text = issued(service)
    site.clock.pass_ms(TTL_MS)
    site.clock.set_wall(-TTL_MS)

    refused(service.credentials, text)


@pytest.mark.parametrize("by_ms", [-limits.HOUR_MS, limits.HOUR_MS])
def test_a_credential_made_on_a_host_whose_clock_is_off_is_good_at_once(
    site: Site, by_ms: int
) -> None:
    # The first thing that a process does: it has heard nothing of the store's clock yet.
    site.clock.set_wall(by_ms)
    text = issued(site.open())
    site.clock.set_wall(-by_ms)

    service = site.open()
    service.credentials.authenticate(text)
    site.clock.pass_ms(TTL_MS)
    refused(service.credentials, text)


# --------------------------------------------------------------------------------- what it costs


def test_a_credential_costs_no_call_for_five_seconds(site: Site) -> None:
    counted = CountingStore(site.store)
    service = site.open(counted)
    text = issued(service)
    service.credentials.authenticate(text)
    counted.reset()

    site.clock.pass_ms(FRESH_MS - 1)
    service.credentials.authenticate(text)
    assert not counted.calls
    site.clock.pass_ms(1)
    service.credentials.authenticate(text)

    assert dict(counted.calls) == {"list": 1, "get": 1}


def test_an_unknown_accessor_costs_what_a_wrong_secret_costs(site: Site) -> None:
    counted = CountingStore(site.store)
    service = site.open(counted)
    text = issued(service)
    calls = []
    unknown = tokens.mint(Role.ADMIN, bytes(tokens.RANDOM_BYTES)).text.reveal()
    for wrong in (forged(text, secret=bytes(32)), unknown):
        site.clock.pass_ms(FRESH_MS)
        counted.reset()
        refused(service.credentials, wrong)
        calls.append(dict(counted.calls))

    assert calls[0] == calls[1]


def test_a_flood_of_unknown_accessors_is_forgotten_again(service: Service) -> None:
    for number in range(1_200):
        random = number.to_bytes(10, "big") + bytes(32)
        refused(service.credentials, tokens.mint(Role.ADMIN, random).text.reveal())

    assert len(service.credentials._read) <= 1_000


def test_an_outage_is_told_as_such_and_nobody_is_let_in(site: Site) -> None:
    faulty = FaultyStore(site.store)
    service = site.open(faulty)
    text = issued(service)
    faulty.fail("list", stores.UnavailableError("down"), after_effect=False)

    with pytest.raises(ProblemError) as refusal:
        service.credentials.authenticate(text)
    assert refusal.value.code is ProblemCode.STORE_UNAVAILABLE

    service.credentials.authenticate(text)


def test_a_credential_whose_record_was_changed_lets_nobody_in(site: Site) -> None:
    text = issued(site.open())
    [name] = [name for name in site.store.list("").names if name[3:5] == "c/"]
    found = site.store.get(name)
    assert found is not None
    site.store.put(name, found.body[:-1] + bytes([found.body[-1] ^ 1]))

    with pytest.raises(DamagedError):
        site.open().credentials.authenticate(text)


def test_a_credentials_record_under_anothers_name_lets_nobody_in(site: Site) -> None:
    service = site.open()
    weak, strong = issued(service, Role.OPERATOR, workspace="docs"), issued(service)
    names = [
        next(iter(site.store.list(service.vault.naming.credential_log(accessor) + "/").names))
        for accessor in (tokens.parse(weak).accessor, tokens.parse(strong).accessor)
    ]
    stored = site.store.get(names[1])
    assert stored is not None
    site.store.put(names[0], stored.body)

    with pytest.raises(DamagedError):
        site.open().credentials.authenticate(weak)


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


# ------------------------------------------------------------------------------------- canaries

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
