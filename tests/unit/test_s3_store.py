"""What an S3 store makes of every answer that a server, a proxy or a network can give."""

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

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
from onceward_controller.vault.s3.client import S3Settings
from onceward_controller.vault.store import (
    ConflictError,
    OutcomeUnknownError,
    RefusedError,
    Store,
    StoreError,
    UnavailableError,
)
from tests.support.scripted_http import (
    DATE_MS,
    Answer,
    Raw,
    Reset,
    ScriptedServer,
    Silence,
    Step,
    failure,
    scripted_server,
)
from tests.support.tls_server import tls_server

OK = Answer(200, headers=(("ETag", '"e"'),))
LISTING = """<?xml version="1.0"?><ListBucketResult><IsTruncated>{more}</IsTruncated>
{rows}</ListBucketResult>"""


def listing(*names: str, more: bool = False) -> Answer:
    rows = "".join(f"<Contents><Key>vault/{name}</Key><Size>1</Size></Contents>" for name in names)
    return Answer(200, LISTING.format(more=str(more).lower(), rows=rows).encode())


def settings(url: str) -> S3Settings:
    return S3Settings(
        bucket="bucket",
        prefix="vault/",
        endpoint_url=url,
        addressing_style="path",
        access_key_id="key",
        secret_access_key="secret",
        connect_timeout_ms=2_000,
        read_timeout_ms=150,
    )


class Wire:
    """One store and one server for the whole module: a client takes half a second to make."""

    def __init__(self, store: S3Store, server: ScriptedServer) -> None:
        self._store = store
        self._server = server

    @contextmanager
    def __call__(self, *steps: Step) -> Iterator[tuple[S3Store, ScriptedServer]]:
        self._server.script(*steps)
        yield self._store, self._server


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


def put(store: Store) -> object:
    return store.put("a/1", b"body")


def blank(store: Store) -> None:
    store.blank("a/1")


def delete(store: Store) -> None:
    store.delete("a/1")


def get(store: Store) -> object:
    return store.get("a/1")


def list_names(store: Store) -> object:
    return store.list("a/")


WRITES = [create, put, blank, delete]
READS = [get, list_names]

# -------------------------------------------------------------------------------------- failures

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


# ---------------------------------------------------------------------------------------- answers


def test_a_create_is_one_conditional_put_of_the_bytes(store_before: Wire) -> None:
    with store_before(OK) as (store, server):
        assert store.create("a/1", b"body") == DATE_MS

    (request,) = server.requests
    assert (request.method, request.target, request.body) == ("PUT", "/bucket/vault/a/1", b"body")
    assert request.headers["if-none-match"] == "*"
    assert "x-amz-trailer" not in request.headers
    assert "expect" not in request.headers


@pytest.mark.parametrize("write", [put, blank])
def test_a_put_has_no_condition(store_before: Wire, write: Callable[[Store], object]) -> None:
    with store_before(OK) as (store, server):
        write(store)

    (request,) = server.requests
    assert request.method == "PUT"
    assert "if-none-match" not in request.headers


def test_only_the_stores_own_word_makes_an_object_absent(store_before: Wire) -> None:
    with store_before(failure(404, "NoSuchKey")) as (store, _):
        assert store.get("a/1") is None


def test_deleting_what_the_store_does_not_have_succeeds(store_before: Wire) -> None:
    with store_before(Answer(204), failure(404, "NoSuchKey")) as (store, server):
        store.delete("a/1")
        store.delete("a/1")
        assert [request.method for request in server.requests] == ["DELETE", "DELETE"]


def test_a_body_that_breaks_off_is_not_believed(store_before: Wire) -> None:
    whole = Answer(200, b"0123456789")
    cut = Answer(200, b"0123456789", cut_to=len(whole.encode()) - 3)
    with store_before(cut) as (store, _), pytest.raises(UnavailableError):
        store.get("a/1")


def test_a_body_whose_length_was_cut_off_is_not_taken_for_a_blanked_object(
    store_before: Wire,
) -> None:
    head = b"HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n"
    with store_before(Raw(head)) as (store, _), pytest.raises(UnavailableError):
        store.get("a/1")


@pytest.mark.parametrize("date", [None, "yesterday", ""])
def test_a_read_without_a_time_is_refused(store_before: Wire, date: str | None) -> None:
    for call, answer in ((get, Answer(200, b"x", date=date)), (list_names, _dated(date))):
        with store_before(answer) as (store, _), pytest.raises(RefusedError, match="no time"):
            call(store)


def _dated(date: str | None) -> Answer:
    return Answer(200, listing("a/1").body, date=date)


def test_a_write_without_a_time_did_happen_and_is_not_said_to_have_not(store_before: Wire) -> None:
    with store_before(Answer(200, date=None)) as (store, _), pytest.raises(OutcomeUnknownError):
        store.create("a/1", b"body")


def test_a_listing_names_objects_without_the_prefix_and_says_whether_more_follow(
    store_before: Wire,
) -> None:
    with store_before(listing("a/1", "a/2", more=True)) as (store, server):
        page = store.list("a/", after="a/0", limit=2)

    assert (page.names, page.more, page.time_ms) == (("a/1", "a/2"), True, DATE_MS)
    (request,) = server.requests
    assert "prefix=vault%2Fa%2F" in request.target
    assert "start-after=vault%2Fa%2F0" in request.target
    assert "max-keys=2" in request.target


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(listing("a/2", "a/1"), RefusedError, id="out-of-order"),
        pytest.param(listing("a/1", "a/1"), RefusedError, id="twice"),
        pytest.param(listing("a/0", "a/1"), RefusedError, id="not-behind-after"),
        pytest.param(listing("b/1"), RefusedError, id="of-another-prefix"),
        pytest.param(listing(more=True), UnavailableError, id="empty-with-more-to-follow"),
        pytest.param(Answer(200, b"<ListBucketResult><Cont"), UnavailableError, id="garbled"),
        pytest.param(Answer(200, b"<html>hello</html>"), UnavailableError, id="not-a-listing"),
    ],
)
def test_a_listing_that_cannot_be_right_is_not_believed(
    store_before: Wire, answer: Answer, error: type[StoreError]
) -> None:
    with store_before(answer) as (store, _), pytest.raises(error):
        store.list("a/", after="a/0")


# --------------------------------------------------------------------------------------- settings


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


@pytest.mark.usefixtures("no_credentials")
def test_credentials_come_from_the_environment_when_none_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with scripted_server(OK) as server:
        connect(S3Settings(bucket="bucket", endpoint_url=server.url)).create("a/1", b"x")

    assert "from-the-environment" in server.requests[0].headers["authorization"]


@pytest.mark.usefixtures("no_credentials")
@pytest.mark.parametrize("asked", [False, True])
def test_the_metadata_service_is_asked_for_credentials_only_on_request(
    monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    with scripted_server(Answer(500), Answer(500)) as metadata:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url)
        store = connect(
            S3Settings(bucket="bucket", endpoint_url="http://127.0.0.1:1", instance_metadata=asked)
        )
        with pytest.raises(RefusedError, match="credentials"):
            store.create("a/1", b"x")

    assert bool(metadata.requests) is asked


@pytest.mark.usefixtures("no_credentials")
@pytest.mark.parametrize(("region", "signed"), [(None, "us-east-1"), ("auto", "auto")])
def test_requests_are_signed_for_the_region_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, region: str | None, signed: str
) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with scripted_server(OK) as server:
        store = connect(
            S3Settings(
                bucket="bucket",
                endpoint_url=server.url,
                region=region,
                access_key_id="key",
                secret_access_key="secret",
            )
        )
        store.create("a/1", b"x")
        store.close()

    assert f"/{signed}/s3/aws4_request" in server.requests[0].headers["authorization"]


def test_virtual_addressing_puts_the_bucket_into_the_host() -> None:
    with scripted_server(OK) as server:
        port = server.url.rpartition(":")[2]
        store = connect(
            S3Settings(
                bucket="bucket",
                endpoint_url=f"http://localhost:{port}",
                addressing_style="virtual",
                access_key_id="key",
                secret_access_key="secret",
            )
        )
        url = store._client.generate_presigned_url("get_object", {"Bucket": "bucket", "Key": "a"})

    assert url.startswith(f"http://bucket.localhost:{port}/a")


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param(partial(S3Settings, endpoint_url="not a url"), id="no-url"),
        pytest.param(partial(S3Settings, access_key_id="key"), id="half-a-credential"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(
    unusable: Callable[..., S3Settings],
) -> None:
    with pytest.raises(RefusedError, match="settings"):
        connect(unusable(bucket="bucket"))


def test_settings_do_not_show_their_secrets() -> None:
    shown = repr(settings("http://127.0.0.1:1"))

    assert "secret" not in shown
    assert "key" not in shown
