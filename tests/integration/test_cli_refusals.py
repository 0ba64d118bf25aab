"""What is refused before anything happens: in this process, against a vault or nothing at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from onceward_controller.bootstrap import open_embedded_service
from onceward_controller.cli.app import run

EVIDENCE = ("--evidence", "the mailbox shows it")
WORKFLOW = "wf_" + "0" * 32

Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Refused:
    """Run a command that must say what to do next, and give its exit code and its words."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("ONCEWARD_STORE", "ONCEWARD_KEY_FILE", "ONCEWARD_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    # Nothing listens there: what is refused beforehand does not notice.
    monkeypatch.setenv("ONCEWARD_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ONCEWARD_TOKEN", "x")

    def ran(*arguments: str) -> tuple[int, str]:
        code = run(arguments)
        out, err = capfd.readouterr()
        assert out == ""
        assert err.startswith("onceward: ")
        assert "  next: " in err
        return code, err

    return ran


@pytest.fixture
def vault(tmp_path: Path) -> str:
    open_embedded_service(tmp_path / "vault").close()
    return str(tmp_path / "vault")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"key": "a", "key": "b", "operations": []}', "json_duplicate_key"),
        ('{"key": "a", "operations": [], "colour": 1}', "body_invalid"),
        ('{"key": "a", "operations": [{"name": "b"}]}', "body_invalid"),
        ('{"key": "a", "operations": []}', "operations_limit"),
        ('{"key": "a", "operations": [{"name": "b", "tool": "t", "after": ["c"]}]}',
         "operation_unknown"),
        ('{"key": "a"', "body_not_json"),
        ("", "body_not_json"),
        (" " * 300_000, "body_too_large"),
    ],
)  # fmt: skip
def test_what_is_no_definition_is_refused(
    refused: Refused, vault: str, tmp_path: Path, body: str, said: str
) -> None:
    file = tmp_path / "definition.json"
    file.write_text(body)
    code, words = refused("--vault", vault, "workflows", "create", str(file))
    assert code == 2
    assert f"code=`{said}`" in words


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ((), "--succeeded or --not-executed"),
        (("--succeeded", "--not-executed"), "--succeeded or --not-executed"),
        (("--succeeded", "--revision", "1"), "say how you know"),
        (("--succeeded", *EVIDENCE), "on which revision"),
        (("--succeeded", "--revision", "1", "--evidence", " "), "say how you know"),
        (("--succeeded", "--revision", "1", "--evidence", "HOW YOU KNOW"), "placeholder"),
        (
            ("--succeeded", "--revision", "1", *EVIDENCE, "--effect-id", "ID AT THE DESTINATION"),
            "placeholder",
        ),
        (("--not-executed", "--effect-id", "x", "--revision", "1", *EVIDENCE), "no effect id"),
        (("--succeeded", "--result", "{", "--revision", "1", *EVIDENCE), "not JSON"),
        (("--succeeded", "--result", "NaN", "--revision", "1", *EVIDENCE), "not JSON"),
        (("--succeeded", "--revision", "1", *EVIDENCE), "no terminal to ask on"),
        (("--succeeded", "--revision", "0", *EVIDENCE), "--revision"),
    ],
)
def test_half_a_decision_is_none(refused: Refused, how: tuple[str, ...], said: str) -> None:
    code, words = refused("wf", "resolve", WORKFLOW, "send", *how)
    assert code == 2
    assert said in words


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ((), "on which revision"),
        (("--revision", "1"), "say how you know"),
        (("--revision", "1", "--evidence", "HOW YOU KNOW"), "placeholder"),
        (("--revision", "1", *EVIDENCE), "no terminal to ask on"),
    ],
)
def test_nothing_is_given_up_on_half_a_word(
    refused: Refused, how: tuple[str, ...], said: str
) -> None:
    code, words = refused("wf", "abandon", WORKFLOW, *how)
    assert code == 2
    assert said in words


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("wf", "show", "abc"), 2),
        (("wf", "show", "not-an-id"), 2),
        (("wf", "list", "--class", "blue"), 2),
        (("wf", "list", "--limit", "0"), 2),
        (("wf", "nothing"), 2),
        (("nothing",), 2),
        (("wf", "create", "no-such-file.json"), 2),
        (("credential", "create", "--role", "observer"), 2),
        (("credential", "create", "--role", "admin", "--ttl", "soon"), 2),
        (("credential", "create", "--role", "admin", "--principal", "Ann Smith"), 2),
        (("credential", "create", "--role", "worker"), 2),
        (("--profile", "../x", "status"), 2),
        (("--vault", "nowhere", "status"), 6),
        (("--vault", "nowhere", "--url", "https://a.example", "status"), 2),
        (("--url", "http://example.com", "status"), 2),
        (("serve", "--store", "s3://bucket/prefix"), 2),
        (("serve", "--store", "ftp://bucket"), 2),
        (("serve", "--store", "nowhere"), 6),
        (("serve", "--store", "nowhere", "--host", "192.0.2.1"), 2),
    ],
)
def test_every_refusal_says_what_to_do_next(
    refused: Refused, arguments: tuple[str, ...], code: int
) -> None:
    assert refused(*arguments)[0] == code


def test_a_look_that_gets_no_answer_says_nothing_of_a_write(refused: Refused) -> None:
    code, words = refused("wf", "list")
    assert (code, "code=`not_reached`" in words) == (7, True)
    assert "may have happened" not in words


def test_a_workflow_that_is_not_there_leads_to_the_listing(refused: Refused, vault: str) -> None:
    for typed in (WORKFLOW, "abcdef"):
        code, words = refused("--vault", vault, "wf", "show", typed)
        assert code == 6
        assert f"onceward --vault {vault} workflows list" in words


def test_a_password_in_an_address_is_not_repeated(refused: Refused) -> None:
    code, words = refused("--url", "https://user:password@a.example", "status")
    assert code == 2
    assert "password" not in words
