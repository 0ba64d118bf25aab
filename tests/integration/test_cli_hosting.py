"""``up`` and ``serve``: what they leave behind, and how they end."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.operator_program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_up_makes_a_vault_and_leaves_a_way_in_that_only_its_owner_can_use(
    program: Program,
) -> None:
    with program.up():
        assert program.run("status").code == 0
    profile = program.home / "config/onceward/profiles/default.json"
    assert [mode(path) for path in (program.folder, profile)] == [0o700, 0o600]
    files = {path.name: mode(path) for path in program.folder.iterdir()}
    assert set(files.values()) == {0o600}
    assert {"vault.db", "vault.key", "admin.token"} <= set(files)


def test_up_shows_its_token_to_a_person_and_to_no_log(program: Program) -> None:
    ready = "another terminal: onceward status"
    first = program.on_terminal("up", "--port", "0", interrupt_at=ready)
    token = (program.folder / "admin.token").read_text().strip()
    assert token in first.plain
    second = program.on_terminal("up", "--port", "0", interrupt_at=ready)
    assert token not in second.plain
    assert (program.folder / "admin.token").read_text().strip() == token


def test_ctrl_c_ends_up_in_order(program: Program) -> None:
    ran = program.on_terminal("up", "--port", "0", interrupt_at="another terminal: onceward status")
    assert ran.code == 130
    assert ran.plain.endswith("controller ended; everything is durable\nonceward: interrupted\n")
    assert "Traceback" not in ran.plain


def test_sigterm_ends_up_in_order(program: Program) -> None:
    with program.up() as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_controller_that_was_killed_is_not_believed_to_run(program: Program) -> None:
    with program.up() as process:
        process.kill()
        process.wait(30)
        ran = program.run("status")
    assert ran.code == 7
    assert "not running; nothing was sent" in ran.err
    assert f"next: start it: onceward up --data {program.folder}" in ran.err


def test_one_folder_is_served_by_one_up(program: Program) -> None:
    with program.up():
        ran = program.run("up", "--port", "0")
    assert (ran.code, "another `onceward up`" in ran.err) == (5, True)


def test_a_running_controllers_profile_is_not_taken_from_it(program: Program) -> None:
    with program.up():
        ran = program.run("up", "--port", "0", "--data", "other")
        assert (ran.code, "--profile NAME" in ran.err) == (5, True)
        with program.up("--data", "other", "--profile", "two"):
            assert program.run("status", "--profile", "two").code == 0


def test_a_port_that_is_taken_is_told_in_words(program: Program) -> None:
    with program.up():
        url = program.run("status").data["controller"]
        port = url.rpartition(":")[2]
        ran = program.run("up", "--data", "other", "--profile", "two", "--port", port)
    assert (ran.code, ran.out) == (1, "")
    assert "address already in use" in ran.err
    assert "--port 0" in ran.err


def test_serve_hosts_what_init_made_until_it_is_told_to_end(program: Program) -> None:
    program.run("init", "--store", "vault", "--token-file", "token")
    token = (program.home / "token").read_text().strip()
    with subprocess.Popen(
        [sys.executable, "-m", "onceward_controller", "serve", "--store", "vault", "--port", "0"],
        cwd=program.home,
        env=program.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[1].rstrip(",")
            admin = program.telling(ONCEWARD_URL=url, ONCEWARD_TOKEN=token)
            assert admin.run("status").data["controller"] == url
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_serve_says_which_setting_is_missing(program: Program) -> None:
    ran = program.run("serve", "--store", "s3://bucket/prefix")
    assert (ran.code, "--key-file" in ran.err) == (2, True)
