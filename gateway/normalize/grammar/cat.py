"""cat: concatenates files. GNU coreutils and compatible ones."""

from __future__ import annotations

from typing import Final

from gateway.normalize.grammar.model import Tool, flags

TOOL: Final = Tool(
    name="cat",
    stdin=True,
    options=flags(
        "-n --number",
        "-b --number-nonblank",
        "-s --squeeze-blank",
        "-A --show-all",
        "-E --show-ends",
        "-T --show-tabs",
        "-v --show-nonprinting",
        "-e",
        "-t",
    ),
)
