"""The program by itself: help, and vaults on this host."""

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
