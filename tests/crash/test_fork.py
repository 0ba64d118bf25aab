"""A client that was opened before a fork is refused in the child, at once and in words.

A server that loads its application before it forks, and ``multiprocessing`` with its "fork" method,
hand one client to several processes. They then share its connections: two requests mix on one
socket, each process may read the other's reply, and both may carry out the same grant. The client's
threads, on the other hand, do not exist in the child, so that an errand handed to one of them waits
for ever. Neither can be mended from inside: the child opens a client of its own.
"""

import multiprocessing
import multiprocessing.connection
from collections.abc import Callable
from pathlib import Path

import pytest

import onceward as ow
from tests.support.http_controller import running_controller

IN_TIME_S = 20
"""Far more than a refusal takes; who is not back by then waits for ever."""


@ow.tool("noop")
def noop(call: ow.Call) -> ow.Receipt:
    return call.succeeded(effect_id="none")


def test_an_http_client_from_before_a_fork_sends_nothing_on_its_parents_connection(
    tmp_path: Path,
) -> None:
    with running_controller(tmp_path) as (url, token), ow.Client(url, token) as client:
        workflow = client.create("work", [noop.operation("act")]).id

        said = _in_a_fork(lambda: client.workflow(workflow).key)

        assert said.startswith("refused"), said


@pytest.mark.parametrize("kind", ["embedded", "http"])
def test_a_client_that_has_run_before_a_fork_refuses_to_run_in_the_child(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "http").mkdir()
    with running_controller(tmp_path / "http") as (url, token):
        opened = ow.Client(url, token) if kind == "http" else ow.Client.embedded(tmp_path / "here")
        with opened as client:
            first, second = (
                client.create(key, [noop.operation("act")]).id for key in ("first", "second")
            )
            for each in (first, second):
                client.enable(each)
            client.run(first, [noop])

            said = _in_a_fork(lambda: str(client.run(second, [noop])))

            assert said.startswith("refused"), said
            assert client.run(second, [noop]) == {"act": None}


def _in_a_fork(do: Callable[[], str]) -> str:
    """Return what ``do`` came to in a forked child: its value, its refusal, or silence."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_say, args=(do, theirs))
    child.start()
    try:
        return ours.recv() if ours.poll(IN_TIME_S) else "silence: it waits for ever"
    finally:
        child.kill()
        child.join()
        child.close()
        ours.close()
        theirs.close()


def _say(do: Callable[[], str], theirs: "multiprocessing.connection.Connection") -> None:
    try:
        said = f"answered {do()}"
    except Exception as error:  # noqa: BLE001 - whichever it is, it is what the test asks for
        said = f"refused {type(error).__name__}: {error}"
    theirs.send(said)
