"""Programs: only trusted files become one, and never one that runs another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.model.action import Refusal
from gateway.model.catalogue import RootPath
from gateway.normalize import programs
from gateway.normalize.programs import Executable, refuse_argv, resolve
from gateway.normalize.roots import Roots


@pytest.fixture
def roots(tmp_path: Path) -> Iterator[Roots]:
    ws = tmp_path.resolve() / "ws"
    ws.mkdir()
    with Roots.open([RootPath(name="workspace", path=str(ws))]) as opened:
        yield opened


def reason(found: Executable | Refusal | None) -> str:
    assert isinstance(found, Refusal), found
    return found.reason


def executable(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_bare_name_is_found_on_the_fixed_path(
    roots: Roots, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    executable(tmp_path / "cat")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = resolve("cat", {}, roots)
    assert isinstance(found, Executable)
    assert found.name == "cat"
    assert found.path == os.path.realpath("/usr/bin/cat")
    assert found.identity.inode == Path("/usr/bin/cat").stat().st_ino


def test_an_absolute_name_must_be_the_same_file(roots: Roots, tmp_path: Path) -> None:
    for spelled in ("/bin/cat", "/usr/bin/cat", "/usr/bin/../bin/cat"):
        found = resolve(spelled, {}, roots)
        assert isinstance(found, Executable)
        assert found.name == "cat"
    assert reason(resolve(str(executable(tmp_path / "cat")), {}, roots)).startswith("sh_program")
    assert reason(resolve("/nowhere/cat", {}, roots)) == "sh_program_unknown"


@pytest.mark.parametrize("name", ["nope-at-all", "./cat", "bin/cat", "../cat", "a b", "..", "~"])
def test_other_names_are_unknown(roots: Roots, name: str) -> None:
    assert reason(resolve(name, {}, roots)) == "sh_program_unknown"


def test_a_configured_program_is_known_by_name_and_path(roots: Roots, tmp_path: Path) -> None:
    safe = tmp_path.resolve() / "safe"
    safe.mkdir(mode=0o755)
    tool = executable(safe / "tool.py")
    configured = {"tool": str(tool)}
    for spelled in ("tool", str(tool)):
        found = resolve(spelled, configured, roots)
        # The folders above belong to whoever runs the tests; all that matters is write access.
        if isinstance(found, Refusal):
            assert "/tmp" in found.message
        else:
            assert (found.name, found.path) == ("tool", str(tool))
    assert reason(resolve("tool.py", configured, roots)) == "sh_program_unknown"


def trusted(path: Path, roots: Roots) -> object:
    return programs._trusted(str(path), roots, owners=frozenset({0, os.geteuid()}))


def test_files_that_others_can_write_are_untrusted(
    roots: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = programs._problem
    skip = {str(parent) for parent in tmp_path.resolve().parents}  # /tmp itself is world-writable
    monkeypatch.setattr(
        programs,
        "_problem",
        lambda here, status, owners: None if here in skip else real(here, status, owners),
    )
    top = tmp_path.resolve()
    top.chmod(0o755)
    tool = executable(top / "tool")
    link = top / "link"
    link.symlink_to("tool")
    assert isinstance(trusted(tool, roots), tuple)
    found = trusted(link, roots)
    assert isinstance(found, tuple)
    assert found[0] == str(tool)
    assert "written by group" in str(trusted(executable(top / "loose", 0o775), roots))
    assert trusted(executable(top / "plain", 0o644), roots) is None
    assert trusted(top, roots) is None
    loop = top / "loop"
    loop.symlink_to("loop")
    assert trusted(loop, roots) is None
    shared = top / "shared"
    shared.mkdir()
    executable(shared / "tool")
    shared.chmod(0o777)
    assert "written by group" in str(trusted(shared / "tool", roots))
    inside = executable(top / "ws" / "tool")
    assert "beneath a declared root" in str(trusted(inside, roots))
    into = top / "into"
    into.symlink_to(inside)
    assert "beneath a declared root" in str(trusted(into, roots))
    foreign = programs._trusted(str(tool), roots, owners=frozenset({os.geteuid() + 1}))
    assert "does not belong to root" in str(foreign)


@pytest.mark.parametrize(
    "name",
    [
        "env",
        "nohup",
        "timeout",
        "nice",
        "ionice",
        "setsid",
        "stdbuf",
        "chrt",
        "taskset",
        "flock",
        "script",
        "time",
        "xargs",
        "watch",
        "parallel",
        "sudo",
        "doas",
        "su",
        "setpriv",
        "prlimit",
        "unshare",
        "nsenter",
        "chroot",
        "run-parts",
        "busybox",
        "toybox",
        "ld-linux-x86-64.so.2",
        "ld-musl-x86_64.so.1",
        "ld.so",
        "ld-2.36.so",
        "strace",
        "gdb",
    ],
)
def test_wrappers_are_refused_wherever_they_stand(name: str) -> None:
    assert reason(refuse_argv([name, "ls"])) == "sh_wrapper"
    assert reason(refuse_argv([f"/usr/bin/{name}", "ls"])) == "sh_wrapper"


@pytest.mark.parametrize(
    "name",
    [
        "command",
        "builtin",
        "exec",
        "eval",
        ".",
        "source",
        "trap",
        "alias",
        "export",
        "declare",
        "typeset",
        "cd",
        "set",
    ],
)
def test_builtins_are_refused(name: str) -> None:
    assert reason(refuse_argv([name, "ls"])) == "sh_builtin"


def test_cd_is_told_what_to_do() -> None:
    refusal = refuse_argv(["cd", "src"])
    assert refusal is not None
    assert "params.cwd" in refusal.message


def test_a_link_to_a_wrapper_is_one(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        programs, "_trusted", lambda *_, **__: ("/usr/bin/env", Path("/usr/bin/env").stat())
    )
    assert reason(resolve("innocent", {}, roots)) == "sh_wrapper"
    monkeypatch.setattr(
        programs, "_trusted", lambda *_, **__: ("/bin/busybox", Path("/usr/bin/env").stat())
    )
    assert isinstance(resolve("cat", {}, roots), Executable)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], "sh_syntax"),
        ([""], "sh_syntax"),
        (["cat", "a\0b"], "sh_syntax"),
        (["cat", "\ud800"], "sh_syntax"),
        (["cat"] * 513, "sh_too_long"),
        (["cat", "x" * 8192], "sh_too_long"),
    ],
)
def test_argv_limits(argv: list[str], expected: str) -> None:
    assert reason(refuse_argv(argv)) == expected


def test_an_ordinary_argv_passes() -> None:
    assert refuse_argv(["cat", "caf\u00e9", "a\nb", ""]) is None
