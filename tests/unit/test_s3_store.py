"""What an S3 store makes of every answer that a server, a proxy or a network can give."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from onceward_controller.vault.s3 import connect
from onceward_controller.vault.s3.client import S3Settings
from onceward_controller.vault.store import (
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
    failure,
    scripted_server,
)
from tests.support.scripted_s3 import Wire, blank, get, list_names, put, settings

OK = Answer(200, headers=(("ETag", '"e"'),))

LISTING = """<?xml version="1.0"?><ListBucketResult><IsTruncated>{more}</IsTruncated>
{rows}</ListBucketResult>"""


def listing(*names: str, more: bool = False) -> Answer:
    rows = "".join(f"<Contents><Key>vault/{name}</Key><Size>1</Size></Contents>" for name in names)
    return Answer(200, LISTING.format(more=str(more).lower(), rows=rows).encode())


@pytest.fixture(scope="module")
def store_before() -> Iterator[Wire]:
    with scripted_server() as server:
        store = connect(settings(server.url))
        yield Wire(store, server)
        store.close()


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


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


# --------------------------------------------------------------------------------------- settings


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
