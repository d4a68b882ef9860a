"""git: the subcommands that only read, in a repository that configures nothing to run.

Before the subcommand stand fixed settings, around it a fixed environment: no configuration but the
repository's own (judged by :mod:`gateway.normalize.git_repository`), no hooks, no fsmonitor, no
transport, no locks, no replaced objects, the repository given and not looked for. After it stand
`--no-ext-diff --no-textconv --ignore-submodules=all`: a submodule has a configuration of its own.

What shows content (diff, show, log with a patch) reads the work tree, or the paths after `--`, and
every tracked file there; each is an fs.read resource. Another branch or history may hold a file
that is not tracked now: the globs the policy protects or denies, where they can be written as
pathspecs, are left out of every such command. `git show REV:path` reads that path. Objects are only
reached through commits. Attribute files are read too, and git prints what is wrong in them: one
that has another name (hard link) is a resource.

What it cannot see: a file kept in history under another name than the policy speaks of, and globs
that cross into the work tree through a wildcard (they still guard tracked names).

Source: git-config(1), gitglossary(7) pathspec, CVE-2022-24765.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from gateway.model.action import Refusal
from gateway.model.names import Operation
from gateway.model.resource import PathResource
from gateway.normalize import git_repository, git_revision, walk
from gateway.normalize.git_repository import Repository
from gateway.normalize.grammar import engine
from gateway.normalize.grammar.git import QUIET, REMOTE, SHOWS_CONTENT, SUBCOMMANDS, WRITES
from gateway.normalize.grammar.model import KINDS, Parsed
from gateway.normalize.path import lexical
from gateway.normalize.place import Refused, place
from gateway.normalize.settings import Settings
from gateway.normalize.understood import NotUnderstood, Place, Understood

PROGRAM: Final = "git"

_FIXED: Final = (
    "--no-pager",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "protocol.allow=never",
    "-c", "protocol.ext.allow=never",
    "-c", "log.showSignature=false",
)  # fmt: skip
_CONVERTS: Final = frozenset({"status", "diff"})  # they compare the work tree, by its attributes
_ATTRIBUTES: Final = ".gitattributes"
_NO_SUBMODULES: Final = "--ignore-submodules=all"
_SAFE_DIFF: Final = ("--no-ext-diff", "--no-textconv", _NO_SUBMODULES)
_AFTER: Final = {
    "status": (_NO_SUBMODULES,),
    "diff": _SAFE_DIFF,
    "show": _SAFE_DIFF,
    "log": _SAFE_DIFF,
    "branch": (),
}
_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}


class _Stop(Exception):  # noqa: N818 - it carries a verdict to the edge of this module
    def __init__(self, refusal: Refusal, *resources: PathResource) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
        self.resources = resources


def understand(argv: Sequence[str], cwd: Place, settings: Settings) -> Understood | NotUnderstood:
    """Read the argv of git."""
    operation = _operation(argv[1] if len(argv) > 1 else "")
    try:
        return _understand(argv, cwd, settings)
    except _Stop as stop:
        return NotUnderstood(refusal=stop.refusal, operation=operation, resources=stop.resources)


def _operation(subcommand: str) -> Operation:
    if subcommand in SUBCOMMANDS:
        return Operation.GIT_READ
    if subcommand in WRITES:
        return Operation.GIT_WRITE
    return Operation.GIT_REMOTE if subcommand in REMOTE else Operation.UNKNOWN


def _understand(argv: Sequence[str], cwd: Place, settings: Settings) -> Understood:
    subcommand = argv[1] if len(argv) > 1 else ""
    tool = SUBCOMMANDS.get(subcommand)
    if tool is None:
        raise _Stop(_no_subcommand(subcommand))
    parsed = engine.parse(tool, argv[2:])
    if isinstance(parsed, Refusal):
        raise _Stop(parsed)
    repository = git_repository.find(settings.roots, settings.guard, cwd.root, cwd.relative)
    if isinstance(repository, Refusal):
        raise _Stop(repository)
    top = PathResource(
        operation=Operation.FS_LIST, path=repository.worktree, root=repository.root.name
    )
    if subcommand == "branch":
        parsed, resources = _branch(parsed), [top]
    else:
        parsed, named = _files(
            subcommand, parsed, repository, cwd, settings, separated="--" in argv
        )
        resources = [top, *named]
    words = engine.serialize(parsed)
    return Understood(
        operation=Operation.GIT_READ,
        program=PROGRAM,
        argv=(argv[0], *_FIXED, subcommand, *_AFTER[subcommand], *words),
        resources=tuple(dict.fromkeys((*resources, *repository.elsewhere))),
        opened=repository.judged,
        environment={
            **_ENVIRONMENT,
            "GIT_DIR": repository.git_dir,
            "GIT_WORK_TREE": repository.worktree,
        },
    )


def _no_subcommand(subcommand: str) -> Refusal:
    accepted = ", ".join(SUBCOMMANDS)
    if subcommand.startswith("-"):
        message = (
            f"git option {subcommand[:64]!r} before the subcommand is not accepted; the directory"
            " is params.cwd"
        )
        return Refusal(reason="sh_option", message=message)
    message = f"git {subcommand[:64]!r} is not accepted; accepted are {accepted}"
    return Refusal(reason="git_subcommand", message=message)


def _branch(parsed: Parsed) -> Parsed:
    """Make sure that branches are listed, whatever the operands."""
    if parsed.has("show-current"):
        if parsed.operands:
            raise _Stop(_bad_operand("git branch --show-current takes no operand"))
        return parsed
    if parsed.operands and not parsed.has("list"):
        raise _Stop(_bad_operand("git branch NAME makes a branch; write --list before a pattern"))
    for pattern in parsed.operands:
        if not KINDS["glob"].fullmatch(pattern.replace("/", "_")):
            raise _Stop(_bad_operand(f"{pattern[:64]!r} is no plain pattern of branch names"))
    if parsed.has("list"):
        return parsed
    return replace(parsed, options=(("list", None), *parsed.options))


def _files(
    subcommand: str,
    parsed: Parsed,
    repository: Repository,
    cwd: Place,
    settings: Settings,
    *,
    separated: bool,
) -> tuple[Parsed, list[PathResource]]:
    """Judge revisions and paths; return the command as it is to be, and what it reaches."""
    reads = parsed.has(*SHOWS_CONTENT) or (
        subcommand in {"diff", "show"} and not parsed.has(*QUIET)
    )
    if subcommand == "show" and parsed.operands and all(":" in one for one in parsed.operands):
        reads = False  # only files of a commit, each judged by its own path
    operation = Operation.FS_READ if reads else Operation.FS_LIST
    spelled = parsed.paths if parsed.tool.split else parsed.operands
    beneath = [_path(one, operation, repository, cwd, settings) for one in spelled]
    resources = [resource for _, resource in beneath]
    inside = [relative for relative, _ in beneath]
    pathspecs = [f":(top,literal){relative}" for relative in inside]
    revisions: list[str] = []
    if parsed.tool.split:
        for word in parsed.operands:
            revision, named = _revision(word, subcommand, repository, separated=separated)
            if named is None and not separated:
                _not_a_file(word, cwd, settings)
            revisions.append(revision)
            resources += [] if named is None else [named]
    if reads or subcommand in _CONVERTS:
        names = git_repository.tracked(settings.roots, settings.guard, repository)
        if isinstance(names, Refusal):
            raise _Stop(names)
        resources += _attributes(repository, settings, names)
        if reads:
            resources += _contents(subcommand, repository, settings, inside, names)
            pathspecs += _left_out(repository, settings.left_out)
    if parsed.tool.split:
        return engine.with_operands(parsed, tuple(revisions), tuple(pathspecs)), resources
    return engine.with_operands(parsed, tuple(pathspecs)), resources


def _path(
    spelled: str, operation: Operation, repository: Repository, cwd: Place, settings: Settings
) -> tuple[str, PathResource]:
    """Place a path by spelling (it need not exist any more) beneath the work tree."""
    target = place(settings.roots, spelled, operation, cwd.path)
    if isinstance(target, Refused):
        raise _Stop(target.refusal, *(() if target.resource is None else (target.resource,)))
    path = target.resource.path
    if path == repository.worktree:
        return "", target.resource
    top = repository.worktree.rstrip("/") + "/"
    if not path.startswith(top):
        refusal = _bad_operand(f"{path[:256]} is outside the work tree {repository.worktree}")
        raise _Stop(refusal, target.resource)
    return path[len(top) :], target.resource


def _revision(
    word: str, subcommand: str, repository: Repository, *, separated: bool
) -> tuple[str, PathResource | None]:
    show = subcommand == "show"
    revision = git_revision.parse(word, ranges=not show, paths=show)
    if isinstance(revision, Refusal):
        hint = "" if separated else "; files come after `--`"
        raise _Stop(replace(revision, message=revision.message + hint))
    if revision.path is None:
        return revision.text, None
    path = revision.path.rstrip("/")
    resource = PathResource(
        operation=Operation.FS_READ,
        path=posixpath.normpath(f"{repository.worktree}/{path}"),
        root=repository.root.name,
    )
    refusal = lexical(revision.path)
    if refusal is None and (
        revision.path.startswith("/") or {".", ".."} & set(revision.path.split("/"))
    ):
        refusal = _bad_operand(
            f"{word[:64]!r}: the path of REV:path is written from the top of the work tree"
        )
    if refusal is not None:
        raise _Stop(refusal, resource)
    return revision.text, resource


def _not_a_file(word: str, cwd: Place, settings: Settings) -> None:
    """Refuse a word that names a file: git would guess which is meant."""
    target = place(settings.roots, word, Operation.FS_LIST, cwd.path)
    if not isinstance(target, Refused) and os.path.lexists(target.resource.path):
        refusal = _bad_operand(f"{word[:64]!r} is a file; write `-- {word[:64]}`")
        raise _Stop(refusal, target.resource)


def _attributes(
    repository: Repository, settings: Settings, names: Iterable[str]
) -> list[PathResource]:
    """Return the attribute files beside tracked files that have another name, too."""
    directories = {""}
    for name in names:
        above = name.rpartition("/")[0]
        while above not in directories:
            directories.add(above)
            above = above.rpartition("/")[0]
    spelled = (f"{one}/{_ATTRIBUTES}".lstrip("/") for one in directories)
    met = [one for name in spelled if (one := _look(repository, name, in_work_tree=True)).links > 1]
    return _read_resources(repository, settings, met)


def _contents(
    subcommand: str,
    repository: Repository,
    settings: Settings,
    inside: Sequence[str],
    names: tuple[str, ...],
) -> list[PathResource]:
    """Return every tracked file whose content the command may show, and the tree if it is all."""
    everything: list[PathResource] = []
    if not inside:
        top = PathResource(
            operation=Operation.FS_READ,
            path=repository.worktree,
            root=repository.root.name,
            named=False,
        )
        everything.append(top)
    if inside and "" not in inside:
        exact = set(inside)
        starts = tuple(f"{one}/" for one in inside)
        names = tuple(one for one in names if one in exact or one.startswith(starts))
    if len(names) > walk.MAX_ENTRIES:
        message = (
            f"git {subcommand} reaches more than {walk.MAX_ENTRIES} tracked files; name a"
            " directory after `--`, or use --stat"
        )
        raise _Stop(Refusal(reason="sh_walk_limit", message=message))
    work = subcommand == "diff"
    met = [_look(repository, name, in_work_tree=work) for name in names]
    return everything + _read_resources(repository, settings, met)


def _read_resources(
    repository: Repository, settings: Settings, met: Iterable[walk.Met]
) -> list[PathResource]:
    top = repository.worktree.rstrip("/")
    files = ((f"{top}/{one.relative}", one) for one in met)
    found = walk.read_resources(settings.guard, repository.root.path, repository.root.name, files)
    if isinstance(found, Refusal):
        raise _Stop(found)
    return found


def _look(repository: Repository, name: str, *, in_work_tree: bool) -> walk.Met:
    """Look how many names a tracked file has, when its copy in the work tree would be read."""
    links = device = inode = 0
    if in_work_tree:
        relative = name if repository.relative == "." else f"{repository.relative}/{name}"
        with contextlib.suppress(OSError, ValueError):  # not there: then nothing is read
            found = os.stat(relative, dir_fd=repository.root.fd, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode):
                links, device, inode = found.st_nlink, found.st_dev, found.st_ino
    return walk.Met(name, name, "f", 1, max(links, 1), device, inode)


def _left_out(repository: Repository, globs: Iterable[str]) -> list[str]:
    """Write the globs that concern the work tree as pathspecs that leave them out."""
    top = repository.worktree.rstrip("/") + "/"
    written: list[str] = []
    for glob in globs:
        if glob.startswith("/**/"):
            relative = glob[1:]
        elif glob.startswith("**/"):
            relative = glob
        elif glob.startswith(top):
            relative = glob[len(top) :]
        else:
            continue
        written.append(f":(top,exclude,glob,icase){relative}")
        if not relative.endswith("/**"):
            written.append(f":(top,exclude,glob,icase){relative}/**")
    return written


def _bad_operand(message: str) -> Refusal:
    return Refusal(reason="sh_operand", message=message)
