"""The programs whose argv is understood: one table per program.

`find` has its own small language (:mod:`gateway.normalize.grammar.find`), `git` a table per
subcommand (:mod:`gateway.normalize.grammar.git`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.normalize.grammar import cat, grep, head, ls, tail, wc
from gateway.normalize.grammar.model import Tool

TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool for tool in (cat.TOOL, head.TOOL, tail.TOOL, wc.TOOL, ls.TOOL, grep.TOOL)
}
