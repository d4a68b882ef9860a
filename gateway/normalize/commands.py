"""shell.run: from a command line or an argv to judged argv lists; there is never a shell.

One argv becomes a :class:`RunCommand`: the resolved program, argv written anew by the program's
grammar, a fixed environment, the open working directory, the file operands that were judged.
Several become a :class:`RunCompound`; each of its segments is normalized as the same argv alone
would be and comes back before it is started.

Without a grammar an argv stays exactly as it was asked, and only a policy rule with that exact argv
can allow it. Every argument that names a file beneath a root is judged as read all the same.

Standard input is a pipe or the null device. A line in which a program reads standard input that no
pipe feeds is refused, since it would read nothing.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.model.action import Action, Refusal
from gateway.model.names import Json, Operation
from gateway.model.plan import RunCommand, RunCompound, Segment
from gateway.model.request import ActionRequest
from gateway.model.resource import CommandResource, PathResource, Resource
from gateway.normalize import git, programs, readers, shell_line
from gateway.normalize.build import (
    Descriptors,
    Param,
    accepted,
    check_params,
    identity_json,
    refused,
    text,
)
from gateway.normalize.grammar import TOOLS, find
from gateway.normalize.path import Located, Refused, lexical, locate
from gateway.normalize.place import place
from gateway.normalize.settings import Settings
from gateway.normalize.understood import NotUnderstood, Opened, Place, Understood

ENVIRONMENT: Final[Mapping[str, str]] = {
    "PATH": ":".join(programs.FIXED_PATH),
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "NO_COLOR": "1",
    "TERM": "dumb",
}

_PARAMS: Final = {
    "command_line": Param(required=False),  # its length is judged with the line
    "argv": Param(kind="array of strings", required=False, max_length=programs.MAX_ARGUMENTS),
    "cwd": Param(required=False),
}
_MAX_NAMED: Final = 64
_SEPARATORS: Final = re.compile(r"[\s'\"<>|&;()$`={}]+")


def normalize_command(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `shell.run {command_line | argv, cwd?}`."""
    refusal = check_params(request.tool, request.params, _PARAMS)
    if refusal is None and ("command_line" in request.params) == ("argv" in request.params):
        message = "params needs exactly one of command_line and argv"
        refusal = Refusal(reason="params_invalid", message=message)
    if refusal is not None:
        return _refuse_request(request, settings, refusal)
    parts = _parts(request)
    if isinstance(parts, Refusal):
        return _refuse_request(request, settings, parts)
    if len(parts) == 1:
        action, starved = _one(request, parts[0].argv, settings)
        if starved and "command_line" in request.params:
            action.release()
            return refused(
                request, Operation.SHELL_RUN, _no_input(parts[0].argv[0]), *action.resources
            )
        return action
    return _compound(request, parts, settings)


def _parts(request: ActionRequest) -> tuple[shell_line.Part, ...] | Refusal:
    argv = request.params.get("argv")
    if isinstance(argv, Sequence) and not isinstance(argv, str):
        return (shell_line.Part(joiner=None, argv=tuple(str(word) for word in argv)),)
    return shell_line.parse_line(text(request.params, "command_line"))


def _one(request: ActionRequest, argv: tuple[str, ...], settings: Settings) -> tuple[Action, bool]:
    """Normalize one argv; also return whether it reads standard input."""
    executable = _program(argv, settings)
    if isinstance(executable, Refusal):
        return _refuse(request, argv, settings, NotUnderstood(refusal=executable)), False
    cwd = text(request.params, "cwd", ".")
    located = locate(
        settings.roots, cwd, operation=Operation.FS_LIST, want="directory", guard=settings.guard
    )
    if isinstance(located, Refused):
        named = () if located.resource is None else (located.resource,)
        why = NotUnderstood(refusal=located.refusal, resources=named)
        return _refuse(request, argv, settings, why), False
    owned = Descriptors()
    owned.own(located.fd)
    root = next(one for one in settings.roots.all if one.name == located.resource.root)
    place_ = Place(root=root, relative=located.relative)
    understood = _understand(executable.name, argv, place_, settings)
    if isinstance(understood, NotUnderstood):
        owned.close()
        return _refuse(request, argv, settings, understood), False
    # The root itself is where commands run; any other working directory is judged as listed.
    where = () if located.relative == "." else (located.resource,)
    action = _act(request, argv, executable, understood, cwd=place_, where=where, owned=owned)
    return action, understood.stdin


def _program(argv: tuple[str, ...], settings: Settings) -> programs.Executable | Refusal:
    refusal = programs.refuse_argv(argv)
    return refusal or programs.resolve(argv[0], settings.programs, settings.roots)


def _act(
    request: ActionRequest,
    argv: tuple[str, ...],
    executable: programs.Executable,
    understood: Understood,
    *,
    cwd: Place,
    where: tuple[PathResource, ...],
    owned: Descriptors,
) -> Action:
    """Put the action of one argv together; it owns the working directory's descriptor."""
    command = CommandResource(
        operation=understood.operation,
        program=understood.program,
        executable=executable.path,
        argv=argv,
        cwd=cwd.path,
        grammar=understood.grammar,
    )
    environment = {**ENVIRONMENT, **understood.environment}
    plan = RunCommand(
        executable=executable.path,
        executable_identity=executable.identity,
        argv=understood.argv,
        cwd_fd=owned.fds[0],
        cwd=cwd.path,
        environment=environment,
        operands=tuple(one.operand for one in understood.opened),
    )
    picture: dict[str, Json] = {
        "argv": list(understood.argv),
        "spelled": list(argv),
        "executable": {"path": executable.path, "object": identity_json(executable.identity)},
        "cwd": cwd.path,
        "operands": [one.to_json() for one in understood.opened],
        "environment": dict(environment),
    }
    resources = dict.fromkeys((*where, *understood.resources))
    return accepted(
        request, understood.operation, picture, command, *resources, plan=plan, owned=owned
    )


def _understand(
    program: str, argv: tuple[str, ...], cwd: Place, settings: Settings
) -> Understood | NotUnderstood:
    if program == git.PROGRAM:
        return git.understand(argv, cwd, settings)
    if program in TOOLS or program == find.NAME:
        return readers.understand(program, argv, cwd, settings)
    return _exact(program, argv, cwd, settings)


def _exact(program: str, argv: tuple[str, ...], cwd: Place, settings: Settings) -> Understood:
    """Keep an argv without grammar as it is; what it names beneath a root is judged too."""
    resources: dict[PathResource, None] = {}
    opened: list[Opened] = []
    for word in _words(argv[1:]):
        found = locate(
            settings.roots,
            word,
            operation=Operation.FS_READ,
            cwd=cwd.path,
            want="any",
            guard=settings.guard,
        )
        if isinstance(found, Located):
            os.close(found.fd)
            opened.append(Opened.of(found))
            resources[
                replace(found.resource, operation=Operation.FS_LIST)
                if found.is_directory
                else found.resource
            ] = None
        elif found.resource is not None and _is_protected(found.resource, settings):
            resources[found.resource] = None
    return Understood(
        operation=Operation.SHELL_RUN,
        program=program,
        argv=argv,
        resources=tuple(resources),
        opened=tuple(opened),
        grammar=False,
    )


def _words(argv: Sequence[str]) -> Iterator[str]:
    """Yield what may be a path: every argument, and what stands after its `=`."""
    for word in argv:
        if word and not word.startswith("-"):
            yield word
        _, _, value = word.partition("=")
        if value:
            yield value


def _is_protected(resource: PathResource, settings: Settings) -> bool:
    return any(settings.guard.is_protected(one) for one in (resource.path, *resource.also))


def _compound(
    request: ActionRequest, parts: tuple[shell_line.Part, ...], settings: Settings
) -> Action:
    """Normalize every segment as if it came alone; one refusal refuses the line."""
    segments: list[Segment] = []
    pictures: list[Json] = []
    resources: dict[Resource, None] = {}
    problems: list[Refusal] = []
    cwd = {name: request.params[name] for name in ("cwd",) if name in request.params}
    for number, part in enumerate(parts, start=1):
        alone = replace(request, params={"argv": list(part.argv), **cwd})
        action, starved = _one(alone, part.argv, settings)
        action.release()
        resources.update(dict.fromkeys(action.resources))
        problem = action.refusal
        if problem is None and starved and part.joiner != "|":
            problem = _no_input(part.argv[0])
        if problem is not None:
            problems.append(replace(problem, message=f"segment {number}: {problem.message}"))
        elif isinstance(action.plan, RunCommand):
            segments.append(
                Segment(
                    joiner=part.joiner,
                    argv=part.argv,
                    cwd=action.plan.cwd,
                    digest=action.digest,
                )
            )
            pictures.append({"joiner": part.joiner, **action.normalized})
    if problems:
        return refused(request, Operation.SHELL_RUN, problems[0], *resources)
    return accepted(
        request,
        Operation.SHELL_RUN,
        {"segments": pictures},
        *resources,
        plan=RunCompound(segments=tuple(segments)),
    )


def _no_input(name: str) -> Refusal:
    message = f"{name} names no file and no pipe feeds it; name a file"
    return Refusal(reason="sh_operand", message=message)


def _refuse(
    request: ActionRequest, argv: Sequence[str], settings: Settings, why: NotUnderstood
) -> Action:
    """Refuse one argv; what it names stands in the resources."""
    resources = dict.fromkeys((*why.resources, *_named(_words(argv[1:]), request, settings)))
    return refused(request, why.operation, why.refusal, *resources)


def _refuse_request(request: ActionRequest, settings: Settings, refusal: Refusal) -> Action:
    """Refuse before there is an argv; the line is cut at whatever may end a word."""
    line = request.params.get("command_line")
    argv = request.params.get("argv")
    words = _SEPARATORS.split(line[: shell_line.MAX_LINE]) if isinstance(line, str) else []
    if isinstance(argv, (list, tuple)):
        words += [word for word in argv if isinstance(word, str)]
    resources = dict.fromkeys(_named(_words(words), request, settings))
    return refused(request, Operation.SHELL_RUN, refusal, *resources)


def _named(
    words: Iterable[str], request: ActionRequest, settings: Settings
) -> Iterator[PathResource]:
    """Yield, by spelling, the protected paths a refused command names."""
    cwd = request.params.get("cwd")
    base = cwd if isinstance(cwd, str) and lexical(cwd) is None else None
    for word in itertools.islice(words, _MAX_NAMED):
        placed = place(settings.roots, word, Operation.FS_READ, base)
        if placed.resource is not None and _is_protected(placed.resource, settings):
            yield placed.resource
