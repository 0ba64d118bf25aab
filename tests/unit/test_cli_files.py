"""The profile, the token's file, and the lock that vouches for them."""

import os
import stat
from pathlib import Path

import pytest

from onceward_controller.cli import private_file, profile
from onceward_controller.cli.private_file import PrivateFileError
from onceward_controller.cli.profile import InUseError, Profile
from tests.support.ports import ManualClock

PROFILE = Profile(url="http://127.0.0.1:8686", data="/somewhere", token_expires_ms=1)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "token"
    private_file.write(path, "secret\n", replace=False)
    assert private_file.read(path) == "secret\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["token"]


def test_a_private_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "token"
    private_file.write(path, "first", replace=False)
    with pytest.raises(PrivateFileError, match="not overwritten"):
        private_file.write(path, "second", replace=False)
    assert private_file.read(path) == "first"
    private_file.write(path, "third", replace=True)
    assert private_file.read(path) == "third"
    assert [each.name for each in tmp_path.iterdir()] == ["token"]


def test_there_may_be_no_private_file(tmp_path: Path) -> None:
    assert private_file.read(tmp_path / "token") is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_others_can_touch_is_not_believed(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "token"
    private_file.write(path, "secret", replace=False)
    path.chmod(mode)
    with pytest.raises(PrivateFileError, match="chmod 600"):
        private_file.read(path)


def test_neither_a_link_nor_a_pipe_is_read(tmp_path: Path) -> None:
    private_file.write(tmp_path / "token", "secret", replace=False)
    (tmp_path / "link").symlink_to(tmp_path / "token")
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(PrivateFileError, match="cannot be read"):
        private_file.read(tmp_path / "link")
    with pytest.raises(PrivateFileError, match="not a regular file"):
        private_file.read(tmp_path / "pipe")


def test_a_profile_comes_back_as_it_was_saved() -> None:
    profile.save("default", PROFILE)
    assert profile.load("default") == PROFILE
    assert profile.load("other") is None


def test_a_profile_cannot_be_named_out_of_its_folder() -> None:
    with pytest.raises(ValueError, match="not a name of a profile"):
        profile.load("../default")


def test_a_damaged_profile_says_how_to_mend_it() -> None:
    private_file.write(profile.path_of("default"), "{", replace=False)
    with pytest.raises(PrivateFileError, match="remove it and start"):
        profile.load("default")


def test_a_folder_is_served_while_the_lock_is_held(tmp_path: Path) -> None:
    assert not profile.is_served(tmp_path)
    with profile.serving(tmp_path, ManualClock()):
        assert profile.is_served(tmp_path)
    assert not profile.is_served(tmp_path)


def test_a_folder_is_served_by_one_process(tmp_path: Path) -> None:
    clock = ManualClock()
    with (
        profile.serving(tmp_path, clock),
        pytest.raises(InUseError, match="another `onceward up`"),
        profile.serving(tmp_path, clock),
    ):
        raise AssertionError("two hold one lock")
    assert clock.slept_ms > 0
