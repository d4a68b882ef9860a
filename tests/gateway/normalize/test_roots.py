from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.model.catalogue import RootPath
from gateway.normalize.roots import Roots

from .conftest import open_descriptors


def test_the_deepest_root_counts_and_components_are_compared(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "ws" / "inner").mkdir(parents=True)
    declared = [
        RootPath(name="workspace", path=str(top / "ws")),
        RootPath(name="inner", path=str(top / "ws" / "inner")),
    ]
    before = open_descriptors()
    with Roots.open(declared) as roots:

        def above(path: Path) -> str | None:
            root = roots.above(list(path.parts[1:]))
            return root.name if root else None

        assert above(top / "ws" / "inner" / "x") == "inner"
        assert above(top / "ws" / "innermost") == "workspace"
        assert above(top / "ws") == "workspace"
        assert above(top / "ws2") is None
        assert roots.first.name == "workspace"
        assert (roots.first.device, roots.first.inode) == (
            (top / "ws").stat().st_dev,
            (top / "ws").stat().st_ino,
        )
    assert open_descriptors() == before


@pytest.mark.parametrize("spelled", ["relative", "{top}/absent", "{top}/file", "{top}/link"])
def test_a_root_that_cannot_be_held_is_a_configuration_error(tmp_path: Path, spelled: str) -> None:
    top = tmp_path.resolve()
    (top / "good").mkdir()
    (top / "file").touch()
    (top / "link").symlink_to("good")
    declared = [
        RootPath(name="good", path=str(top / "good")),
        RootPath(name="bad", path=spelled.format(top=top)),
    ]
    before = open_descriptors()
    with pytest.raises(ConfigError, match=r"roots\.bad"):
        Roots.open(declared)
    assert open_descriptors() == before


def test_no_root_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        Roots.open([])
