"""The worker as its users run it: a process of its own, against a controller of its own."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from onceward.client import Client
from onceward.engine import Ports
from onceward.errors import LocalReason, Stopped
from onceward.exit_codes import ExitCode
from onceward.system import SystemClock
from onceward.transport import HttpController
from onceward.wire import messages
from onceward.wire.decisions import Done, Execute
from onceward.wire.identifiers import OperationName, WorkflowId, WorkspaceName
from onceward.wire.messages import OperationStatus, WorkflowView
from onceward.wire.problems import UnknownWriteError
from onceward.wire.receipts import Outcome, Receipt
from onceward.wire.secrets import Secret
from onceward.wire.tokens import Role
from onceward_controller.cli.demo import controller
from onceward_controller.cli.demo.controller import Hosted
from onceward_controller.cli.demo.place import Place, prepare
from onceward_worker import registry, run
from onceward_worker.conversation import Conversation
from onceward_worker.drain import Drain
from onceward_worker.report import Report
from onceward_worker.settings import Settings
from tests.support.ports import ManualClock
from tests.support.scripted_http import Answer, Reset, ScriptedServer, Step, scripted_server

TOOLS = '''
import os
import signal
import threading
import onceward as ow

# Handlers run on the main thread, the lowest number first: once this one has run, so has that of
# any signal which the worker was sent before.
handled = threading.Event()
signal.signal(signal.SIGWINCH, lambda *_: handled.set())

@ow.tool("look")
def look(call: ow.Call) -> ow.Receipt:
    """Say what of this process's environment a tool can see."""
    names = sorted(name for name in os.environ if name.startswith("ONCEWARD_"))
    return call.succeeded(result=names)

@ow.tool("hold")
def hold(call: ow.Call) -> ow.Receipt:
    """Say that it runs, then run until it is told that it may end."""
    running, may_end = os.environ["HOLD"].split()
    os.write(int(running), b"!")
    os.read(int(may_end), 1)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGWINCH)
    handled.wait()
    return call.succeeded(result="held")

@ow.tool("vague")
def vague(call: ow.Call) -> ow.Receipt:
    return call.unknown("nobody can tell")

@ow.tool("never")
def never(call: ow.Call) -> ow.Receipt:
    raise ow.NotExecuted("there is no paper")
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return prepare(tmp_path_factory.mktemp("controller") / "place")


@pytest.fixture(scope="module")
def hosted(place: Place) -> Iterator[Hosted]:
    with controller.hosted(place, SystemClock()) as found:
        yield found


@pytest.fixture
def tools_file(tmp_path: Path) -> Path:
    file = tmp_path / "tools.py"
    file.write_text(TOOLS, encoding="utf-8")
    return file


@pytest.fixture
def created(hosted: Hosted, tools_file: Path, request: pytest.FixtureRequest) -> "Created":
    return Created(hosted.client, tools_file, request.node.name)


class Created:
    """Makes workflows of the tools in the file, under keys that no other test has."""

    def __init__(self, client: Client, file: Path, key: str) -> None:
        self._client = client
        self._tools = {tool.name: tool for tool in registry.load(str(file))}
        self._key = key[:150]
        self._made = 0

    def __call__(self, *names: str, is_enabled: bool = True) -> WorkflowId:
        self._made += 1
        operations = [self._tools[name].operation(name) for name in names]
        view = self._client.create(f"{self._key} {self._made}", operations)
        if is_enabled:
            self._client.enable(view.id)
        return view.id


def command(file: Path, workflow: str, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "onceward_worker", "run", str(file)),
        *("--workflow", workflow),
        *more,
    ]


def environment(hosted: Hosted, token: str) -> dict[str, str]:
    return {**os.environ, "ONCEWARD_URL": hosted.url, "ONCEWARD_TOKEN": token}


def ran(arguments: Sequence[str], variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        arguments, env=variables, capture_output=True, text=True, timeout=60, check=False
    )


@contextmanager
def started(
    arguments: Sequence[str],
    variables: dict[str, str],
    *,
    stderr: int = subprocess.PIPE,
    descriptors: Sequence[int] = (),
) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        arguments,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=stderr,
        stdin=subprocess.DEVNULL,
        pass_fds=descriptors,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def status(view: WorkflowView) -> dict[str, OperationStatus]:
    return {each.name: each.status for each in view.operations}


def test_a_workflow_is_run_to_its_end_and_told_as_json(
    hosted: Hosted, place: Place, created: Created, tools_file: Path
) -> None:
    workflow = created("look")

    ended = ran(
        command(tools_file, workflow),
        environment(hosted, place.token(Role.WORKER, workflow)),
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    told = json.loads(ended.stdout)
    assert (told["workflow"], told["outcome"]) == (workflow, "done")
    # The address may be known to a tool. The token may not.
    assert told["results"] == {"look": ["ONCEWARD_URL"]}


def test_what_is_done_already_is_told_again_and_nothing_runs(
    hosted: Hosted, place: Place, created: Created, tools_file: Path
) -> None:
    workflow = created("look")
    variables = environment(hosted, place.token(Role.WORKER, workflow))
    first = ran(command(tools_file, workflow), variables)
    revision = hosted.client.workflow(workflow).revision

    again = ran(command(tools_file, workflow), variables)

    assert again.stdout == first.stdout
    assert hosted.client.workflow(workflow).revision == revision


@pytest.mark.parametrize(
    ("names", "is_enabled", "code", "reason"),
    [
        pytest.param(["look"], False, 4, "not_enabled", id="nobody-enabled-it"),
        pytest.param(["vague"], True, 3, "needs_decision", id="a-person-must-decide"),
        pytest.param(["never"], True, 3, "not_executed", id="it-did-not-happen"),
    ],
)
def test_what_stands_in_the_way_has_its_exit_code_and_words(
    hosted: Hosted,
    place: Place,
    created: Created,
    tools_file: Path,
    names: list[str],
    is_enabled: bool,
    code: int,
    reason: str,
) -> None:
    workflow = created(*names, is_enabled=is_enabled)

    ended = ran(
        command(tools_file, workflow),
        environment(hosted, place.token(Role.WORKER, workflow)),
    )

    assert ended.returncode == code
    assert json.loads(ended.stdout)["reason"] == reason
    assert ended.stderr.startswith(f"onceward-worker: stopped: {names[0]}: ")
    assert "  next: onceward workflows " in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_tool_that_is_not_here_is_not_run(
    hosted: Hosted, place: Place, created: Created, tmp_path: Path
) -> None:
    workflow = created("look")
    other = tmp_path / "other.py"
    other.write_text("import onceward as ow\n@ow.tool('other')\ndef other(call): ...\n")

    ended = ran(command(other, workflow), environment(hosted, place.token(Role.WORKER, workflow)))

    assert ended.returncode == 2
    assert json.loads(ended.stdout)["reason"] == "unknown_tool"
    assert hosted.client.workflow(workflow).operations[0].attempts == ()


def test_another_workflow_than_the_credentials_is_not_found(
    hosted: Hosted, place: Place, created: Created, tools_file: Path
) -> None:
    mine, other = created("look"), created("look")

    ended = ran(command(tools_file, other), environment(hosted, place.token(Role.WORKER, mine)))

    assert ended.returncode == 6
    assert json.loads(ended.stdout)["reason"] == "not_found"


def test_a_credential_that_nobody_knows_is_denied(
    hosted: Hosted, created: Created, tools_file: Path
) -> None:
    ended = ran(command(tools_file, created("look")), environment(hosted, "not-a-token"))

    assert ended.returncode == 4
    assert "not-a-token" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("arguments", "token", "said"),
    [
        pytest.param(["tools.py", "--workflow", "wf_1"], "t", "this is no workflow id", id="id"),
        pytest.param(
            ["tools.py", "--workflow", f"wf_{'0' * 32}"], "", "no credential", id="no-token"
        ),
        pytest.param(
            ["nowhere.py", "--workflow", f"wf_{'0' * 32}"], "t", "no such file", id="no-file"
        ),
        pytest.param(
            ["tools.py", "--workflow", f"wf_{'0' * 32}", "--url", "http://example.org"],
            "t",
            "http to another machine",
            id="a-token-in-the-clear",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(
    tools_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    token: str,
    said: str,
) -> None:
    monkeypatch.chdir(tools_file.parent)
    variables = {**os.environ, "ONCEWARD_TOKEN": token}

    ended = ran([sys.executable, "-m", "onceward_worker", "run", *arguments], variables)

    assert ended.returncode == 2
    assert ended.stderr.startswith("onceward-worker: ")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_controller_that_never_answers_is_unreachable(tools_file: Path) -> None:
    clock = ManualClock()

    class WaitsByTheClock(Drain):
        def wait(self, duration_ms: int) -> None:
            clock.sleep(duration_ms)

    drain = WaitsByTheClock()
    host = run.Host(
        # Nothing listens on the discard port.
        settings=Settings("http://127.0.0.1:9", Secret("t"), "default", None),
        spool=None,
        ports=Ports(clock=clock),
        report=Report(clock, None),
        drain=drain,
    )
    try:
        ending = run.run(host, f"wf_{'0' * 32}", registry.load(str(tools_file)), wait=timedelta(0))
    finally:
        drain.close()

    assert (ending.code, ending.reason) == (ExitCode.UNREACHABLE, "not_reached")


def test_sigterm_lets_the_tool_finish_delivers_its_receipt_and_asks_for_no_more(
    hosted: Hosted, place: Place, created: Created, tools_file: Path
) -> None:
    workflow = created("hold", "look")
    variables = environment(hosted, place.token(Role.WORKER, workflow))

    code, output, _ = signalled(command(tools_file, workflow), variables, signal.SIGTERM)

    assert code == 0
    assert json.loads(output)["outcome"] == "drained"
    view = hosted.client.workflow(workflow)
    assert status(view) == {"hold": OperationStatus.SUCCEEDED, "look": OperationStatus.PENDING}
    assert view.operations[1].attempts == ()


def test_sigterm_ends_a_wait_at_once(
    hosted: Hosted, place: Place, created: Created, tools_file: Path
) -> None:
    workflow = created("look")
    token = place.token(Role.WORKER, workflow)
    held_elsewhere(hosted, workflow, token)
    ours, theirs = pty.openpty()
    try:
        with started(
            command(tools_file, workflow, "--wait", "3600"),
            environment(hosted, token),
            stderr=theirs,
        ) as process:
            os.close(theirs)
            line = first_line(ours)
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=60)
    finally:
        os.close(ours)

    name, what, words = line.split(maxsplit=2)
    assert (name, what) == ("look", "waiting")
    assert words.startswith("another attempt holds a lease, which is over in ")
    assert process.returncode == 0
    assert json.loads(output)["outcome"] == "drained"


def test_ctrl_c_lets_the_tool_finish_too_and_is_told_from_a_clean_end(
    hosted: Hosted, place: Place, created: Created, tools_file: Path
) -> None:
    workflow = created("hold", "look")
    variables = environment(hosted, place.token(Role.WORKER, workflow))

    code, _, errors = signalled(command(tools_file, workflow), variables, signal.SIGINT)

    assert code == 130
    assert errors.startswith("onceward-worker: drained: ")
    assert status(hosted.client.workflow(workflow)) == {
        "hold": OperationStatus.SUCCEEDED,
        "look": OperationStatus.PENDING,
    }


def test_the_declared_tools_are_listed_with_what_they_promise(tools_file: Path) -> None:
    ended = ran(
        [sys.executable, "-m", "onceward_worker", "tools", str(tools_file)], dict(os.environ)
    )

    rows: list[dict[str, Any]] = json.loads(ended.stdout)
    assert [row["tool"] for row in rows] == ["look", "hold", "vague", "never"]
    assert {row["guarantee"] for row in rows} == {"at most once"}


def signalled(
    arguments: Sequence[str], variables: dict[str, str], number: signal.Signals
) -> tuple[int, str, str]:
    """Signal a worker while its tool holds still, let the tool end, and return what came of it."""
    running, says_running = os.pipe()
    may_end, says_end = os.pipe()
    held = {**variables, "HOLD": f"{says_running} {may_end}"}
    with started(arguments, held, descriptors=(says_running, may_end)) as process:
        # From here on only the worker holds these ends: should it die, nobody waits for it.
        os.close(says_running)
        os.close(may_end)
        is_running = os.read(running, 1)
        process.send_signal(number)
        os.close(says_end)
        output, errors = process.communicate(timeout=60)
    os.close(running)
    assert is_running, errors.decode()
    return process.returncode, output.decode(), errors.decode()


@contextmanager
def talking(*steps: Step) -> Iterator[tuple[Conversation, Drain, ScriptedServer]]:
    """A worker's conversation with a controller that answers by a script."""
    drain, clock = Drain(), ManualClock()
    with scripted_server(*steps) as server:
        conversation = Conversation(
            server.url,
            Secret("t"),
            workspace=WorkspaceName("default"),
            clock=clock,
            drain=drain,
            listener=Report(clock, None),
        )
        yield conversation, drain, server
        conversation.close()
    drain.close()


def answer(body: bytes) -> Answer:
    return Answer(200, body, headers=(("Content-Type", "application/json"),))


def question(number: int) -> messages.Begin:
    return messages.Begin(request_id=f"{number:020d}")


def test_a_worker_that_drains_asks_a_lost_question_to_its_end_and_no_new_one() -> None:
    workflow = WorkflowId(f"wf_{'0' * 32}")
    with talking(Reset(), answer(b'{"decision":"done","operations":1}')) as talk:
        conversation, drain, server = talk
        with pytest.raises(UnknownWriteError):
            conversation.begin(workflow, question(1))
        drain.begin()

        # It may have been granted: only the same question tells.
        assert isinstance(conversation.begin(workflow, question(1)), Done)
        with pytest.raises(Stopped) as stopped:
            conversation.begin(workflow, question(2))

        assert stopped.value.reason is LocalReason.CLOSING
        assert len(server.requests) == 2


def test_a_receipt_goes_out_without_its_question_once_the_worker_drains() -> None:
    receipt = Receipt(outcome=Outcome.SUCCEEDED, operation_id=f"op_{'0' * 32}")
    body = messages.Complete(
        attempt=1, lease_token="token", receipt=receipt, then_begin=question(1)
    )
    with talking(answer(b'{"standing":"accepted"}')) as (conversation, drain, server):
        drain.begin()

        completed = conversation.complete(WorkflowId(f"wf_{'0' * 32}"), OperationName("post"), body)

        assert completed.decision is None
        assert "then_begin" not in json.loads(server.requests[0].body)


def held_elsewhere(hosted: Hosted, workflow: WorkflowId, token: str) -> None:
    """Let another process hold the lease of the workflow's first operation."""
    somebody = HttpController(
        hosted.url, Secret(token), workspace=WorkspaceName("default"), clock=SystemClock()
    )
    granted = somebody.begin(workflow, messages.Begin(request_id="somebody-else-0000"))
    somebody.close()
    assert isinstance(granted, Execute)


def first_line(terminal: int) -> str:
    """Return what a person would read first, once it is there."""
    read = b""
    while not read.endswith(b"\n"):
        # On Linux this fails once the worker, who alone holds the other side, is gone.
        read += os.read(terminal, 1)
    return read.decode("utf-8")
