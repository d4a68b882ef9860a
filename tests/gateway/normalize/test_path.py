from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.kit import posix
from gateway.model.catalogue import RootPath
from gateway.model.names import Operation
from gateway.normalize import path as path_module
from gateway.normalize.path import (
    Guard,
    Located,
    LocatedParent,
    Refused,
    Roots,
    locate,
    locate_parent,
)

from .conftest import Place, open_descriptors

READ, WRITE = Operation.FS_READ, Operation.FS_WRITE
NOTHING = Guard(is_protected=lambda _: False)


def _read(spot: Place, spelled: str, want: path_module.Want = "any") -> Located | Refused:
    before = open_descriptors()
    found = locate(spot.roots, spelled, operation=READ, want=want, guard=spot.guard)
    if isinstance(found, Located):
        os.close(found.fd)
    assert open_descriptors() == before
    return found


def _parent(spot: Place, spelled: str) -> LocatedParent | Refused:
    before = open_descriptors()
    found = locate_parent(spot.roots, spelled, operation=WRITE, guard=spot.guard)
    if isinstance(found, LocatedParent):
        os.close(found.fd)
    assert open_descriptors() == before
    return found


@pytest.mark.parametrize(
    ("spelled", "relative", "also"),
    [
        ("src/a.py", "src/a.py", None),
        ("./src/./a.py", "src/a.py", None),
        ("src/", "src", None),
        (".", ".", None),
        ("src/../.env", ".env", None),
        ("link/a.py", "src/a.py", "link/a.py"),
        ("env-link", ".env", "env-link"),
        ("link/", "src", "link"),
        ("self", ".", "self"),
    ],
)
def test_what_is_opened_is_named_by_what_it_is(
    spot: Place, spelled: str, relative: str, also: str | None
) -> None:
    found = _read(spot, spelled)
    assert isinstance(found, Located)
    assert found.relative == relative
    path = spot.ws if relative == "." else spot.ws / relative
    assert found.resource.path == str(path)
    assert found.resource.root == "workspace"
    assert (str(spot.ws / also) in found.resource.also) if also else not found.resource.also
    assert found.identity == posix.identity(path.stat())


@pytest.mark.parametrize(
    ("spelled", "reason"),
    [
        ("out", "fs_escape"),
        ("outdir/secret.txt", "fs_escape"),
        ("absolute", "fs_escape"),
        ("loop", "fs_escape"),
        ("dangling", "fs_not_found"),
        ("nope", "fs_not_found"),
        ("nope/x", "fs_not_found"),
        ("src/a.py/x", "fs_not_directory"),
        ("src/a.py/", "fs_not_directory"),
        ("src/a.py/.", "fs_not_directory"),
        ("src/a.py/../a.py", "path_component"),
        ("fifo", "fs_not_regular"),
        ("sock", "fs_not_regular"),
        ("deep/../a.py", "fs_not_found"),
        ("deep/../src/a.py", "path_component"),
        ("src/nothing/../a.py", "path_component"),
        ("../ws/src/a.py", "path_component"),
        ("../secret.txt", "path_outside_roots"),
    ],
)
def test_refused_with_its_reason(spot: Place, spelled: str, reason: str) -> None:
    found = _read(spot, spelled)
    assert isinstance(found, Refused)
    assert found.refusal.reason == reason
    assert found.resource is not None


def test_an_escape_names_where_it_leads(spot: Place) -> None:
    found = _read(spot, "out")
    assert isinstance(found, Refused)
    assert found.resource is not None
    assert str(spot.top / "secret.txt") in found.resource.also


def test_a_refusal_behind_a_symlink_names_the_real_object(spot: Place) -> None:
    (spot.ws / "way").symlink_to(".ssh")
    found = _read(spot, "way", "file")
    assert isinstance(found, Refused)
    assert found.refusal.reason == "fs_not_regular"
    assert found.resource is not None
    assert str(spot.ws / ".ssh") in found.resource.also


def test_the_wanted_kind_is_demanded(spot: Place) -> None:
    for spelled, want, reason in [
        ("src", "file", "fs_not_regular"),
        ("src/a.py", "directory", "fs_not_directory"),
    ]:
        found = _read(spot, spelled, want)  # type: ignore[arg-type]
        assert isinstance(found, Refused)
        assert found.refusal.reason == reason


def test_a_fifo_is_refused_without_waking_its_writer(spot: Place) -> None:
    """Opening it for reading would let a blocked writer go on."""
    _read(spot, "fifo")
    with pytest.raises(OSError, match="No such device or address"):
        os.open(spot.ws / "fifo", os.O_WRONLY | os.O_NONBLOCK)


def test_hard_links_are_counted_and_their_protected_names_found(spot: Place) -> None:
    (spot.ws / "one").write_text("1")
    (spot.ws / "two").hardlink_to(spot.ws / "one")
    for spelled, also in [
        ("hard.txt", (str(spot.ws / ".env"),)),
        ("key.txt", (str(spot.top / "keys" / "log.key"),)),
        ("one", ()),
    ]:
        found = _read(spot, spelled)
        assert isinstance(found, Located)
        assert (found.resource.links, found.resource.also) == (2, also)
        parent = _parent(spot, spelled)
        assert isinstance(parent, LocatedParent)
        assert (parent.resource.links, parent.resource.also) == (2, also)


def test_more_names_than_could_be_looked_at_is_refused(
    spot: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = path_module.other_names
    monkeypatch.setattr(path_module, "other_names", lambda *args: real(*args, max_entries=1))
    found = _read(spot, "hard.txt")
    assert isinstance(found, Refused)
    assert found.refusal.reason == "fs_hardlink"


def test_a_real_name_that_no_spelling_may_have_is_refused(spot: Place) -> None:
    (spot.ws / "odd\nname").write_text("x")
    (spot.ws / "nice").symlink_to("odd\nname")
    Path(os.fsdecode(os.fsencode(spot.ws) + b"/\xff")).write_text("x")
    (spot.ws / "bytes").symlink_to(os.fsdecode(b"\xff"))
    for spelled, reason in [("nice", "path_control"), ("bytes", "path_encoding")]:
        found = _read(spot, spelled)
        assert isinstance(found, Refused)
        assert found.refusal.reason == reason
        assert found.resource is not None
        for name in (found.resource.path, *found.resource.also):
            name.encode()


def test_an_object_that_keeps_moving_is_refused(
    spot: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for moved_to in ("nowhere", "src/deep"):
        monkeypatch.setattr(posix, "real_path", lambda _, to=moved_to: str(spot.ws / to))
        found = _read(spot, "link/a.py")
        assert isinstance(found, Refused)
        assert found.refusal.reason == "fs_io_error"


def test_a_root_that_was_moved_away_is_not_believed(spot: Place) -> None:
    spot.ws.rename(spot.top / "ws2")
    found = _read(spot, "link/a.py")
    assert isinstance(found, Refused)
    assert found.refusal.reason == "fs_escape"


def test_another_mount_inside_the_root_is_refused() -> None:
    with Roots.open([RootPath(name="all", path="/")]) as roots:
        for spelled in ("/proc/version", "/proc/self/root/etc/passwd"):
            found = locate(roots, spelled, operation=READ, want="any", guard=NOTHING)
            assert isinstance(found, Refused)
            assert found.refusal.reason in {"fs_mount", "fs_escape"}
        found = locate(roots, "/etc", operation=READ, want="directory", guard=NOTHING)
        assert isinstance(found, Located)
        assert (found.resource.path, found.relative) == ("/etc", "etc")
        os.close(found.fd)


@pytest.mark.parametrize(
    ("spelled", "reason"),
    [
        ("src", "fs_not_regular"),
        ("fifo", "fs_not_regular"),
        ("out", "fs_symlink"),
        ("dangling", "fs_symlink"),
        ("env-link", "fs_symlink"),
        ("link", "fs_symlink"),
        ("src/", "path_component"),
        ("src/..", "fs_not_regular"),
        ("src/deep/..", "path_component"),
        ("src/a.py/.", "path_component"),
        (".", "fs_not_regular"),
        ("nope/x", "fs_not_found"),
        ("src/a.py/x", "fs_not_directory"),
        ("outdir/new", "fs_escape"),
        ("../new", "path_outside_roots"),
        ("deep/../new", "path_component"),
    ],
)
def test_a_write_that_is_refused(spot: Place, spelled: str, reason: str) -> None:
    found = _parent(spot, spelled)
    assert isinstance(found, Refused)
    assert found.refusal.reason == reason
    assert found.resource is not None


def test_a_write_knows_its_parent_and_what_it_replaces(spot: Place) -> None:
    new = _parent(spot, "link/new.py")
    assert isinstance(new, LocatedParent)
    assert (new.name, new.relative, new.existing) == ("new.py", "src/new.py", None)
    assert new.resource.path == str(spot.ws / "src" / "new.py")
    assert new.resource.also == (str(spot.ws / "link" / "new.py"),)
    old = _parent(spot, "src/deep/../a.py")
    assert isinstance(old, LocatedParent)
    assert old.existing == posix.identity((spot.ws / "src" / "a.py").stat())


def test_without_openat2_no_symlink_is_followed(
    spot: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_fd: int, path: str, _flags: int, _resolve: int) -> int:
        raise OSError(38, "Function not implemented", path)

    monkeypatch.setattr(posix, "openat2", missing)
    assert isinstance(_read(spot, "src/a.py"), Located)
    assert isinstance(_read(spot, "."), Located)
    assert isinstance(_parent(spot, "src/new.py"), LocatedParent)
    for spelled, reason in [
        ("link/a.py", "fs_escape"),
        ("env-link", "fs_escape"),
        ("out", "fs_escape"),
        ("nope", "fs_not_found"),
        ("fifo", "fs_not_regular"),
    ]:
        found = _read(spot, spelled)
        assert isinstance(found, Refused)
        assert found.refusal.reason == reason
    symlink = _parent(spot, "out")
    assert isinstance(symlink, Refused)
    assert symlink.refusal.reason == "fs_symlink"


NAMES = st.sampled_from(["a", "b", "c", ".env"])
TARGETS = st.lists(NAMES | st.just("..") | st.just("."), min_size=1, max_size=4).map("/".join)
SPELLED = st.lists(NAMES | st.sampled_from(["..", ".", "s", "t"]), min_size=1, max_size=5)


@given(
    directories=st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=4),
    links=st.lists(st.tuples(st.sampled_from(["s", "t", "a/s", "b/t"]), TARGETS), max_size=4),
    spelled=st.lists(SPELLED.map("/".join), min_size=1, max_size=8),
)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_is_opened_is_beneath_the_root(
    tmp_path_factory: pytest.TempPathFactory,
    directories: list[list[str]],
    links: list[tuple[str, str]],
    spelled: list[str],
) -> None:
    top = tmp_path_factory.mktemp("tree").resolve()
    ws = top / "ws"
    for base in (ws, top):
        base.mkdir(exist_ok=True)
        for parts in directories:
            base.joinpath(*parts).mkdir(parents=True, exist_ok=True)
            (base.joinpath(*parts) / "c").mkdir(exist_ok=True)
        (base / ".env").exists() or (base / ".env").write_text("x")
    for name, target in links:
        link = ws / name
        if link.parent.is_dir() and not link.is_symlink():
            link.symlink_to(target)
    with Roots.open([RootPath(name="workspace", path=str(ws))]) as roots:
        for one in spelled:
            found = locate(roots, one, operation=READ, want="any", guard=NOTHING)
            if isinstance(found, Refused):
                continue
            try:
                real = posix.real_path(found.fd)
                assert real == str(ws) or real.startswith(f"{ws}/")
                assert real == found.resource.path
                assert os.path.realpath(ws / one) == real
                assert os.path.samestat(os.fstat(found.fd), Path(real).stat())
            finally:
                os.close(found.fd)


def _resolve_then_open(ws: Path) -> str:
    try:
        real = os.path.realpath(ws / "d" / "f")
        return Path(real).read_text() if real.startswith(f"{ws}/") else ""
    except OSError:
        return ""


def test_a_swapped_directory_never_leads_out(tmp_path: Path) -> None:
    """A directory changes places with a symlink to the outside all the time.

    Resolve-then-open, the commonly shipped way, is counted beside it; it may get lucky in a short
    run. `count` in the environment makes the run that many seconds long.
    """
    top = tmp_path.resolve()
    ws = top / "ws"
    (ws / "d").mkdir(parents=True)
    (ws / "d" / "f").write_text("inside")
    (top / "secret").mkdir()
    (top / "secret" / "f").write_text("outside")
    (ws / "swap").symlink_to("../secret")
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        fd = os.open(ws, os.O_PATH)
        while not stop.is_set():
            posix.exchange(fd, "d", "swap")
            swaps += 1
        os.close(fd)

    seen = {"inside": 0, "outside": 0, "refused": 0, "naive outside": 0}
    deadline = time.monotonic() + float(os.environ.get("count", "2"))  # noqa: SIM112
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        with Roots.open([RootPath(name="workspace", path=str(ws))]) as roots:
            while time.monotonic() < deadline:
                found = locate(roots, "d/f", operation=READ, guard=NOTHING)
                if isinstance(found, Refused):
                    seen["refused"] += 1
                else:
                    seen[os.read(found.fd, 100).decode()] += 1
                    os.close(found.fd)
                seen["naive outside"] += _resolve_then_open(ws) == "outside"
    finally:
        stop.set()
        swapper.join()
    print(seen, "swaps", swaps)
    assert seen["outside"] == 0
    assert seen["inside"] > 0
    assert swaps > 0
