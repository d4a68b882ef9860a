"""wc: counts lines, words, characters and bytes.

`--files0-from` is left out: it reads names of further files from a file.
"""

from __future__ import annotations

from typing import Final

from gateway.normalize.grammar.model import Tool, flags

TOOL: Final = Tool(
    name="wc",
    stdin=True,
    options=flags("-l --lines", "-w --words", "-c --bytes", "-m --chars", "-L --max-line-length"),
)
