"""File acts on real files, and every way in which what was decided can change before the act."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.errors import ExecutionError
from gateway.execute import files
from gateway.kit import posix
from gateway.model.decision import Obligations
from gateway.model.names import Status
from gateway.model.plan import DeleteFile, Identity, ListDirectory, ReadFile, WriteFile

LIMITS = Obligations(read_bytes=100)


def identity(path: Path) -> Identity:
    return posix.identity(path.lstat())


@pytest.fixture
def opened() -> Iterator[Callable[[Path], int]]:
    fds: list[int] = []

    def open_it(path: Path) -> int:
        fds.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        return fds[-1]

    yield open_it
    for fd in fds:
        os.close(fd)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"hello\n")
    path.chmod(0o640)
    return path


def refused(act, plan, code: str = "changed_since_decision", status: str = "not_started"):
    with pytest.raises(ExecutionError) as caught:
        act(plan, LIMITS)
    assert (caught.value.code, caught.value.status) == (code, status)


class TestRead:
    def test_the_decided_descriptor_is_read_from_its_start(self, file, opened):
        fd = opened(file)
        os.lseek(fd, 3, os.SEEK_SET)
        result = files.read_file(ReadFile(fd=fd, path=str(file), identity=identity(file)), LIMITS)
        assert result.status is Status.DONE
        assert result.content == b"hello\n"
        assert result.data == {"bytes": 6, "size": 6}
        assert not result.truncated

    def test_a_file_put_in_its_place_is_not_the_one_read(self, file, opened):
        plan = ReadFile(fd=opened(file), path=str(file), identity=identity(file))
        other = file.with_name("other")
        other.write_text("secret")
        other.rename(file)
        refused(files.read_file, plan)  # the old file lost its name: its change time moved

    @pytest.mark.parametrize("size", [99, 100, 101, 5000])
    def test_no_more_than_the_limit_comes_back(self, tmp_path, opened, size):
        path = tmp_path / "big"
        path.write_bytes(b"x" * size)
        plan = ReadFile(fd=opened(path), path=str(path), identity=identity(path))
        result = files.read_file(plan, LIMITS)
        assert len(result.content) == min(size, 100)
        assert result.truncated is (size > 100)

    @pytest.mark.parametrize(
        "change",
        [
            lambda path: path.write_bytes(b"hello\nmore"),
            lambda path: path.write_bytes(b"HELLO\n"),
            lambda path: path.chmod(0o600),
            lambda path: path.with_name("second").hardlink_to(path),
            lambda path: os.utime(path, ns=(1, 1)),
        ],
    )
    def test_any_change_since_the_decision_is_refused(self, file, opened, change):
        before = identity(file)
        plan = ReadFile(
            fd=opened(file),
            path=str(file),
            identity=Identity(
                device=before.device,
                inode=before.inode,
                size=before.size,
                mtime_ns=before.mtime_ns,
                ctime_ns=before.ctime_ns - 1,  # file clocks are coarse: be sure it moved
            ),
        )
        change(file)
        refused(files.read_file, plan)

    def test_a_change_while_it_is_read_is_refused(self, file, opened, monkeypatch):
        plan = ReadFile(fd=opened(file), path=str(file), identity=identity(file))
        real = posix.read_all

        def read_while_it_grows(fd: int, *, max_bytes: int) -> bytes:
            with file.open("ab") as stream:
                stream.write(b"more")
            return real(fd, max_bytes=max_bytes)

        monkeypatch.setattr(posix, "read_all", read_while_it_grows)
        refused(files.read_file, plan)


class TestList:
    def test_names_are_sorted_and_escaped_one_a_line(self, tmp_path, opened):
        for name in ("b", "a\nc", "\x1b[2J", "ü", "z\u202e"):
            (tmp_path / name).touch()
        (tmp_path / os.fsdecode(b"\xff")).touch()
        result = files.list_directory(
            ListDirectory(fd=opened(tmp_path), path=str(tmp_path)), LIMITS
        )
        assert result.content.decode().splitlines() == [
            "\\u{1b}[2J",
            "a\\nc",
            "b",
            "z\\u{202e}",
            "ü",
            "\\u{dcff}",
        ]
        assert result.data == {"entries": 6}

    def test_it_can_be_listed_twice_from_one_descriptor(self, tmp_path, opened):
        (tmp_path / "a").touch()
        plan = ListDirectory(fd=opened(tmp_path), path=str(tmp_path))
        assert files.list_directory(plan, LIMITS) == files.list_directory(plan, LIMITS)

    def test_a_long_listing_is_cut_at_a_whole_name(self, tmp_path, opened):
        for number in range(40):
            (tmp_path / f"file-{number:03}").touch()
        result = files.list_directory(
            ListDirectory(fd=opened(tmp_path), path=str(tmp_path)), LIMITS
        )
        assert result.truncated
        assert result.content.decode().splitlines() == [f"file-{n:03}" for n in range(11)]
        assert result.data == {"entries": 40}


class TestWrite:
    def plan(self, opened, path: Path, content: bytes = b"new") -> WriteFile:
        return WriteFile(
            parent_fd=opened(path.parent),
            name=path.name,
            path=str(path),
            content=content,
            existing=identity(path) if path.exists() else None,
        )

    def test_a_new_file(self, tmp_path, opened):
        path = tmp_path / "new"
        result = files.write_file(self.plan(opened, path), LIMITS)
        assert result.data == {"bytes": 3, "created": True}
        assert path.read_bytes() == b"new"
        assert stat.S_IMODE(path.stat().st_mode) & 0o777 == 0o644
        assert [one.name for one in tmp_path.iterdir()] == ["new"]

    def test_a_replaced_file_keeps_its_mode_and_nothing_else_is_left(self, file, opened):
        result = files.write_file(self.plan(opened, file), LIMITS)
        assert result.data == {"bytes": 3, "created": False}
        assert file.read_bytes() == b"new"
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert list(file.parent.iterdir()) == [file]

    @pytest.mark.parametrize(
        "change",
        [
            lambda path: path.write_bytes(b"changed"),
            lambda path: path.unlink(),
            lambda path: (path.unlink(), path.symlink_to("/etc/passwd")),
            lambda path: (path.unlink(), path.write_bytes(b"hi\n")),
        ],
    )
    def test_what_changed_is_not_replaced(self, file, opened, change):
        plan = self.plan(opened, file)
        change(file)
        before = file.lstat() if os.path.lexists(file) else None
        refused(files.write_file, plan)
        after = file.lstat() if os.path.lexists(file) else None
        assert before == after

    def test_what_came_into_being_is_not_replaced(self, tmp_path, opened):
        path = tmp_path / "new"
        plan = self.plan(opened, path)
        path.write_text("somebody else's")
        refused(files.write_file, plan)
        assert path.read_text() == "somebody else's"

    def test_a_directory_that_is_gone_is_an_error_without_effect(self, tmp_path, opened):
        parent = tmp_path / "gone"
        parent.mkdir()
        plan = self.plan(opened, parent / "new")
        parent.rmdir()
        refused(files.write_file, plan, code="fs_not_found", status="failed")


class TestDelete:
    def plan(self, opened, path: Path) -> DeleteFile:
        return DeleteFile(
            parent_fd=opened(path.parent),
            name=path.name,
            path=str(path),
            existing=identity(path),
        )

    def test_the_decided_file_is_unlinked(self, file, opened):
        result = files.delete_file(self.plan(opened, file), LIMITS)
        assert result.status is Status.DONE
        assert not file.exists()

    @pytest.mark.parametrize(
        "change",
        [
            lambda path: path.write_bytes(b"changed"),
            lambda path: (path.unlink(), path.symlink_to("/etc/passwd")),
            lambda path: (path.rename(path.with_name("x")), path.write_bytes(b"hello\n")),
        ],
    )
    def test_another_file_is_not_unlinked(self, file, opened, change):
        plan = self.plan(opened, file)
        change(file)
        refused(files.delete_file, plan)
        assert os.path.lexists(file)

    def test_a_file_that_is_gone_is_a_change(self, file, opened):
        plan = self.plan(opened, file)
        file.unlink()
        refused(files.delete_file, plan)


def test_what_the_operating_system_says_becomes_a_reason(tmp_path, opened):
    fd = os.open(tmp_path, os.O_RDONLY)
    os.close(fd)
    refused(files.list_directory, ListDirectory(fd=fd, path="/ws"), "fs_io_error", "failed")
