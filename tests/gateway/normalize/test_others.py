from __future__ import annotations

import pytest

from gateway.model.names import Json, Operation
from gateway.model.request import ActionRequest
from gateway.model.resource import McpResource, MemoryResource

from .conftest import Place


@pytest.mark.parametrize(
    ("tool", "params", "name", "egress"),
    [
        ("mcp.call", {"server": "s", "tool": "t", "arguments": {"a": 1}}, "t", True),
        ("mcp.call", {"server": "s", "tool": "t"}, "t", True),
        ("mcp.resource", {"server": "s", "uri": "file:///x"}, "file:///x", True),
        ("mcp.prompt", {"server": "s", "name": "p"}, "p", False),
    ],
)
def test_mcp_acts_are_typed(
    spot: Place, tool: str, params: dict[str, Json], name: str, *, egress: bool
) -> None:
    action = spot.normalize.normalize(ActionRequest(tool=tool, params=params))
    assert action.refusal is None
    assert action.plan is None
    (resource,) = action.resources
    assert isinstance(resource, McpResource)
    assert (resource.server, resource.name) == ("s", name)
    assert resource.arguments == params.get("arguments", {})
    assert resource.egress is egress
    assert action.normalized["server"] == "s"


def test_memory_shows_its_content_and_keeps_its_size(spot: Place) -> None:
    params: dict[str, Json] = {"scope": "project", "sensitivity": "low", "content": "é"}
    action = spot.normalize.normalize(ActionRequest(tool="memory.write", params=params))
    assert action.resources == (MemoryResource(scope="project", sensitivity="low", size=2),)
    assert action.normalized["content"] == "é"
    assert action.plan is None


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("mcp.call", {"server": "s"}),
        ("mcp.call", {"server": "s", "tool": "t", "arguments": "a"}),
        ("mcp.call", {"server": "s", "tool": "t", "args": {}}),
        ("mcp.resource", {"server": "s"}),
        ("mcp.prompt", {"server": 1, "name": "p"}),
        ("memory.write", {"scope": "project", "content": "x"}),
        ("memory.write", {"scope": "user", "sensitivity": "low", "content": "x"}),
        ("memory.write", {"scope": "Session", "sensitivity": "low", "content": "x"}),
        ("memory.write", {"scope": "session", "sensitivity": "", "content": "x"}),
        ("memory.write", {"scope": "session", "sensitivity": "secret", "content": "x"}),
    ],
)
def test_wrong_parameters_are_refused(spot: Place, tool: str, params: dict[str, Json]) -> None:
    action = spot.normalize.normalize(ActionRequest(tool=tool, params=params))
    assert action.refusal is not None
    assert action.refusal.reason == "params_invalid"
    assert action.operation is Operation(tool)
