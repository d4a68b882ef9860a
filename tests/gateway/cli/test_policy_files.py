"""Files named on the command line are read as what they are meant to be."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from gateway.cli.policy_files import load_as, registered_path, registered_roots
from gateway.errors import PolicyError
from tests.support.gate import Gate

RULES = "rules: [{id: a, effect: deny, operations: [fs.read]}]\n"


def args(gate: Gate) -> argparse.Namespace:
    return argparse.Namespace(config=str(gate.config), state_dir=str(gate.state_dir))


def test_the_name_says_the_role_unless_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / ".counterfoil.yaml"
    path.write_text("version: 1\ndefault: abstain\n" + RULES, encoding="utf-8")
    loaded = load_as(path, None, {"workspace": str(tmp_path)})
    assert loaded.policy.layer == "project"
    assert load_as(path, "narrowing", {"workspace": "/ws"}).policy.layer == "narrowing"
    with pytest.raises(PolicyError):
        load_as(path, "user", None)


def test_what_is_registered(gate: Gate) -> None:
    assert registered_path(args(gate)) == gate.policy
    assert registered_roots(args(gate)) == {"workspace": str(gate.workspace)}
    gate.config.write_text("version: 1\n")
    assert registered_path(args(gate)) is None
    assert registered_roots(args(gate)) is None
    gate.config.write_text("version: 2\n")
    assert registered_roots(args(gate)) is None
