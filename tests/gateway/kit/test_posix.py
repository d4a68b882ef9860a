from __future__ import annotations

import errno
import fcntl
import os
import pwd
import stat
import threading
from pathlib import Path

import pytest

from gateway.errors import ExecutionError
from gateway.kit import posix

STRICT = posix.RESOLVE_NO_SYMLINKS | posix.RESOLVE_NO_XDEV


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "root"
    (root / "d").mkdir(parents=True)
    (root / "d" / "f").write_text("inside")
    (root / "in").symlink_to("d/f")
    (root / "ind").symlink_to("d")
    (root / "out").symlink_to("../out.txt")
    (root.parent / "out.txt").write_text("outside")
    return root


def _directory(path: Path) -> int:
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _errno(root: Path, relative: str, resolve: int = 0) -> int | None:
    fd = _directory(root)
    try:
        os.close(posix.open_beneath(fd, relative, os.O_RDONLY, resolve=resolve))
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)
    return None


@pytest.mark.parametrize(
    ("relative", "resolve", "number"),
    [
        ("d/f", STRICT, None),
        (".", STRICT, None),
        ("in", 0, None),
        ("ind/f", 0, None),
        ("d/../d/f", 0, None),
        ("in", STRICT, errno.ELOOP),
        ("out", 0, errno.EXDEV),
        ("..", 0, errno.EXDEV),
        ("d/../../root/d/f", 0, errno.EXDEV),
        ("/etc/passwd", 0, errno.EXDEV),
        ("nope", 0, errno.ENOENT),
        ("d/f/x", 0, errno.ENOTDIR),
    ],
)
def test_the_kernel_keeps_it_beneath(
    tree: Path, relative: str, resolve: int, number: int | None
) -> None:
    assert _errno(tree, relative, resolve) == number


@pytest.mark.parametrize("filtered", [errno.ENOSYS, errno.EPERM])
@pytest.mark.parametrize(
    ("relative", "number"),
    [
        ("d/f", None),
        ("./d/./f", None),
        (".", None),
        ("in", errno.ELOOP),
        ("ind/f", errno.ELOOP),
        ("out", errno.ELOOP),
        ("..", errno.EXDEV),
        ("d/../d/f", errno.EXDEV),
        ("/etc/passwd", errno.EXDEV),
        ("nope", errno.ENOENT),
        ("d/f/x", errno.ENOTDIR),
    ],
)
def test_the_walk_without_openat2_is_stricter(
    tree: Path, monkeypatch: pytest.MonkeyPatch, filtered: int, relative: str, number: int | None
) -> None:
    def refuse(_fd: int, path: str, _flags: int, _resolve: int) -> int:
        raise OSError(filtered, os.strerror(filtered), path)

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(posix, "openat2", refuse)
    assert _errno(tree, relative) == number
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_walk_stays_on_one_file_system() -> None:
    fd = _directory(Path("/"))
    try:
        with pytest.raises(OSError, match="cross-device") as caught:
            posix.walk_beneath(fd, "proc/version", os.O_RDONLY)
    finally:
        os.close(fd)
    assert caught.value.errno == errno.EXDEV


def test_a_nul_is_refused_since_c_would_cut_there(tree: Path) -> None:
    fd = _directory(tree)
    with pytest.raises(ValueError, match="NUL"):
        posix.open_beneath(fd, "d/f\0x", os.O_RDONLY)
    os.close(fd)


def test_the_very_object_is_reopened_and_named(tree: Path) -> None:
    directory = _directory(tree)
    handle = posix.open_beneath(directory, "d/f", os.O_PATH)
    (tree / "d" / "f").rename(tree / "moved")
    (tree / "d" / "f").write_text("another")
    fd = posix.reopen(handle, os.O_RDONLY)
    assert os.read(fd, 100) == b"inside"
    assert posix.real_path(fd) == str(tree / "moved")
    assert not os.get_inheritable(fd)
    for one in (fd, handle, directory):
        posix.close_quietly(one)
        posix.close_quietly(one)


def test_reading_stops_just_above_the_limit(tree: Path) -> None:
    fd = os.open(tree / "d" / "f", os.O_RDONLY)
    assert posix.read_all(fd, max_bytes=100) == b"inside"
    assert posix.read_all(fd, max_bytes=6) == b"inside"
    assert posix.read_all(fd, max_bytes=3) == b"insi"
    os.close(fd)


def test_home_is_the_password_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/elsewhere")
    assert posix.home_directory() == pwd.getpwuid(os.geteuid()).pw_dir


def test_an_atomic_write_replaces_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    fd = _directory(tmp_path)
    posix.atomic_write(fd, "head", b"one")
    posix.atomic_write(fd, "head", b"two", mode=0o640)
    os.close(fd)
    assert (tmp_path / "head").read_bytes() == b"two"
    assert stat.S_IMODE((tmp_path / "head").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["head"]


def test_a_failed_atomic_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "head").mkdir()
    fd = _directory(tmp_path)
    with pytest.raises(OSError, match="directory"):
        posix.atomic_write(fd, "head", b"one")
    os.close(fd)
    assert [path.name for path in tmp_path.iterdir()] == ["head"]


def test_a_replacement_is_for_the_decided_object_only(tmp_path: Path) -> None:
    fd = _directory(tmp_path)
    target = tmp_path / "f"
    posix.atomic_replace(fd, "f", b"new", existing=None)
    assert target.read_bytes() == b"new"
    target.chmod(0o750)
    existing = posix.identity_at(fd, "f")
    assert existing is not None
    posix.atomic_replace(fd, "f", b"newer", existing=existing)
    assert target.read_bytes() == b"newer"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    for stale in (existing, None):
        with pytest.raises(ExecutionError) as caught:
            posix.atomic_replace(fd, "f", b"newest", existing=stale)
        assert caught.value.code == "changed_since_decision"
        assert caught.value.status == "not_started"
    target.unlink()
    with pytest.raises(ExecutionError):
        posix.atomic_replace(fd, "f", b"newest", existing=existing)
    os.close(fd)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("existed", [True, False])
def test_a_swap_at_the_last_moment_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, existed: bool
) -> None:
    fd = _directory(tmp_path)
    if existed:
        (tmp_path / "f").write_text("decided")
    existing = posix.identity_at(fd, "f")
    write = posix._temporary

    def swap_meanwhile(dir_fd: int, data: bytes, mode: int) -> str:
        name = write(dir_fd, data, mode)
        (tmp_path / "other").write_text("swapped in")
        (tmp_path / "other").rename(tmp_path / "f")
        return name

    monkeypatch.setattr(posix, "_temporary", swap_meanwhile)
    with pytest.raises(ExecutionError):
        posix.atomic_replace(fd, "f", b"new", existing=existing)
    os.close(fd)
    assert (tmp_path / "f").read_text() == "swapped in"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_lock_is_waited_for_until_the_deadline(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    second = os.open(path, os.O_RDWR)
    ticks = iter(range(100))
    slept: list[float] = []
    with posix.locked(first, timeout_s=1), pytest.raises(TimeoutError, match="3"):  # noqa: SIM117
        with posix.locked(
            second, timeout_s=3, monotonic=lambda: float(next(ticks)), sleep=slept.append
        ):
            pass
    assert slept
    with posix.locked(second, timeout_s=0):
        pass
    os.close(first)
    os.close(second)


def test_a_lock_is_taken_when_it_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    second = os.open(path, os.O_RDWR)
    fcntl.flock(first, fcntl.LOCK_EX)
    waiting = threading.Event()

    def give_up(_seconds: float) -> None:
        waiting.set()
        fcntl.flock(first, fcntl.LOCK_UN)

    with posix.locked(second, timeout_s=60, sleep=give_up), pytest.raises(BlockingIOError):
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert waiting.is_set()
    os.close(first)
    os.close(second)
