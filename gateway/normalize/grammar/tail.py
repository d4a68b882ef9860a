"""tail: the last lines or bytes of files. Following a file is not accepted: it never ends."""

from __future__ import annotations

from typing import Final

from gateway.normalize.grammar.model import Tool, flags, valued

_FOLLOW: Final = "following never ends; read the file again instead"

TOOL: Final = Tool(
    name="tail",
    stdin=True,
    number="lines",
    options=(
        *flags("-q --quiet", "-v --verbose", "-z --zero-terminated"),
        *valued("count", "-n --lines", "-c --bytes"),
    ),
    hints=(("-f", _FOLLOW), ("-F", _FOLLOW), ("--follow", _FOLLOW)),
)
