"""Names that do not exist are refused where they stand."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.errors import PolicyError
from tests.gateway.decide import build
from tests.gateway.decide.build import rule


@pytest.mark.parametrize(
    ("conditions", "operation", "word"),
    [
        ({"programs": ["@nobody"]}, "shell.run", "programs[0]: unknown group @nobody (known: @g, @nested)"),
        ({"programs": ["@nested"]}, "shell.run", "groups.nested[0]: a group lists values"),
        ({"resources": ["/a", "x/y"]}, "fs.read", "resources[1]: bad glob 'x/y'"),
        ({"resources": ["${nope}/a"]}, "fs.read", "unknown variable `${nope}` (known: home, workspace)"),
        ({"resources": ["@g"]}, "fs.read", "resources[0]: bad glob 'cat'"),
        ({"hosts": ["https://a"]}, "net.request", "is no host"),
        ({"hosts": ["a:443"]}, "net.request", "is no host"),
        ({"hosts": ["127.1"]}, "net.request", "is no host"),
        ({"hosts": ["0:0::1"]}, "net.request", "is no host"),
        ({"hosts": ["a.*"]}, "net.request", "is no host"),
        ({"hosts": ["a."]}, "net.request", "is no host"),
        ({"hosts": ["m\u00fcnchen.example"]}, "net.request", "is no host"),
        ({"tools": ["a[b]"]}, "mcp.call", "tools[0]: bad glob"),
        ({"arguments": {"p": {"under": ["x"]}}}, "mcp.call", "arguments.p.under[0]: bad glob"),
    ],
)  # fmt: skip
def test_refused(conditions: dict[str, Any], operation: str, word: str) -> None:
    with pytest.raises(PolicyError) as caught:
        build.policy(
            rule("a", "allow", operation, **conditions), groups={"g": ["cat"], "nested": ["@g"]}
        )
    assert word in str(caught.value)
    assert caught.value.line is not None


@pytest.mark.parametrize(
    "host", ["a.example", "*.a.example", "*", "10.0.0.1", "::1", "A.Example", "x_y.z"]
)
def test_hosts_accepted(host: str) -> None:
    assert build.policy(rule("a", "allow", "net.request", hosts=[host])).rules


def test_a_bad_protected_entry_is_refused_where_it_stands() -> None:
    with pytest.raises(PolicyError, match=r"protected\[1\]: bad glob"):
        build.policy(rule("a", "deny", "unknown"), protected=["**/x", "y"])
