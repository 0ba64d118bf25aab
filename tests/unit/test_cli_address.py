from pathlib import Path

import pytest

from onceward.exit_codes import ExitCode
from onceward_controller.cli import address, private_file, profile
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.private_file import PrivateFileError
from onceward_controller.cli.profile import Profile
from onceward_controller.cli.refusal import Refusal
from tests.support.ports import ManualClock

KNOWN = "http://127.0.0.1:8686"
ELSEWHERE = "https://elsewhere.example"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ONCEWARD_URL", raising=False)
    monkeypatch.delenv("ONCEWARD_TOKEN", raising=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of a controller that has a profile; whether it runs is for the test to say."""
    folder = tmp_path / "data"
    private_file.write(folder / profile.TOKEN_NAME, "from-the-file\n", replace=False)
    profile.save("default", Profile(url=KNOWN, data=str(folder), token_expires_ms=0))
    return folder


def test_a_running_controller_is_found_by_its_profile(data: Path) -> None:
    with profile.serving(data, ManualClock()):
        found = address.find(Invocation())
    assert (found.url, found.token.reveal()) == (KNOWN, "from-the-file")


def test_a_controller_that_does_not_run_is_told_no_token(data: Path) -> None:
    with pytest.raises(Refusal, match="not running; nothing was sent") as refused:
        address.find(Invocation())
    assert refused.value.code is ExitCode.UNREACHABLE
    assert f"onceward up --data {data}" in refused.value.following[0]


def test_the_profiles_token_goes_nowhere_else(data: Path) -> None:
    with (
        profile.serving(data, ManualClock()),
        pytest.raises(Refusal, match="no token for this address") as refused,
    ):
        address.find(Invocation(url=ELSEWHERE))
    assert refused.value.code is ExitCode.PAUSED_OR_DENIED


def test_the_profiles_own_address_may_be_spelled_out(data: Path) -> None:
    with profile.serving(data, ManualClock()):
        assert address.find(Invocation(url=f"{KNOWN}/")).token.reveal() == "from-the-file"


def test_the_environment_comes_before_the_profile(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCEWARD_URL", ELSEWHERE)
    monkeypatch.setenv("ONCEWARD_TOKEN", "from-the-environment")
    found = address.find(Invocation())
    assert (found.url, found.token.reveal()) == (ELSEWHERE, "from-the-environment")


def test_an_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCEWARD_URL", KNOWN)
    monkeypatch.setenv("ONCEWARD_TOKEN", "from-the-environment")
    assert address.find(Invocation(url=ELSEWHERE)).url == ELSEWHERE


def test_a_token_that_is_typed_is_used_where_none_is_known() -> None:
    found = address.find(Invocation(url=ELSEWHERE), typed=lambda: "typed")
    assert found.token.reveal() == "typed"


def test_a_token_from_stdin_comes_before_a_known_one(data: Path) -> None:
    found = address.find(Invocation(), typed=lambda: "typed", typed_first=True)
    assert (found.url, found.token.reveal()) == (KNOWN, "typed")


def test_without_any_address_both_ways_are_named() -> None:
    with pytest.raises(Refusal, match="no controller is known") as refused:
        address.find(Invocation())
    assert "onceward up" in refused.value.following[0]
    assert "--url" in refused.value.following[1]


def test_a_token_file_that_others_can_read_is_not_used(data: Path) -> None:
    (data / profile.TOKEN_NAME).chmod(0o644)
    with profile.serving(data, ManualClock()), pytest.raises(PrivateFileError, match="chmod 600"):
        address.find(Invocation())
