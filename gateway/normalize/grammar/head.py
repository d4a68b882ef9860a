"""head: the first lines or bytes of files."""

from __future__ import annotations

from typing import Final

from gateway.normalize.grammar.model import Tool, flags, valued

TOOL: Final = Tool(
    name="head",
    stdin=True,
    number="lines",
    options=(
        *flags("-q --quiet", "-v --verbose", "-z --zero-terminated"),
        *valued("count", "-n --lines", "-c --bytes"),
    ),
)
