"""A person gets tables, colours and questions; a program gets JSON and is never asked."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.operator_program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def vault(program: Program) -> Program:
    program.run("init", "--store", "vault", "--token-file", "token")
    body = '{"key": "k", "label": "Monday", "operations": [{"name": "a", "tool": "t"}]}'
    assert program.run("--vault", "vault", "wf", "create", "-", stdin=body).code == 0
    return program


def test_a_person_gets_a_table_and_a_program_gets_json(vault: Program) -> None:
    seen = vault.on_terminal("--vault", "vault", "wf", "list")
    heading, row = seen.plain.splitlines()
    assert heading.split() == ["id", "workflow", "what", "to", "do", "done", "when"]
    assert "Monday    draft: review, enable  0/1" in row
    forced = vault.on_terminal("wf", "list", "--json", "--vault", "vault")
    assert forced.plain.startswith('{\n  "rows": [')


def test_colours_are_left_out_where_no_color_says_so(vault: Program) -> None:
    bold = "\x1b[1m"
    listed = vault.run("--vault", "vault", "wf", "list").data["rows"]
    arguments = ("--vault", "vault", "wf", "show", listed[0]["id"])
    assert bold in vault.on_terminal(*arguments).out
    plain = vault.telling(NO_COLOR="1", TERM="dumb").on_terminal(*arguments)
    assert "\x1b[" not in plain.out


def test_enabling_shows_what_will_be_done_and_asks(vault: Program) -> None:
    workflow = vault.run("--vault", "vault", "wf", "list").data["rows"][0]["id"]
    enable = ("--vault", "vault", "wf", "enable", workflow)
    refused = vault.on_terminal(*enable, typed="n\n")
    assert refused.code == 1
    assert "neither ask its destination nor repeat safely" in refused.plain
    assert "not confirmed; nothing was done" in refused.plain
    agreed = vault.on_terminal(*enable, typed="y\n")
    assert agreed.code == 0
    assert "Ready: `a` goes on as soon as a worker asks." in agreed.plain


def test_a_script_is_not_asked(vault: Program) -> None:
    workflow = vault.run("--vault", "vault", "wf", "list").data["rows"][0]["id"]
    ran = vault.run("--vault", "vault", "wf", "enable", workflow, stdin="y\n")
    assert (ran.code, "next: say it in advance: --yes" in ran.err) == (2, True)


def test_ctrl_c_at_a_question_changes_nothing(vault: Program) -> None:
    workflow = vault.run("--vault", "vault", "wf", "list").data["rows"][0]["id"]
    ran = vault.on_terminal("--vault", "vault", "wf", "enable", workflow, interrupt_at="[y/N]")
    assert ran.code == 130
    assert "Traceback" not in ran.plain
    assert vault.run("--vault", "vault", "wf", "show", workflow).data["status"] == "draft"


def test_a_reader_that_goes_away_is_no_traceback(vault: Program) -> None:
    command = f"{sys.executable} -m onceward_controller --vault vault wf list | true"
    ran = subprocess.run(
        ["sh", "-c", command],
        cwd=vault.home,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stderr == ""


def test_quiet_leaves_errors_and_data(vault: Program) -> None:
    ran = vault.run("-q", "--vault", "vault", "wf", "list", "--workspace", "empty")
    assert (ran.code, ran.data["rows"], ran.err) == (0, [], "")
    assert vault.run("-q", "--vault", "vault", "wf", "show", "abcdef").err.startswith("onceward: ")
