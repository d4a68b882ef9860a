"""Rules that allow more than anyone means to: what they cover, and a point in it that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gateway.decide.analysis.automata import Language, difference
from gateway.decide.analysis.space import ARGV_SEPARATOR, Area, Point, anything, point_in
from gateway.decide.conditions import basename
from gateway.decide.glob import Glob, Wild
from gateway.model.names import Operation

INTERPRETERS: Final = frozenset(
    {"bash", "sh", "dash", "zsh", "fish", "ksh", "python", "python3", "perl", "ruby", "node", "php"}
    | {"env", "xargs", "sudo", "make", "npm", "npx", "docker", "ssh", "awk", "gdb", "tclsh", "lua"}
)
"""Programs whose arguments, or whose files in the workspace, are programs themselves."""

Broad = Iterator[tuple[str, Point]]


def broad(area: Area, roots: Mapping[str, str]) -> Broad:
    """Yield what an area covers too much of, each with a point in it."""
    judge = _JUDGES.get(area.operation)
    if judge is not None:
        yield from judge(area, roots)


def _changes(area: Area, roots: Mapping[str, str]) -> Broad:
    for root in roots.values():
        whole = Language(exact=(Glob(text=root, tokens=(root, Wild.SUBTREE)),))
        if difference(whole, area.sets["path"]).none:
            point = point_in(area, likely={"path": [f"{root}/example"]})
            if point is not None:
                yield f"it allows {area.operation} everywhere beneath {root}", point
            return


def _commands(area: Area, _roots: Mapping[str, str]) -> Broad:
    for glob in area.sets["argv"].exact:
        argv = glob.literal.split(ARGV_SEPARATOR)
        if basename(argv[0]) in INTERPRETERS:
            point = point_in(area, likely={"argv": [glob.literal]})
            if point is not None:
                yield f"{argv[0]} runs what others write; nothing looks at that", point


def _anything(dimension: str, words: str) -> Callable[[Area, Mapping[str, str]], Broad]:
    def judge(area: Area, _roots: Mapping[str, str]) -> Broad:
        if difference(anything(dimension), area.sets[dimension]).none:
            point = point_in(area)
            if point is not None:
                yield words, point

    return judge


_JUDGES: Final[Mapping[Operation, Callable[[Area, Mapping[str, str]], Broad]]] = {
    Operation.FS_WRITE: _changes,
    Operation.FS_DELETE: _changes,
    Operation.SHELL_RUN: _commands,
    Operation.NET_REQUEST: _anything("host", "it allows requests to any host"),
    Operation.MCP_CALL: _anything("tool", "it allows every tool: name them"),
    Operation.MCP_RESOURCE: _anything("tool", "it allows every resource: name them in `uris`"),
    Operation.API_CALL: _anything("api_operation", "it allows every operation of every API"),
}
