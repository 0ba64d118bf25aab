"""The directory as a destination: once, whole, never over another's file."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onceward.destinations import (
    DifferentDocumentError,
    DirectoryPublisher,
    Published,
    UnsafeDirectoryError,
)
from onceward.destinations.directory import DOCUMENT_BYTES_MAX
from onceward.destinations.folder import TEMPORARIES_MAX, Folder

OPERATION = "op_7c2e0000000000000000000000000000"
DOCUMENT = b"# Hello\n" * 1000

# The audit hook runs inside os.link, before the system call: the document is written, its name is
# not there yet. The child says so and then waits for a byte that never comes.
STOPS_BEFORE_THE_LINK = """
import os, sys
from onceward.destinations import DirectoryPublisher

ready, never, path, unnamed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "1"

def stop(event, arguments):
    if event == "os.link":
        os.write(ready, b"r")
        os.read(never, 1)

sys.addaudithook(stop)
DirectoryPublisher(path, unnamed_files=unnamed).publish(sys.argv[5], sys.stdin.buffer.read())
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "published"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture(params=[True, False], ids=["unnamed-file", "temporary"])
def unnamed_files(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def publisher(directory: Path, unnamed_files: bool) -> DirectoryPublisher:
    return DirectoryPublisher(directory, unnamed_files=unnamed_files)


@contextmanager
def stopped_before_the_link(
    directory: Path, *, unnamed_files: bool
) -> Iterator[subprocess.Popen[bytes]]:
    ready_read, ready_write = os.pipe()
    never_read, never_write = os.pipe()
    argv = [str(ready_write), str(never_read), str(directory), str(int(unnamed_files)), OPERATION]
    child = subprocess.Popen(
        [sys.executable, "-c", STOPS_BEFORE_THE_LINK, *argv],
        stdin=subprocess.PIPE,
        pass_fds=(ready_write, never_read),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        os.close(ready_write)
        assert child.stdin is not None
        with child.stdin as stdin:
            stdin.write(DOCUMENT)
        assert os.read(ready_read, 1) == b"r", "the child ended before it linked"
        yield child
    finally:
        child.kill()
        child.wait()
        for descriptor in (ready_read, never_read, never_write):
            os.close(descriptor)


def test_a_published_document_is_found_with_its_digest_and_size(
    publisher: DirectoryPublisher, directory: Path
) -> None:
    expected = Published(
        path=directory / f"{OPERATION}.md",
        sha256=hashlib.sha256(DOCUMENT).hexdigest(),
        bytes=len(DOCUMENT),
    )
    assert publisher.publish(OPERATION, DOCUMENT, ".md") == expected
    assert publisher.find(OPERATION, ".md") == expected
    assert expected.path.read_bytes() == DOCUMENT


def test_publishing_leaves_one_file_that_only_its_owner_reads(
    publisher: DirectoryPublisher, directory: Path
) -> None:
    publisher.publish(OPERATION, DOCUMENT)
    [only] = directory.iterdir()
    assert only.stat().st_mode & 0o777 == 0o600
    assert only.stat().st_nlink == 1


def test_nothing_is_found_before_anything_was_published(publisher: DirectoryPublisher) -> None:
    assert publisher.find(OPERATION) is None


def test_an_empty_document_can_be_published(publisher: DirectoryPublisher) -> None:
    assert publisher.publish(OPERATION, b"").bytes == 0
    assert publisher.find(OPERATION) == publisher.publish(OPERATION, b"")


def test_the_same_document_again_is_the_same_receipt_and_the_same_file(
    publisher: DirectoryPublisher,
) -> None:
    first = publisher.publish(OPERATION, DOCUMENT)
    inode = first.path.stat().st_ino
    assert publisher.publish(OPERATION, DOCUMENT) == first
    assert first.path.stat().st_ino == inode


def test_another_document_under_the_same_operation_is_a_conflict_and_replaces_nothing(
    publisher: DirectoryPublisher, directory: Path
) -> None:
    publisher.publish(OPERATION, DOCUMENT)
    with pytest.raises(DifferentDocumentError, match=OPERATION):
        publisher.publish(OPERATION, DOCUMENT[:-1])
    [only] = directory.iterdir()
    assert only.read_bytes() == DOCUMENT


def test_both_ways_of_writing_meet_under_one_name(directory: Path) -> None:
    first = DirectoryPublisher(directory, unnamed_files=True).publish(OPERATION, DOCUMENT)
    assert DirectoryPublisher(directory, unnamed_files=False).publish(OPERATION, DOCUMENT) == first
    assert [entry.name for entry in directory.iterdir()] == [OPERATION]


def test_find_reads_the_content_again_instead_of_trusting_the_name(
    publisher: DirectoryPublisher,
) -> None:
    published = publisher.publish(OPERATION, DOCUMENT)
    published.path.write_bytes(DOCUMENT[:-1])
    found = publisher.find(OPERATION)
    assert found is not None
    assert (found.sha256, found.bytes) == (
        hashlib.sha256(DOCUMENT[:-1]).hexdigest(),
        len(DOCUMENT) - 1,
    )


def test_a_reader_never_sees_a_document_before_all_of_it_is_there(
    directory: Path, unnamed_files: bool
) -> None:
    with stopped_before_the_link(directory, unnamed_files=unnamed_files):
        assert not (directory / OPERATION).exists()
        assert DirectoryPublisher(directory).find(OPERATION) is None


def test_a_writer_killed_before_the_link_has_published_nothing_and_the_next_one_does(
    directory: Path, unnamed_files: bool
) -> None:
    with stopped_before_the_link(directory, unnamed_files=unnamed_files) as child:
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    publisher = DirectoryPublisher(directory, unnamed_files=unnamed_files)
    assert publisher.find(OPERATION) is None
    publisher.publish(OPERATION, DOCUMENT)
    assert (directory / OPERATION).read_bytes() == DOCUMENT


def test_an_unnamed_file_leaves_nothing_behind_when_its_writer_is_killed(directory: Path) -> None:
    with stopped_before_the_link(directory, unnamed_files=True) as child:
        assert list(directory.iterdir()) == []
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert list(directory.iterdir()) == []


def test_a_writer_that_lives_on_keeps_its_temporary_while_another_publishes(
    directory: Path,
) -> None:
    with stopped_before_the_link(directory, unnamed_files=False):
        [temporary] = directory.iterdir()
        DirectoryPublisher(directory, unnamed_files=False).publish(OPERATION, DOCUMENT)
        assert {entry.name for entry in directory.iterdir()} == {temporary.name, OPERATION}
        assert temporary.read_bytes() == DOCUMENT


def test_abandoned_temporaries_are_bounded(directory: Path) -> None:
    for number in range(TEMPORARIES_MAX):
        (directory / f".{OPERATION}.{number}.part").touch()
    with pytest.raises(OSError, match="too many unfinished temporaries"):
        DirectoryPublisher(directory, unnamed_files=False).publish(OPERATION, DOCUMENT)
    assert not (directory / OPERATION).exists()


def test_a_file_system_without_unnamed_files_says_so_and_writes_nothing() -> None:
    # procfs refuses them on every kernel.
    descriptor = os.open("/proc/self/fdinfo", os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert Folder(descriptor).create_unnamed(OPERATION, DOCUMENT) is False
    finally:
        os.close(descriptor)


def test_a_directory_behind_a_symbolic_link_is_refused(
    directory: Path, tmp_path: Path, unnamed_files: bool
) -> None:
    link = tmp_path / "link"
    link.symlink_to(directory)
    publisher = DirectoryPublisher(f"{link}/", unnamed_files=unnamed_files)
    with pytest.raises(UnsafeDirectoryError):
        publisher.publish(OPERATION, DOCUMENT)
    with pytest.raises(UnsafeDirectoryError):
        publisher.find(OPERATION)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_directory_that_others_can_write_is_refused(directory: Path, mode: int) -> None:
    directory.chmod(mode)
    with pytest.raises(UnsafeDirectoryError, match=f"{mode:04o}"):
        DirectoryPublisher(directory).publish(OPERATION, DOCUMENT)
    with pytest.raises(UnsafeDirectoryError):
        DirectoryPublisher(directory).find(OPERATION)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_a_directory_that_others_can_only_read_is_accepted(directory: Path, mode: int) -> None:
    directory.chmod(mode)
    assert DirectoryPublisher(directory).publish(OPERATION, DOCUMENT).bytes == len(DOCUMENT)


def test_another_users_directory_is_refused(directory: Path) -> None:
    if os.geteuid() == 0:
        os.chown(directory, 65534, 65534)
        elsewhere = directory
    else:
        elsewhere = Path("/")
    with pytest.raises(UnsafeDirectoryError, match="another user's"):
        DirectoryPublisher(elsewhere).find(OPERATION)


def test_a_file_in_the_directorys_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnsafeDirectoryError):
        DirectoryPublisher(tmp_path / "file").find(OPERATION)


def test_a_missing_directory_is_the_systems_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        DirectoryPublisher(tmp_path / "missing").publish(OPERATION, DOCUMENT)


def test_a_symbolic_link_under_the_operations_name_is_never_followed(
    publisher: DirectoryPublisher, directory: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(DOCUMENT)
    (directory / OPERATION).symlink_to(outside)
    with pytest.raises(DifferentDocumentError):
        publisher.publish(OPERATION, DOCUMENT)
    with pytest.raises(DifferentDocumentError):
        publisher.find(OPERATION)
    assert outside.read_bytes() == DOCUMENT


def test_a_pipe_under_the_operations_name_is_refused_without_waiting_for_a_writer(
    publisher: DirectoryPublisher, directory: Path
) -> None:
    os.mkfifo(directory / OPERATION)
    with pytest.raises(DifferentDocumentError):
        publisher.find(OPERATION)


def test_a_relative_path_is_bound_when_the_publisher_is_made(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(directory.parent)
    publisher = DirectoryPublisher(directory.name)
    monkeypatch.chdir("/")
    assert publisher.publish(OPERATION, DOCUMENT).path == directory / OPERATION


@pytest.mark.parametrize("operation_id", ["", ".", "..", "../op", "a/b", "OP", "op\n", "x" * 129])
def test_an_operation_id_that_could_leave_the_directory_is_refused(
    publisher: DirectoryPublisher, directory: Path, operation_id: str
) -> None:
    with pytest.raises(ValueError, match="operation id"):
        publisher.publish(operation_id, DOCUMENT)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("suffix", [".", "md", "/x", ".md/", ".a.b.c", "..", ".md\n"])
def test_a_suffix_that_is_no_extension_is_refused(
    publisher: DirectoryPublisher, directory: Path, suffix: str
) -> None:
    with pytest.raises(ValueError, match="suffix"):
        publisher.publish(OPERATION, DOCUMENT, suffix)
    assert list(directory.iterdir()) == []


def test_a_document_over_the_bound_is_refused(
    publisher: DirectoryPublisher, directory: Path
) -> None:
    with pytest.raises(ValueError, match="too large"):
        publisher.publish(OPERATION, bytes(DOCUMENT_BYTES_MAX + 1))
    assert list(directory.iterdir()) == []
