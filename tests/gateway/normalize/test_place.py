from __future__ import annotations

import pytest

from gateway.kit import posix
from gateway.model.names import Operation
from gateway.normalize.place import Refused, Target, place

from .conftest import Place


def test_relative_paths_are_taken_from_cwd_or_the_first_root(spot: Place) -> None:
    for spelled, cwd, relative in [
        ("src/a.py", None, "src/a.py"),
        ("./src/a.py", None, "src/a.py"),
        ("a.py", str(spot.ws / "src"), "src/a.py"),
        ("a.py", "src", "src/a.py"),
        ("../.env", str(spot.ws / "src"), ".env"),
        (str(spot.ws / "src"), "src/deep", "src"),
        (".", None, "."),
        (str(spot.ws), None, "."),
    ]:
        target = place(spot.roots, spelled, Operation.FS_READ, cwd)
        assert isinstance(target, Target)
        assert target.relative == relative
        assert target.resource.root == "workspace"


@pytest.mark.parametrize("spelled", ["/etc/passwd", "..", "../ws2/a", "src/../../.env", "/"])
def test_outside_every_root_is_named_by_spelling(spot: Place, spelled: str) -> None:
    refused = place(spot.roots, spelled, Operation.FS_READ, None)
    assert isinstance(refused, Refused)
    assert refused.refusal.reason == "path_outside_roots"
    assert refused.resource is not None
    assert refused.resource.root is None
    assert ".." not in refused.resource.path


def test_a_root_is_spelled_exactly(spot: Place) -> None:
    for spelled in (f"{spot.ws}2/a", str(spot.ws).upper() + "/a", f"{spot.ws}-old/a"):
        refused = place(spot.roots, spelled, Operation.FS_READ, None)
        assert isinstance(refused, Refused)
        assert refused.refusal.reason == "path_outside_roots"


def test_leaving_the_root_and_coming_back_is_refused(spot: Place) -> None:
    refused = place(spot.roots, f"/x/..{spot.ws}/src", Operation.FS_READ, None)
    assert isinstance(refused, Refused)
    assert refused.refusal.reason == "path_component"


def test_a_tilde_names_the_home_of_the_password_database(
    spot: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/nowhere")
    refused = place(spot.roots, "~/.ssh/id_ed25519", Operation.FS_READ, None)
    assert isinstance(refused, Refused)
    assert refused.refusal.reason == "path_tilde"
    assert refused.resource is not None
    assert refused.resource.path == f"{posix.home_directory().rstrip('/')}/.ssh/id_ed25519"


@pytest.mark.parametrize("spelled", [".e\u200bnv", ".env\0.txt", "src//../.env", "src\\..\\.env"])
def test_a_disguised_name_counts_as_naming_it(spot: Place, spelled: str) -> None:
    refused = place(spot.roots, spelled, Operation.FS_READ, None)
    assert isinstance(refused, Refused)
    assert refused.resource is not None
    assert refused.resource.path == str(spot.ws / ".env")
    assert refused.resource.root == "workspace"


def test_a_bad_cwd_is_refused_and_the_message_stays_short(spot: Place) -> None:
    refused = place(spot.roots, "a", Operation.FS_READ, "x" * 5000)
    assert isinstance(refused, Refused)
    assert refused.refusal.reason == "path_too_long"
    assert len(refused.refusal.message) < 500
    outside = place(spot.roots, "a", Operation.FS_READ, "/etc")
    assert isinstance(outside, Refused)
    assert outside.refusal.reason == "path_outside_roots"
