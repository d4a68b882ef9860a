"""The programs that read and list files: every operand opened and judged, every walk walked.

An operand is written anew as what it really is: relative to the working directory when it lies
beneath, else absolute. So a symlink on the way is followed now, once, and not again by the program.
A leading `./` that was typed is kept, since programs print it.

A walk beneath a directory is judged by what it would reach: with grep every file it would read
(`--include`, `--exclude` and `--exclude-dir` count), with ls and find every name that would be
shown. Files that come to be between this look and the program's own are the sandbox's matter.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gateway.model.action import Refusal
from gateway.model.names import Operation
from gateway.model.resource import PathResource
from gateway.normalize import git_files, walk
from gateway.normalize.grammar import TOOLS, engine, find
from gateway.normalize.grammar.model import Parsed
from gateway.normalize.path import Located, Refused, Want, locate
from gateway.normalize.settings import Settings
from gateway.normalize.understood import NotUnderstood, Opened, Place, Understood

_GREP_REMEDY: Final = "name a smaller directory, or use --include, --exclude-dir"
_LIST_REMEDY: Final = "name a smaller directory, or find with -maxdepth"


class _Stop(Exception):  # noqa: N818 - it carries a verdict to the edge of this module
    def __init__(self, refusal: Refusal, resource: PathResource | None = None) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
        self.resource = resource


class _Reach:
    """What one command reaches, gathered; every path is judged once."""

    def __init__(self, settings: Settings, cwd: Place) -> None:
        self.settings = settings
        self.cwd = cwd
        self.budget = walk.Budget()
        self.resources: dict[PathResource, None] = {}
        self.opened: list[Opened] = []

    def operand(self, spelled: str, operation: Operation, want: Want) -> Located:
        """Open an operand; the caller closes its descriptor."""
        found = locate(
            self.settings.roots,
            spelled,
            operation=operation,
            cwd=self.cwd.path,
            want=want,
            guard=self.settings.guard,
        )
        if isinstance(found, Refused):
            raise _Stop(found.refusal, found.resource)
        resource = found.resource
        if found.is_directory:
            resource = replace(resource, operation=Operation.FS_LIST)
        self.resources[resource] = None
        self.opened.append(Opened.of(found))
        return found

    def listed(self, located: Located, relatives: Sequence[str]) -> None:
        """Add names that are shown."""
        top = located.resource.path.rstrip("/")
        for relative in relatives:
            one = PathResource(
                operation=Operation.FS_LIST,
                path=f"{top}/{relative}",
                root=located.resource.root,
                named=False,
            )
            self.resources[one] = None

    def read(self, located: Located, met: Sequence[walk.Met]) -> None:
        """Add files that are read."""
        top = located.resource.path.rstrip("/")
        root = next(r for r in self.settings.roots.all if r.name == located.resource.root)
        found = walk.read_resources(
            self.settings.guard,
            root.path,
            root.name,
            ((f"{top}/{one.relative}", one) for one in met),
        )
        if isinstance(found, Refusal):
            raise _Stop(found)
        self.resources.update(dict.fromkeys(found))


def understand(
    program: str, argv: Sequence[str], cwd: Place, settings: Settings
) -> Understood | NotUnderstood:
    """Read the argv of a program that `TOOLS` or the find grammar knows."""
    reach = _Reach(settings, cwd)
    try:
        if program == find.NAME:
            return _find(argv, reach)
        return _tool(program, argv, reach)
    except _Stop as stop:
        named = () if stop.resource is None else (stop.resource,)
        return NotUnderstood(refusal=stop.refusal, resources=(*reach.resources, *named))


def _tool(program: str, argv: Sequence[str], reach: _Reach) -> Understood:
    tool = TOOLS[program]
    parsed = engine.parse(tool, argv[1:])
    if isinstance(parsed, Refusal):
        raise _Stop(parsed)
    recursive = tool.recursive is not None and parsed.has(tool.recursive)
    operation = Operation.FS_READ if tool.reads else Operation.FS_LIST
    want: Want = "any" if recursive else tool.operand
    walks = parsed.operands or (() if tool.stdin and not recursive else (".",))
    written: list[str] = []
    for spelled in walks:
        located = reach.operand(spelled, operation, want)
        try:
            if located.is_directory and recursive:
                _recursive(parsed, located, reach)
        finally:
            os.close(located.fd)
        written.append(_written(spelled, located, reach.cwd))
    operands = tuple(written) if parsed.operands else ()
    return Understood(
        operation=Operation.SHELL_RUN,
        program=program,
        argv=(argv[0], *engine.serialize(engine.with_operands(parsed, operands))),
        resources=tuple(reach.resources),
        opened=tuple(reach.opened),
        stdin=tool.stdin and not recursive and not operands,
    )


def _recursive(parsed: Parsed, located: Located, reach: _Reach) -> None:
    shown = located.resource.path
    if not parsed.tool.reads:
        hidden = parsed.has("all", "almost-all")
        if parsed.has("directory"):
            return
        met = _walk(located, reach, shown, lambda one: hidden or not one.name.startswith("."))
        names = [
            one.relative
            for one in met
            if hidden or not any(part.startswith(".") for part in one.relative.split("/"))
        ]
        reach.listed(located, names)
        return
    left_out = walk.glob_matcher(parsed.values("exclude-dir"))
    met = _walk(located, reach, shown, lambda one: not left_out(one.name), _GREP_REMEDY)
    files = [one for one in met if one.kind == "f" and _searched(parsed, one.name)]
    if parsed.has("text") and any(git_files.is_object(f"{shown}/{one.relative}") for one in files):
        message = f"grep --text would print git's stored objects; add --exclude-dir={git_files.GIT}"
        raise _Stop(Refusal(reason="git_repository", message=message))
    reach.read(located, files)


def _searched(parsed: Parsed, name: str) -> bool:
    """Whether grep would read a file of this base name: the last glob that matches counts.

    When none matches, the first one given decides: after an --include only what it names is read.
    """
    globs = [(key, value) for key, value in parsed.options if key in {"include", "exclude"}]
    for key, value in reversed(globs):
        if walk.glob_matcher((value or "",))(name):
            return key == "include"
    return not globs or globs[0][0] == "exclude"


def _find(argv: Sequence[str], reach: _Reach) -> Understood:
    parsed = find.parse(argv[1:])
    if isinstance(parsed, Refusal):
        raise _Stop(parsed)
    starts: list[str] = []
    for spelled in parsed.starts or (".",):
        located = reach.operand(spelled, Operation.FS_LIST, "any")
        written = _guarded(_written(spelled, located, reach.cwd))
        starts.append(written)
        try:
            if located.is_directory and parsed.maxdepth != 0:
                _printed(parsed, written, located, reach)
        finally:
            os.close(located.fd)
    tokens: list[find.Token] = []
    for token in parsed.tokens:
        value = token.value
        if token.word == "-newer" and value is not None:
            located = reach.operand(value, Operation.FS_LIST, "any")
            os.close(located.fd)
            value = _guarded(_written(value, located, reach.cwd))
        tokens.append(find.Token(word=token.word, value=value))
    rebuilt = find.Find(
        starts=tuple(starts),
        maxdepth=parsed.maxdepth,
        mindepth=parsed.mindepth,
        tokens=tuple(tokens),
    )
    return Understood(
        operation=Operation.SHELL_RUN,
        program=find.NAME,
        argv=(argv[0], *find.serialize(rebuilt)),
        resources=tuple(reach.resources),
        opened=tuple(reach.opened),
    )


def _printed(parsed: find.Find, start: str, located: Located, reach: _Reach) -> None:
    deepest = walk.MAX_ENTRIES if parsed.maxdepth is None else parsed.maxdepth
    met = _walk(located, reach, located.resource.path, lambda one: one.depth < deepest)
    least = parsed.mindepth or 0
    prefix = start.rstrip("/")
    names = [
        one.relative
        for one in met
        if one.depth >= least
        and find.prints(
            parsed,
            find.Entry(name=one.name, path=f"{prefix}/{one.relative}", kind=one.kind),
        )
        is not False
    ]
    reach.listed(located, names)


def _walk(
    located: Located,
    reach: _Reach,
    shown: str,
    enter: walk.Enter,
    remedy: str = _LIST_REMEDY,
) -> list[walk.Met]:
    met = walk.walk(located.fd, shown, enter=enter, budget=reach.budget, remedy=remedy)
    if isinstance(met, Refusal):
        raise _Stop(met)
    return met


def _written(spelled: str, located: Located, cwd: Place) -> str:
    """Return how the program is told of an operand: what it really is, seen from `cwd`."""
    path = located.resource.path
    if path == cwd.path:
        return "."
    beneath = cwd.path.rstrip("/") + "/"
    if not path.startswith(beneath):
        return path
    relative = path[len(beneath) :]
    return f"./{relative}" if spelled.startswith("./") else relative


def _guarded(written: str) -> str:
    """Make sure that find takes a relative path for one."""
    return f"./{written}" if written[0] in "-(!)," else written
