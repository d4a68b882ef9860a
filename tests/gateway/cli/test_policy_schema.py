"""`policy schema`: every key and word of a policy, in step with the file that is shipped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.cli.main import main
from gateway.cli.policy_schema import schema
from gateway.decide.schema import Main, Rule
from gateway.decide.yaml_strict import read
from gateway.model.names import Operation
from tests.support.gate import ROOT

SHIPPED = ROOT / "policies" / "schema.json"


def test_the_shipped_schema_is_in_step() -> None:
    assert json.loads(SHIPPED.read_text()) == schema()


def test_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
    assert main(["policy", "schema", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_it_has_every_key_and_word_and_nothing_else_is_accepted() -> None:
    made = schema()
    assert set(made["properties"]) == set(Main.model_fields)
    rule = made["$defs"]["Rule"]
    assert set(rule["properties"]) == set(Rule.model_fields)
    assert set(made["$defs"]["Operation"]["enum"]) == set(map(str, Operation))
    for part in (made, *made["$defs"].values()):
        assert part.get("additionalProperties", part.get("enum")) in (False, part.get("enum"))


@pytest.mark.parametrize("name", ["default.yaml", "demo.yaml"])
def test_the_shipped_policies_fit_it(name: str) -> None:
    value: Any = read(name, (ROOT / "policies" / name).read_bytes()).value
    fit(value, schema(), schema())


def test_what_does_not_fit_is_noticed() -> None:
    whole = schema()
    good = {"version": 1, "rules": ({"id": "a", "effect": "allow", "operations": ("fs.read",)},)}
    fit(good, whole, whole)
    for change in ({"colour": 1}, {"version": "1"}, {"default": "allow"}, {"rules": ({"id": 1},)}):
        with pytest.raises(AssertionError):
            fit({**good, **change}, whole, whole)


TYPES = {"object": dict, "array": tuple, "string": str, "integer": int, "boolean": bool}


def fit(value: Any, node: dict[str, Any], whole: dict[str, Any]) -> None:
    """The few words of JSON Schema that the document uses."""
    if "$ref" in node:
        node = {**whole["$defs"][node["$ref"].rpartition("/")[2]], **node}
    if "const" in node:
        assert value == node["const"]
        assert type(value) is type(node["const"])
    if "enum" in node:
        assert value in node["enum"]
    if "type" in node and node["type"] in TYPES:
        assert isinstance(value, TYPES[node["type"]])
    if isinstance(value, dict):
        assert set(node.get("required", ())) <= set(value)
        more = node.get("additionalProperties", True)
        for name, member in value.items():
            known = node.get("properties", {})
            if name in known:
                fit(member, known[name], whole)
            else:
                assert more is not False, name
                if isinstance(more, dict):
                    fit(member, more, whole)
    if isinstance(value, tuple) and "items" in node:
        for member in value:
            fit(member, node["items"], whole)
