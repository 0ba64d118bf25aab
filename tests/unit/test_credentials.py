"""Credentials: who it is, until when, and what it costs to find out."""

import pytest

from onceward.wire import base32hex, limits, tokens
from onceward.wire.problems import (
    DamagedError,
    DeniedError,
    ProblemCode,
    ProblemError,
)
from onceward.wire.tokens import Role
from onceward_controller.protocol.authority import Caller
from onceward_controller.service.credentials import FRESH_MS, Credentials
from onceward_controller.service.service import Service
from onceward_controller.vault import store as stores
from tests.support.credentials import TTL_MS, issued
from tests.support.services import Agent, Site, chain
from tests.support.stores import CountingStore, FaultyStore


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def service(site: Site) -> Service:
    return site.open()


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
