"""The reference of the program says what the program does."""

import re
from pathlib import Path

import msgspec
import pytest

from onceward.exit_codes import CODES, ExitCode
from onceward.wire import definitions, messages
from onceward.wire.definitions import OperationDefinition
from onceward_controller.cli import connection, profile
from onceward_controller.cli.app import run

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "cli.md").read_text()
HOW_TO = (DOCS / "how-to" / "decide-on-an-uncertain-operation.md").read_text()
_ROW = re.compile(r"^\| (\d+) \| [^|]+ \| (.*)\|$", re.MULTILINE)
_COMMANDS = re.compile(r"^\| (`onceward .*?) \|", re.MULTILINE)


def test_every_exit_code_is_explained_with_its_refusals() -> None:
    told = {
        int(code): set(re.findall(r"`(\w+)`", codes)) for code, codes in _ROW.findall(REFERENCE)
    }
    assert told == {
        int(code): {str(each) for each, of in CODES.items() if of is code} for code in ExitCode
    }


def test_every_command_that_is_told_of_exists(capfd: pytest.CaptureFixture[str]) -> None:
    told = [
        words.split()
        for cell in _COMMANDS.findall(REFERENCE)
        for words in re.findall(r"`onceward ([a-z -]+)", cell)
    ]
    assert len(told) == 16
    for words in told:
        assert run([*words, "--help"]) == 0
        shown = " ".join(capfd.readouterr().out.split())
        assert shown.startswith(f"Usage: onceward {' '.join(words)} ")


def test_the_definition_in_the_reference_is_one() -> None:
    [written] = re.findall(r"```json\n(.*?)```", REFERENCE, re.DOTALL)
    definition = msgspec.json.decode(written, type=messages.CreateWorkflow)
    assert definitions.resolve(definition.operations).operations


def test_the_defaults_in_the_reference_are_the_real_ones() -> None:
    bare = OperationDefinition(name="a", tool="b")
    assert f"| {bare.timeout_ms:,}; {bare.lease_ms:,} |" in REFERENCE
    assert f"lease | {bare.max_in_flight_ms:,} |" in REFERENCE
    assert f"required; `{bare.version}`" in REFERENCE


def test_where_things_lie_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    home = Path.home()
    assert profile.default_data() == home / ".local/share/onceward"
    assert profile.path_of("default") == home / ".config/onceward/profiles/default.json"
    assert "~/.local/share/onceward" in REFERENCE
    assert "onceward/profiles/default.json" in REFERENCE
    assert connection.host_principal().startswith("host")


def test_the_refusals_of_the_guide_are_codes() -> None:
    told = set(re.findall(r"^\| `(\w+)`", HOW_TO, re.MULTILINE))
    assert told <= {str(code) for code in CODES}
    assert len(told) == 6
