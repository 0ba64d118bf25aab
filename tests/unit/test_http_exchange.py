"""Each way in which a request can fail, and what it means; and where a credential may go."""

import socket
import threading
from contextlib import closing
from typing import Any

import msgspec
import pytest

import onceward as ow
from onceward.http_exchange import Exchange
from onceward.transport import HttpController
from onceward.wire.problems import CLASSES, Problem, ProblemCode, problem, status_of
from onceward.wire.secrets import Secret
from tests.support.http_transport import DIGEST, STORED, TOKEN, VIEW, controller_at, reply
from tests.support.ports import ManualClock
from tests.support.scripted_controller import WORKFLOW
from tests.support.scripted_http import Answer, Raw, Reset, ScriptedServer, Step
from tests.support.tls_server import tls_server


def refusal(error: ow.ProblemError) -> Answer:
    body = msgspec.json.encode(Problem.of(error, "req-1"))
    headers = (("Content-Type", "application/problem+json; charset=utf-8"),)
    return Answer(status_of(error.code), body, headers)


@pytest.mark.parametrize("code", list(ProblemCode))
def test_each_problem_comes_back_in_the_class_that_says_what_to_do(
    server: ScriptedServer, http_controller: HttpController, code: ProblemCode
) -> None:
    server.script(refusal(problem(code, "what happened", limit=7)))

    with pytest.raises(ow.ProblemError) as caught:
        http_controller.pause(WORKFLOW)

    assert code in CLASSES[type(caught.value)]
    assert caught.value.detail == "what happened"
    assert caught.value.more == {"limit": 7, "request_id": "req-1"}


def test_a_code_of_a_newer_controller_is_no_crash(
    server: ScriptedServer, http_controller: HttpController
) -> None:
    body = b'{"type":"t","title":"t","status":409,"detail":"d","code":"newer","more":{"code":"x"}}'
    server.script(Answer(409, body, headers=(("Content-Type", "application/problem+json"),)))

    with pytest.raises(ow.ProblemError, match="d"):
        http_controller.pause(WORKFLOW)


GARBAGE: list[Any] = [
    pytest.param(Answer(500, b"oops"), id="500"),
    pytest.param(Answer(502, b"<html>bad gateway</html>"), id="502"),
    pytest.param(Answer(404, b"<html>not found</html>"), id="404-of-a-proxy"),
    pytest.param(Answer(301, headers=(("Location", "https://elsewhere.example/"),)), id="redirect"),
    pytest.param(Answer(200, b"{"), id="no-json"),
    pytest.param(Answer(200, b'{"id":5}'), id="another-shape"),
    pytest.param(Answer(200, b"\xff\xff"), id="no-text"),
    pytest.param(
        Answer(503, b"{", headers=(("Content-Type", "application/problem+json"),)), id="no-problem"
    ),
    pytest.param(Answer(200, b"x" * 100, cut_to=150), id="cut"),
    pytest.param(Raw(b""), id="nothing"),
    pytest.param(Raw(b"garbage\r\n\r\n"), id="no-http"),
    pytest.param(Reset(), id="reset"),
]


@pytest.mark.parametrize("step", GARBAGE)
def test_a_write_without_an_answer_may_have_happened(
    server: ScriptedServer, http_controller: HttpController, step: Step
) -> None:
    server.script(step)

    with pytest.raises(ow.UnknownWriteError):
        http_controller.pause(WORKFLOW)

    assert len(server.requests) == 1


@pytest.mark.parametrize("step", GARBAGE)
def test_a_read_without_an_answer_changed_nothing(
    server: ScriptedServer, http_controller: HttpController, step: Step
) -> None:
    server.script(step)

    with pytest.raises(ow.UnavailableError):
        http_controller.workflow(WORKFLOW)


def test_a_read_that_met_an_error_inside_changed_nothing_either(
    server: ScriptedServer, http_controller: HttpController
) -> None:
    server.script(refusal(problem(ProblemCode.INTERNAL, "oops")))

    with pytest.raises(ow.UnavailableError):
        http_controller.workflow(WORKFLOW)


def test_where_nobody_listens_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with (
        closing(controller_at(f"http://127.0.0.1:{port}")) as http_controller,
        pytest.raises(ow.UnavailableError, match="cannot be reached"),
    ):
        http_controller.pause(WORKFLOW)


def test_a_server_that_nobody_vouches_for_gets_no_request() -> None:
    with (
        tls_server() as url,
        closing(controller_at(url)) as http_controller,
        pytest.raises(ow.ProblemError, match="SSLError"),
    ):
        http_controller.pause(WORKFLOW)


def test_a_reply_beyond_its_bound_is_not_read_to_its_end(server: ScriptedServer) -> None:
    server.script(Answer(200, b"x" * 1_000))
    exchange = Exchange(server.url, Secret(TOKEN), ManualClock())

    with closing(exchange), pytest.raises(ow.UnavailableError):
        exchange.send("GET", "/v1/workflows/any", bytes_max=999)


def test_a_compressed_reply_is_not_unpacked(
    server: ScriptedServer, http_controller: HttpController
) -> None:
    server.script(Answer(200, b"packed", headers=(("Content-Encoding", "gzip"),)))

    assert http_controller.download(WORKFLOW, DIGEST) == b"packed"
    assert "accept-encoding" not in server.requests[0].headers or (
        server.requests[0].headers["accept-encoding"] == "identity"
    )


def test_proxies_of_the_environment_are_not_asked(
    server: ScriptedServer, http_controller: HttpController, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.script(reply(VIEW))

    assert http_controller.workflow(WORKFLOW) == VIEW


def test_commands_that_follow_each_other_share_a_connection() -> None:
    body = msgspec.json.encode(VIEW)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def serve(listener: socket.socket) -> None:
        # Only one connection is ever accepted: a second one would find no answer.
        connection, _ = listener.accept()
        with connection:
            for _ in range(2):
                connection.recv(65_536)
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with closing(controller_at(url)) as controller:
            assert [controller.workflow(WORKFLOW), controller.workflow(WORKFLOW)] == [VIEW, VIEW]
        thread.join()


def test_a_large_body_is_sent_whole(
    server: ScriptedServer, http_controller: HttpController
) -> None:
    content = bytes(range(256)) * 4_096
    server.script(reply(STORED))

    http_controller.upload_result(WORKFLOW, content)

    assert server.requests[0].body == content
    assert server.requests[0].headers["content-length"] == str(len(content))


@pytest.mark.parametrize(
    "url",
    [
        "http://controller.example",
        "http://10.0.0.1:8686",
        "http://127.0.0.1.example",
        "ftp://127.0.0.1",
        "127.0.0.1:8686",
        "",
        "https://",
        f"https://{TOKEN}@controller.example",
        f"https://controller.example/?token={TOKEN}",
        f"https://controller.example/#{TOKEN}",
    ],
)
def test_a_url_to_which_no_credential_may_be_sent_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="url") as caught:
        controller_at(url)

    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://controller.example",
        "http://127.0.0.1:8686",
        "http://127.3.2.1",
        "http://[::1]:8686",
        "http://localhost:8686/",
    ],
)
def test_https_and_this_machine_are_taken(url: str) -> None:
    with closing(controller_at(url)) as http_controller:
        assert http_controller.origin == url.rstrip("/")


def test_the_token_is_in_nothing_that_prints(server: ScriptedServer) -> None:
    server.script(Answer(500))
    with ow.Client(server.url, TOKEN) as client:
        with pytest.raises(ow.ProblemError) as caught:
            client.pause(WORKFLOW)
        shown = [repr(client), repr(controller_at(server.url)), repr(caught.value.__dict__)]

    assert TOKEN not in "".join(shown)
