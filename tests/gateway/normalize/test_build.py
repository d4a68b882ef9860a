from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.kit import canon
from gateway.model.names import Operation
from gateway.model.plan import Identity
from gateway.model.request import ActionRequest
from gateway.normalize.build import Descriptors, Param, accepted, check_params, identity_json

from .conftest import open_descriptors

REQUEST = ActionRequest(tool="t", params={})
ACCEPTED = {
    "name": Param(max_length=3),
    "list": Param(kind="array of strings", required=False, max_length=2),
    "map": Param(kind="object", required=False, max_length=1),
}


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "params.name is missing"),
        ({"name": 1}, "params.name is not of type string"),
        ({"name": None}, "params.name is not of type string"),
        ({"name": "abcd"}, "params.name is longer than 3"),
        ({"name": "a", "list": "a"}, "params.list is not of type array of strings"),
        ({"name": "a", "list": [1]}, "params.list is not of type array of strings"),
        ({"name": "a", "list": ["a"] * 3}, "params.list is longer than 2"),
        ({"name": "a", "map": []}, "params.map is not of type object"),
        ({"name": "a", "map": {"a": 1, "b": 2}}, "params.map is longer than 1"),
        ({"name": "a", "other": 1}, "params.'other' is not known"),
    ],
)
def test_a_wrong_parameter_is_named(params: dict[str, object], says: str) -> None:
    refusal = check_params("t", params, ACCEPTED)  # type: ignore[arg-type]
    assert refusal is not None
    assert refusal.reason == "params_invalid"
    assert refusal.message.startswith(says)
    assert "list (array of strings, optional)" in refusal.message


def test_right_parameters_pass() -> None:
    assert check_params("t", {"name": "a", "list": ["b"], "map": {}}, ACCEPTED) is None


def test_a_picture_that_cannot_be_digested_leaves_nothing_open(tmp_path: Path) -> None:
    before = open_descriptors()
    owned = Descriptors()
    owned.own(os.open(tmp_path, os.O_PATH))
    with pytest.raises(canon.JsonError):
        accepted(REQUEST, Operation.FS_READ, {"path": "\ud800"}, owned=owned)
    assert open_descriptors() == before


def test_an_identity_beyond_every_json_number_is_kept_exactly() -> None:
    identity = Identity(device=2**63, inode=2**64 - 1, size=2**62, mtime_ns=2**61, ctime_ns=0)
    picture = identity_json(identity)
    assert picture["inode"] == "18446744073709551615"
    canon.digest(picture)
