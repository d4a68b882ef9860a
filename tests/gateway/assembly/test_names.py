"""No second owner of our import names is stood beside (ADR 0001)."""

from __future__ import annotations

import importlib
import sys

import pytest

from gateway.assembly import names
from gateway.assembly.names import NameCollisionError, check_names


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed distributions that holds our two packages."""
    for name in names.NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    _install(tmp_path, "counterfoil", "gateway/__init__.py,,\nbroker/__init__.py,,\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in names.NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    return tmp_path


def _install(site, name, record):
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "RECORD").write_text(record)


def test_alone_it_stands(site):
    _install(site, "other", "other/__init__.py,,\ngateways/x.py,,\nmy/gateway/x.py,,\n")
    check_names()


@pytest.mark.parametrize("line", ["broker/__init__.py,,", "gateway/new.py,,", '"broker/a,b.py",,'])
def test_another_owner_is_refused(site, line):
    _install(site, "broker", f"other/x.py,,\n{line}\n")
    with pytest.raises(NameCollisionError, match="'broker' also installs"):
        check_names()


def test_a_package_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(names, "NAMES", ("gateway", "no_such_package_of_ours"))
    with pytest.raises(NameCollisionError, match="no_such_package_of_ours"):
        check_names()


def test_a_checkout_is_no_site():
    check_names()


def test_a_collision_denies_at_every_door(gate, door, monkeypatch):
    def collide():
        raise NameCollisionError("the distribution 'x' also installs `gateway` or `broker`")

    monkeypatch.setattr("gateway.assembly.build.check_names", collide)
    seen = door.run("fs.read", path="src/a.py")
    assert seen.verdict == ("deny", "builtin:fault", "name_collision")
