"""What the pages show is true: policies and configurations load, the tests they name exist.

A fence `yaml policy` is a whole policy, `yaml layer` one that narrows, `yaml file=NAME` a file that lies beside it, `yaml config`
a configuration of the gateway, `toml broker` one of the broker.
"""

from __future__ import annotations

import ast
import re

import pytest

from broker.config import load
from gateway.assembly.config import parse_config
from gateway.assembly.policies import load_policy
from gateway.cli.main import VERBS, main
from gateway.decide.examples import check_examples
from tests.repo.tree import ROOT, parsed

DOCS = ROOT / "docs"
FENCE = re.compile(r"^```([a-z]+ [a-z]+(?:=\S+)?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")
LINK = re.compile(r"\]\(([^)#:]+)\)")


def _blocks(page, wanted):
    text = (DOCS / page).read_text(encoding="utf-8")
    return [body for info, body in FENCE.findall(text) if info == wanted]


def _beside(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    marked = [(info.split(" ")[1], body) for info, body in FENCE.findall(text)]
    return {name.removeprefix("file="): body for name, body in marked if name.startswith("file=")}


@pytest.mark.parametrize("body", _blocks("policy.md", "yaml policy"))
def test_every_policy_shown_can_be_used(tmp_path, body, capsys):
    for name, text in _beside("policy.md").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "policy.yaml"
    path.write_text(body, encoding="utf-8")
    status = main(["policy", "check", str(path)])
    assert status == 0, capsys.readouterr().err


@pytest.mark.parametrize("body", _blocks("policy.md", "yaml layer"))
def test_every_layer_shown_can_be_used(tmp_path, body):
    path = tmp_path / ".counterfoil.yaml"
    path.write_text(body, encoding="utf-8")
    layer = load_policy(path, roots={"workspace": str(tmp_path)}, layer="project", beneath=True)
    assert not check_examples(layer.policy)


@pytest.mark.parametrize("body", _blocks("configuration.md", "yaml config"))
def test_every_configuration_shown_can_be_used(body):
    assert parse_config(body.encode(), "configuration.md").version == 1


@pytest.mark.parametrize("body", _blocks("configuration.md", "toml broker"))
def test_every_broker_configuration_shown_can_be_used(tmp_path, body):
    path = tmp_path / "broker.toml"
    path.write_text(body, encoding="utf-8")
    assert load(path).catalogue


def test_the_pages_show_some_of_each():
    assert len(_blocks("policy.md", "yaml policy")) > 5
    assert _blocks("policy.md", "yaml layer")
    assert _blocks("configuration.md", "yaml config")
    assert _blocks("configuration.md", "toml broker")


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_every_test_a_page_names_exists(page):
    named = NAMED.findall((DOCS / page).read_text(encoding="utf-8"))
    missing = [f"{path}::{name}" for path, name in named if name not in _tests(path)]
    assert not missing


def test_every_threat_is_numbered_once_and_in_order():
    text = (DOCS / "threat_model.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^\| THREAT-(\d\d) ", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 35


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_every_link_of_a_page_leads_somewhere(page):
    links = LINK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert not [link for link in links if not (DOCS / link).exists()]


def test_every_verb_has_its_section():
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert not [verb for verb in VERBS if not re.search(rf"^## {verb}\b", text, re.MULTILINE)]


def _tests(path):
    full = ROOT / path
    if not full.is_file():
        return set()
    return {node.name for node in ast.walk(parsed(full)) if isinstance(node, ast.FunctionDef)}
