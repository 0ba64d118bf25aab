import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from onceward.sealing import read_header
from onceward_controller.vault.keys.key_file import (
    UnlockError,
    check_key_file,
    create_key_file,
    read_key_file,
)
from onceward_controller.vault.keys.unlockers import (
    FileUnlocker,
    Unlocker,
    Wrapping,
    unwrap_root,
    wrap_root,
)

SECRET = bytes(range(32))
ROOT = b"r" * 32
RANDOM = b"R" * 32
VAULT = b"vault-1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.key"


@pytest.fixture
def key_file(path: Path) -> Path:
    create_key_file(path, SECRET)
    return path


@pytest.fixture
def odd_umask() -> Iterator[None]:
    before = os.umask(0o277)
    yield
    os.umask(before)


# ---------------------------------------------------------------------------------------- key files


def test_a_key_file_gives_back_its_secret(key_file: Path) -> None:
    assert read_key_file(key_file) == SECRET


def test_a_key_file_is_created_for_its_owner_alone(key_file: Path) -> None:
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert [entry.name for entry in key_file.parent.iterdir()] == ["vault.key"]


def test_a_key_file_has_its_mode_under_any_umask(path: Path, odd_umask: None) -> None:
    create_key_file(path, SECRET)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_file_is_never_overwritten(key_file: Path) -> None:
    with pytest.raises(UnlockError, match="never overwritten"):
        create_key_file(key_file, b"x" * 32)

    assert read_key_file(key_file) == SECRET


def test_a_key_file_is_not_created_through_a_link(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UnlockError, match="never overwritten"):
        create_key_file(path, SECRET)

    assert not (tmp_path / "elsewhere").exists()


def test_a_key_file_needs_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UnlockError, match="cannot be created: No such file or directory"):
        create_key_file(tmp_path / "missing" / "vault.key", SECRET)


def test_a_key_file_that_cannot_be_written_in_full_is_removed(path: Path) -> None:
    import resource

    # No file of this process may grow beyond 16 bytes for a moment; Python ignores SIGXFSZ.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        with pytest.raises(UnlockError, match="cannot be written: File too large"):
            create_key_file(path, SECRET)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert not path.exists()


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_file_holds_32_bytes(path: Path, size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        create_key_file(path, bytes(size))

    assert not path.exists()


def test_a_missing_key_file_is_reported_with_its_path(path: Path) -> None:
    with pytest.raises(UnlockError, match=r"cannot be read: No such file .* path=`.*vault\.key`"):
        read_key_file(path)


def test_a_link_to_a_key_file_is_refused(key_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.key"
    link.symlink_to(key_file)

    with pytest.raises(UnlockError, match="symbolic link"):
        read_key_file(link)


def test_a_pipe_in_place_of_a_key_file_is_refused_at_once(path: Path) -> None:
    os.mkfifo(path, 0o600)

    with pytest.raises(UnlockError, match="not a regular file"):
        read_key_file(path)


def test_a_directory_in_place_of_a_key_file_is_refused(path: Path) -> None:
    path.mkdir(0o700)

    with pytest.raises(UnlockError, match="not a regular file"):
        read_key_file(path)


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o660, 0o666, 0o777])
def test_a_key_file_open_to_others_is_refused_with_the_remedy(key_file: Path, mode: int) -> None:
    key_file.chmod(mode)

    with pytest.raises(UnlockError, match=f"chmod 600 {key_file}"):
        read_key_file(key_file)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_what_the_owner_may_do_is_the_owners_affair(key_file: Path, mode: int) -> None:
    key_file.chmod(mode)

    assert read_key_file(key_file) == SECRET


def test_the_remedy_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "my key; rm -rf"
    create_key_file(path, SECRET)
    path.chmod(0o644)

    with pytest.raises(UnlockError, match=f"chmod 600 '{path}'"):
        read_key_file(path)


def test_a_key_file_of_another_user_is_refused(key_file: Path) -> None:
    owner = key_file.stat().st_uid

    with pytest.raises(UnlockError, match=f"belongs to another user.*chown {owner + 1} "):
        check_key_file(key_file, key_file.stat(), reader=owner + 1)


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_key_file_of_another_size_is_refused(key_file: Path, size: int) -> None:
    key_file.write_bytes(bytes(size))

    with pytest.raises(UnlockError, match=f"size=`{size}` expected=`32`"):
        read_key_file(key_file)


# ---------------------------------------------------------------------------------------- wrappings


def test_the_file_unlocker_opens_what_it_wrapped(key_file: Path) -> None:
    unlocker: Unlocker = FileUnlocker(key_file)

    wrapping = unlocker.wrap(ROOT, vault_id=VAULT, random=RANDOM)

    assert unlocker.unwrap(wrapping, vault_id=VAULT) == ROOT
    assert unlocker.kind == wrapping.kind == "file"


def test_a_wrapping_shows_neither_root_nor_secret(key_file: Path) -> None:
    wrapping = FileUnlocker(key_file).wrap(ROOT, vault_id=VAULT, random=RANDOM)

    assert ROOT[:8] not in wrapping.sealed
    assert SECRET[:8] not in wrapping.sealed
    assert read_header(wrapping.sealed).revision == 0


def test_another_key_file_does_not_open(key_file: Path, tmp_path: Path) -> None:
    wrapping = FileUnlocker(key_file).wrap(ROOT, vault_id=VAULT, random=RANDOM)
    other = tmp_path / "other.key"
    create_key_file(other, b"x" * 32)

    with pytest.raises(UnlockError, match="this secret does not open this vault"):
        FileUnlocker(other).unwrap(wrapping, vault_id=VAULT)


def test_an_unlocker_needs_its_file_each_time(key_file: Path) -> None:
    unlocker = FileUnlocker(key_file)
    wrapping = unlocker.wrap(ROOT, vault_id=VAULT, random=RANDOM)
    key_file.unlink()

    with pytest.raises(UnlockError, match="cannot be read"):
        unlocker.unwrap(wrapping, vault_id=VAULT)


def wrapped(parameters: bytes = b"m=64,t=3") -> Wrapping:
    return wrap_root(
        ROOT, SECRET, kind="passphrase", vault_id=VAULT, random=RANDOM, parameters=parameters
    )


def test_a_wrapping_that_needs_parameters_opens_with_them() -> None:
    assert unwrap_root(wrapped(), SECRET, kind="passphrase", vault_id=VAULT) == ROOT
    assert wrapped().parameters == b"m=64,t=3"


@pytest.mark.parametrize(
    ("wrapping", "kind", "vault_id"),
    [
        pytest.param(replace(wrapped(), parameters=b"m=1,t=1"), "passphrase", VAULT, id="cheaper"),
        pytest.param(replace(wrapped(), parameters=b""), "passphrase", VAULT, id="no-parameters"),
        pytest.param(wrapped(), "file", VAULT, id="another-kind-of-unlocker"),
        pytest.param(wrapped(), "passphrase", b"vault-2", id="another-vault"),
        pytest.param(replace(wrapped(), sealed=b""), "passphrase", VAULT, id="blank"),
    ],
)
def test_a_wrapping_opens_only_as_it_was_made(
    wrapping: Wrapping, kind: str, vault_id: bytes
) -> None:
    with pytest.raises(UnlockError, match=f"unlocker=`{kind}`"):
        unwrap_root(wrapping, SECRET, kind=kind, vault_id=vault_id)


def test_one_vault_has_several_ways_in() -> None:
    first = wrap_root(ROOT, SECRET, kind="file", vault_id=VAULT, random=RANDOM)
    second = wrap_root(ROOT, b"p" * 32, kind="passphrase", vault_id=VAULT, random=RANDOM)

    assert unwrap_root(first, SECRET, kind="file", vault_id=VAULT) == ROOT
    assert unwrap_root(second, b"p" * 32, kind="passphrase", vault_id=VAULT) == ROOT
