"""`counterfoil policy schema`: the JSON Schema of policy files, for editors and other tools."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Final

from gateway.cli.main import say
from gateway.decide.schema import Main

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def add_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", action="store_true", help="print it on one line")


def run(args: argparse.Namespace) -> int:
    """Print it."""
    shown = json.dumps(schema(), indent=None if args.json else 2)
    say(shown, sys.stdout)
    return 0


def schema() -> dict[str, Any]:
    """Return the schema: shapes and words, not what names refer to."""
    made: dict[str, Any] = _plain(Main.model_json_schema(by_alias=True))
    return {"$schema": DIALECT, "title": "counterfoil policy", **made}


def _plain(node: Any) -> Any:
    """Drop what says nothing: titles made from names, and that a key may be left out as null."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {name: one for name, one in node.items() if (name, one) not in _NOTHING}
    if isinstance(kept.get("title"), str):
        del kept["title"]
    choices = [one for one in kept.pop("anyOf", []) if one != {"type": "null"}]
    if len(choices) == 1:
        kept = {**choices[0], **kept}
    elif choices:
        kept["anyOf"] = choices
    return {name: _plain(one) for name, one in kept.items()}


_NOTHING: Final[tuple[tuple[str, Any], ...]] = (("default", None), ("default", []), ("default", {}))
