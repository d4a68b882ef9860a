from __future__ import annotations

import dataclasses
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.kit import canon
from gateway.model.names import TOOLS, Json, Operation
from gateway.model.reasons import REASONS
from gateway.model.request import ActionRequest
from gateway.model.resource import PathResource
from gateway.normalize import stage

from .conftest import Place, open_descriptors


def test_every_tool_has_its_function() -> None:
    assert set(stage.TABLE) == set(TOOLS)


def test_an_unknown_tool_is_refused_and_the_known_ones_are_named(spot: Place) -> None:
    action = spot.normalize.normalize(ActionRequest(tool="fs.chmod", params={"path": ".env"}))
    assert action.operation is Operation.UNKNOWN
    assert action.refusal is not None
    assert action.refusal.reason == "tool_unknown"
    assert "fs.read" in action.refusal.message


@pytest.mark.parametrize(
    "request_",
    [
        ActionRequest(tool="fs.read", params={"path": "\ud800"}),
        ActionRequest(tool="fs.read", params={"path": "a"}, id="\ud800"),
        ActionRequest(tool="\ud800", params={}),
        ActionRequest(tool="fs.read", params={"path": object()}),  # type: ignore[dict-item]
        ActionRequest(tool=5, params={}),  # type: ignore[arg-type]
        ActionRequest(tool="fs.read", params=None),  # type: ignore[arg-type]
        ActionRequest(tool="fs.read", params=["path"]),  # type: ignore[arg-type]
    ],
)
def test_it_never_raises_for_what_a_request_contains(spot: Place, request_: ActionRequest) -> None:
    action = spot.normalize.normalize(request_)
    assert action.refusal is not None
    assert action.refusal.reason in REASONS
    canon.digest([action.tool, action.normalized, action.refusal.message])


def test_a_fault_of_ours_denies_and_logs_no_value(
    spot: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_request: ActionRequest, _settings: object) -> None:
        raise ValueError("hunter2")

    monkeypatch.setattr(stage, "TABLE", {"fs.read": broken})
    with caplog.at_level(logging.ERROR):
        action = spot.normalize.normalize(ActionRequest(tool="fs.read", params={"path": "a"}))
    assert action.refusal is not None
    assert action.refusal.reason == "internal_error"
    assert action.operation is Operation.FS_READ
    (record,) = caplog.records
    assert record.fault == "ValueError"  # type: ignore[attr-defined]
    assert "hunter2" not in caplog.text + action.refusal.message


@pytest.mark.parametrize(
    ("params", "refused", "named"),
    [
        ({"argv": ["cat", "src/a.py"]}, False, "src/a.py"),
        ({"command_line": "cat src/a.py | head -1"}, False, "src/a.py"),
        ({"argv": ["cat", "out"]}, True, "out"),
        ({"command_line": "cat .env > x"}, True, ".env"),
    ],
)
def test_commands_take_the_same_road(
    spot: Place, params: dict[str, Json], named: str, *, refused: bool
) -> None:
    before = open_descriptors()
    action = spot.normalize.normalize(ActionRequest(tool="shell.run", params=params))
    assert (action.refusal is not None) is refused
    assert str(spot.ws / named) in {
        resource.path for resource in action.resources if isinstance(resource, PathResource)
    }
    action.release()
    assert open_descriptors() == before


def test_the_digest_is_over_the_picture(spot: Place) -> None:
    action = spot.normalize.normalize(ActionRequest(tool="fs.read", params={"path": "src/a.py"}))
    assert action.digest == canon.digest(action.normalized)
    with pytest.raises(dataclasses.FrozenInstanceError):
        action.digest = ""  # type: ignore[misc]
    action.release()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
PARAMS = st.dictionaries(
    st.sampled_from(["path", "cwd", "content", "url", "server", "tool", "argv", "command_line"])
    | st.text(max_size=4),
    st.sampled_from(["src/a.py", ".env", "cat src/a.py", "https://h/"]) | JSON,
    max_size=4,
)


@given(tool=st.sampled_from(TOOLS), params=PARAMS)
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_anything_gives_an_action_and_release_gives_everything_back(
    spot: Place, tool: str, params: dict[str, Json]
) -> None:
    before = open_descriptors()
    action = spot.normalize.normalize(ActionRequest(tool=tool, params=params))
    if action.refusal is not None:
        assert action.refusal.reason in REASONS
        assert action.refusal.reason != "internal_error"
        assert action.plan is None
        assert open_descriptors() == before
    action.release()
    assert open_descriptors() == before
