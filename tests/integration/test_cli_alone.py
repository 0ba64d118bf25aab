"""The program by itself: help, vaults on this host, signals, what it needs and what it leaves."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.operator_program import Program

HELP = """\
Usage: onceward [OPTIONS] COMMAND [ARGS]...

  Governed tool calls: what is about to happen is durable before it happens,
  and an unknown outcome is never guessed.

Options:
  --version         Say which version.
  --url URL         The controller's address [env: ONCEWARD_URL].
  --vault DIR       Work on the vault in DIR, without a server.
  --workspace NAME  The workspace [env: ONCEWARD_WORKSPACE; `default`].
  --json            Data as JSON, on a terminal too.
  -q, --quiet       Nothing but data and errors.
  -v, --verbose     Say more about what is done.
  -h, --help        Show this message and exit.

Commands:
  init        Make a vault, its key file and an administrator's token.
  up          Run a controller here: embedded store, loopback, until Ctrl-C.
  serve       Run a controller on a vault that `init` made.
  status      Show controller, store, clock and what needs you.
  doctor      Examine store, clock, key file, disk and packages.
  demo        See it work: a worker is killed, and nothing happens twice.
  credential  Tokens for operators, workers and administrators.
  workflows   See what there is and what it asks of you, and answer.

  New here? `onceward demo crash`. At three in the morning: `onceward status`.
"""

_HEAVY = ("litestar", "boto3", "uvicorn", "sqlite3", "rich", "cryptography", "urllib3")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --------------------------------------------------------------------------------------------- help


def test_help_fits_a_terminal_and_names_every_command(program: Program) -> None:
    ran = program.run("--help")
    assert (ran.code, ran.out, ran.err) == (0, HELP, "")


def test_without_a_command_there_is_help_and_a_usage_code(program: Program) -> None:
    ran = program.run()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == HELP


def test_the_version_is_said(program: Program) -> None:
    ran = program.run("--version")
    assert (ran.code, ran.out.startswith("onceward 0.")) == (0, True)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from onceward_controller.cli.app import run; run(['--help']);"
        f"print([name for name in {_HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stderr == "[]\n"


def test_without_typer_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['typer'] = None\nfrom onceward_controller.cli import main\nmain()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert 'pip install "onceward[controller]"' in ran.stderr
    assert "Traceback" not in ran.stderr


# --------------------------------------------------------------------------------------------- init


def test_init_makes_a_vault_a_key_and_a_token(program: Program) -> None:
    ran = program.run("init", "--store", "vault")
    assert ran.code == 0, ran.err
    assert ran.data["token"].startswith("owa_")
    assert "next: onceward up --data vault" in ran.err
    assert mode(program.home / "vault") == 0o700
    assert mode(program.home / "vault" / "vault.key") == 0o600
    assert mode(program.home / "vault" / "vault.db") == 0o600


def test_init_overwrites_nothing(program: Program) -> None:
    program.run("init", "--store", "vault")
    key = (program.home / "vault" / "vault.key").read_bytes()
    again = program.run("init", "--store", "vault")
    assert (again.code, again.out) == (5, "")
    assert "there is a vault in this store already" in again.err
    assert (program.home / "vault" / "vault.key").read_bytes() == key


def test_init_can_write_the_token_unshown(program: Program) -> None:
    ran = program.run("init", "--store", "vault", "--token-file", "admin.token")
    assert "owa_" not in ran.out + ran.err
    assert (program.home / "admin.token").read_text().startswith("owa_")
    assert mode(program.home / "admin.token") == 0o600


def test_init_makes_nothing_when_the_token_has_no_place(program: Program) -> None:
    (program.home / "admin.token").write_text("mine")
    ran = program.run("init", "--store", "vault", "--token-file", "admin.token")
    assert ran.code == 5
    assert not (program.home / "vault").exists()
    assert (program.home / "admin.token").read_text() == "mine"


# ---------------------------------------------------------------------------- a vault on this host


def test_a_vault_is_worked_on_without_a_server(program: Program) -> None:
    program.run("init", "--store", "vault", "--token-file", "token")
    body = '{"key": "k", "operations": [{"name": "a", "tool": "t"}]}'
    made = program.run("--vault", "vault", "wf", "create", "-", stdin=body)
    assert made.code == 0, made.err
    ran = program.run("wf", "enable", made.data["id"], "--yes", "--vault", "vault")
    assert ran.data["status"] == "enabled"
    changes = program.run("wf", "history", made.data["id"], "--vault", "vault").data["changes"]
    assert all(change["actor"].startswith("host") for change in changes)
    assert program.run("status", "--vault", "vault").data["counts"]["ready"] == 1


def test_looking_at_a_folder_makes_no_vault_in_it(program: Program) -> None:
    for arguments in (("status", "--vault", "empty"), ("serve", "--store", "empty")):
        ran = program.run(*arguments)
        assert (ran.code, "there is no vault" in ran.err) == (6, True)
    assert program.run("doctor", "--store", "empty").code == 1
    assert not (program.home / "empty").exists()


def test_a_key_file_that_others_can_read_locks_the_vault(program: Program) -> None:
    program.run("init", "--store", "vault", "--token-file", "token")
    (program.home / "vault" / "vault.key").chmod(0o644)
    ran = program.run("status", "--vault", "vault")
    assert (ran.code, "chmod 600" in ran.err) == (8, True)


def test_doctor_finds_nothing_wrong_with_a_good_vault(program: Program) -> None:
    program.run("init", "--store", "vault", "--token-file", "token")
    ran = program.run("doctor", "--store", "vault")
    assert ran.code == 0, ran.err
    assert all(finding["ok"] for finding in ran.data["findings"])
    names = [finding["name"] for finding in ran.data["findings"]]
    assert names[:5] == ["versions", "key file", "disk", "clock", "vault"]
    assert "store: race" in names


def test_doctor_names_what_is_wrong_and_its_fix(program: Program) -> None:
    program.run("init", "--store", "vault", "--token-file", "token")
    (program.home / "vault" / "vault.key").write_bytes(b"x" * 31)
    ran = program.run("doctor", "--store", "vault")
    wrong = [finding for finding in ran.data["findings"] if not finding["ok"]]
    assert (ran.code, [finding["name"] for finding in wrong]) == (1, ["key file", "vault"])
    assert all(finding["fix"] for finding in wrong)
    assert "onceward: key file: key file is damaged" in ran.err


# ------------------------------------------------------------------------------------- up and serve


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
        env={**os.environ, "XDG_CONFIG_HOME": str(program.home)},
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


def test_a_controller_elsewhere_that_gives_no_answer_is_unreachable(program: Program) -> None:
    ran = program.telling(ONCEWARD_TOKEN="x").run("--url", "http://127.0.0.1:9", "wf", "list")
    assert (ran.code, "code=`unreachable`" in ran.err) == (7, True)
    assert "may have happened" not in ran.err


def test_a_token_is_not_sent_in_the_clear_to_another_machine(program: Program) -> None:
    ran = program.telling(ONCEWARD_TOKEN="x").run("--url", "http://example.com", "wf", "list")
    assert (ran.code, "use https" in ran.err) == (2, True)


# -------------------------------------------------------------------------------- pipe and terminal


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
