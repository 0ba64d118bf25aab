"""Which failure of the port each answer of an S3 store is."""

import socket
import ssl
from collections.abc import Callable, Iterator

import pytest
from botocore.exceptions import (
    BotoCoreError,
    CredentialRetrievalError,
    NoCredentialsError,
    ParamValidationError,
    ProxyConnectionError,
    SSLError,
)

from onceward_controller.vault.s3 import S3Store, connect
from onceward_controller.vault.s3 import failure as s3_failure
from onceward_controller.vault.store import (
    ConflictError,
    OutcomeUnknownError,
    RefusedError,
    Store,
    StoreError,
    UnavailableError,
)
from tests.support.scripted_http import (
    Answer,
    Reset,
    Silence,
    Step,
    failure,
    scripted_server,
)
from tests.support.scripted_s3 import Wire, blank, get, list_names, put, settings
from tests.support.tls_server import tls_server


@pytest.fixture(scope="module")
def store_before() -> Iterator[Wire]:
    with scripted_server() as server:
        store = connect(settings(server.url))
        yield Wire(store, server)
        store.close()


@pytest.fixture(scope="module")
def unreachable() -> Iterator[S3Store]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    store = connect(settings(f"http://127.0.0.1:{port}"))
    yield store
    store.close()


def create(store: Store) -> object:
    return store.create("a/1", b"body")


def delete(store: Store) -> None:
    store.delete("a/1")


WRITES = [create, put, blank, delete]

READS = [get, list_names]

UNSETTLED = [
    pytest.param(failure(500, "InternalError"), id="500"),
    pytest.param(Answer(502, b"<html>bad gateway</html>"), id="502-of-a-proxy"),
    pytest.param(failure(503, "SlowDown"), id="503"),
    pytest.param(Answer(504), id="504-without-a-body"),
    pytest.param(failure(507, "XMinioStorageFull"), id="507"),
    pytest.param(failure(409, "ConditionalRequestConflict"), id="409-conditional"),
    pytest.param(failure(409, "OperationAborted"), id="409-aborted"),
    pytest.param(failure(408, "RequestTimeout"), id="408"),
    pytest.param(failure(429, "TooManyRequests"), id="429"),
    pytest.param(failure(400, "RequestTimeout"), id="400-request-timeout"),
    pytest.param(failure(400, "BadDigest"), id="400-garbled-on-the-way"),
    pytest.param(Reset(), id="reset"),
    pytest.param(Answer(200, cut_to=0), id="closed-without-an-answer"),
    pytest.param(Answer(200, cut_to=12), id="cut-inside-the-head"),
    pytest.param(Silence(), id="silence"),
]

REFUSED = [
    pytest.param(failure(403, "AccessDenied"), "s3:ListBucket", id="access-denied"),
    pytest.param(Answer(403, b"<html>no</html>"), "s3:ListBucket", id="403-of-a-proxy"),
    pytest.param(failure(403, "InvalidAccessKeyId"), "check the access key", id="unknown-key"),
    pytest.param(failure(403, "SignatureDoesNotMatch"), "check the access key", id="bad-secret"),
    pytest.param(failure(403, "RequestTimeTooSkewed"), "clock", id="skewed-clock"),
    pytest.param(failure(400, "ExpiredToken"), "expired", id="expired-token"),
    pytest.param(failure(404, "NoSuchBucket"), "create it", id="no-such-bucket"),
    pytest.param(Answer(404, b"<html>not here</html>"), "check the endpoint", id="404-of-a-proxy"),
    pytest.param(failure(501, "NotImplemented"), "conditional", id="501"),
    pytest.param(Answer(501), "conditional", id="501-without-a-body"),
    pytest.param(failure(405, "MethodNotAllowed"), "refused the request", id="405"),
    pytest.param(failure(301, "PermanentRedirect"), "region", id="another-region"),
    pytest.param(failure(307, "TemporaryRedirect"), "elsewhere", id="307"),
    pytest.param(Answer(301, headers=(("Location", "/"),)), "elsewhere", id="301-of-a-proxy"),
    pytest.param(failure(400, "KeyTooLongError"), "shorter prefix", id="name-too-long"),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("step", UNSETTLED)
def test_a_write_without_a_clear_answer_may_have_happened(
    store_before: Wire, step: Step, write: Callable[[Store], object]
) -> None:
    with store_before(step) as (store, server):
        with pytest.raises(OutcomeUnknownError):
            write(store)
        assert len(server.requests) == 1


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("step", UNSETTLED)
def test_a_read_without_a_clear_answer_may_be_made_again(
    store_before: Wire, step: Step, read: Callable[[Store], object]
) -> None:
    with store_before(step) as (store, server):
        with pytest.raises(UnavailableError):
            read(store)
        assert len(server.requests) == 1


@pytest.mark.parametrize("call", WRITES + READS)
@pytest.mark.parametrize(("step", "said"), REFUSED)
def test_what_only_a_person_can_repair_is_refused_with_the_repair(
    store_before: Wire, step: Step, said: str, call: Callable[[Store], object]
) -> None:
    with store_before(step) as (store, server):
        with pytest.raises(RefusedError, match=said):
            call(store)
        assert len(server.requests) == 1


def test_a_create_whose_condition_is_false_is_a_conflict(store_before: Wire) -> None:
    with store_before(failure(412, "PreconditionFailed")) as (store, server):
        with pytest.raises(ConflictError):
            store.create("a/1", b"body")
        assert len(server.requests) == 1


@pytest.mark.parametrize("write", [create, put, blank])
def test_an_error_inside_a_success_is_no_success(
    store_before: Wire, write: Callable[[Store], object]
) -> None:
    hidden = Answer(200, failure(500, "InternalError").body)
    with store_before(hidden) as (store, _), pytest.raises(OutcomeUnknownError):
        write(store)


@pytest.mark.parametrize("call", WRITES + READS)
def test_a_store_that_cannot_be_reached_did_nothing(
    unreachable: S3Store, call: Callable[[Store], object]
) -> None:
    with pytest.raises(UnavailableError):
        call(unreachable)


def test_a_store_whose_host_has_no_address_did_nothing() -> None:
    store = connect(settings("http://store.invalid"))

    with pytest.raises(UnavailableError):
        store.create("a/1", b"body")
    store.close()


def test_a_certificate_that_does_not_check_out_is_refused() -> None:
    with tls_server() as url:
        store = connect(settings(url))
        with pytest.raises(RefusedError, match="certificate"):
            store.create("a/1", b"body")
        with pytest.raises(RefusedError, match="certificate"):
            store.get("a/1")
        store.close()


@pytest.mark.parametrize(
    ("error", "of_write", "of_read"),
    [
        pytest.param(
            SSLError(endpoint_url="u", error=ssl.SSLError("bad record")),
            OutcomeUnknownError,
            UnavailableError,
            id="tls-broken-half-way",
        ),
        pytest.param(
            ProxyConnectionError(proxy_url="u", error=OSError("no")),
            OutcomeUnknownError,
            UnavailableError,
            id="proxy",
        ),
        pytest.param(
            CredentialRetrievalError(provider="p", error_msg="m"),
            UnavailableError,
            UnavailableError,
            id="credentials-not-fetched",
        ),
        pytest.param(NoCredentialsError(), RefusedError, RefusedError, id="no-credentials"),
        pytest.param(
            ParamValidationError(report="bucket"), RefusedError, RefusedError, id="parameters"
        ),
    ],
)
def test_a_failure_before_or_during_sending_says_what_is_true(
    error: BotoCoreError, of_write: type[StoreError], of_read: type[StoreError]
) -> None:
    assert type(s3_failure.of_write(error)) is of_write
    assert type(s3_failure.of_read(error)) is of_read
