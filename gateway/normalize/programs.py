"""Programs: from argv[0] to one trusted executable file, or a refusal.

A bare name is looked for on the fixed path only, never on anybody's PATH. What is found is
followed through its symlinks; the file and every directory and link on the way must belong to root
and be writable by nobody else. Other programs need their absolute path in the configuration; they
may belong to the gateway's own user, but neither they nor their directories may be writable by
group or others. Nothing beneath a declared root is a program: the agent can write there.

By base name, wherever argv comes from, shell builtins and programs whose work is to run another
program are refused: with those a judged argv would not be the argv that runs.

Source: CWE-426 (untrusted search path), CWE-427.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.kit import posix
from gateway.model.action import Refusal
from gateway.model.plan import Identity
from gateway.normalize.roots import Roots
from gateway.normalize.spelling import components

FIXED_PATH: Final = ("/usr/bin", "/bin")
MAX_ARGV_BYTES: Final = 8192
MAX_ARGUMENTS: Final = 512

_MAX_LINKS: Final = 16
_BUILTIN_NAMES: Final = (
    ". : alias bg bind break builtin caller cd command compgen complete compopt continue"
    " declare dirs disown enable eval exec exit export fc fg getopts hash help history jobs"
    " let local logout mapfile popd pushd read readarray readonly return set shift shopt"
    " source suspend times trap type typeset ulimit umask unalias unset wait"
)
_MULTI_CALL: Final = frozenset({"busybox", "toybox", "coreutils"})
_WRAPPER_NAMES: Final = (
    "at batch bwrap capsh catchsegv choom chpst chroot chrt coproc cpulimit crontab daemonize"
    " dbus-launch dbus-run-session doas dumb-init eatmydata entr env expect fakechroot"
    " fakeroot faketime firejail flock gdb i386 ionice ld.so linux32 linux64 ltrace newgrp"
    " nice nohup nsenter numactl parallel perf pkexec prlimit proot rlwrap run-parts runcon"
    " runuser script scriptreplay setarch setpriv setsid sg softlimit ssh-agent sshpass start-"
    " stop-daemon stdbuf strace su sudo sudoedit systemd-run taskset time timeout tini torify"
    " torsocks tsocks uname26 unbuffer unshare valgrind watch x86_64 xargs xvfb-run"
)
_BUILTINS: Final = frozenset(_BUILTIN_NAMES.split())
_WRAPPERS: Final = _MULTI_CALL | frozenset(_WRAPPER_NAMES.split())
_LOADER: Final = re.compile(r"ld(?:-linux.*|-[0-9.]+|-musl.*)?\.so(?:\.[0-9]+)*\Z")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_+.-]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Executable:
    """A trusted program: its plain name, its real path, which object it is."""

    name: str
    path: str
    identity: Identity


def refuse_argv(argv: Sequence[str]) -> Refusal | None:
    """Return why nothing may be started by this argv, whatever program it finds; or None."""
    if not argv or not argv[0]:
        return Refusal(reason="sh_syntax", message="argv is empty; argv[0] names the program")
    if len(argv) > MAX_ARGUMENTS:
        message = f"argv has {len(argv)} items; the limit is {MAX_ARGUMENTS}"
        return Refusal(reason="sh_too_long", message=message)
    try:
        size = sum(len(word.encode()) + 1 for word in argv)
    except UnicodeEncodeError:
        return Refusal(reason="sh_syntax", message="an item of argv has a lone surrogate")
    if size > MAX_ARGV_BYTES:
        message = f"argv is {size} bytes; the limit is {MAX_ARGV_BYTES}"
        return Refusal(reason="sh_too_long", message=message)
    if any("\0" in word for word in argv):
        return Refusal(reason="sh_syntax", message="an item of argv has a NUL")
    return _refuse_name(argv[0].rpartition("/")[2])


def resolve(argv0: str, configured: Mapping[str, str], roots: Roots) -> Executable | Refusal:
    """Find the program that argv[0] names; an absolute argv[0] must be the file its name finds."""
    name = _name_of(argv0, configured)
    if not _PLAIN.match(name) or ("/" in argv0 and not argv0.startswith("/")):
        message = (
            f"{argv0[:128]!r} is not the name of a program on {':'.join(FIXED_PATH)}, nor the"
            " absolute path of one"
        )
        return Refusal(reason="sh_program_unknown", message=message)
    found = _find(name, configured, roots)
    if isinstance(found, Refusal) or argv0 == name:
        return found
    asked = _trusted(argv0, roots, owners=_owners(name, configured))
    if isinstance(asked, str):
        return Refusal(reason="sh_program_untrusted", message=asked)
    if asked is None or (asked[1].st_dev, asked[1].st_ino) != (
        found.identity.device,
        found.identity.inode,
    ):
        message = f"{argv0[:128]!r} is not the program {name!r} ({found.path}); use the plain name"
        return Refusal(reason="sh_program_unknown", message=message)
    return found


def _find(name: str, configured: Mapping[str, str], roots: Roots) -> Executable | Refusal:
    if name in configured:
        places: tuple[str, ...] = (configured[name],)
    else:
        places = tuple(f"{directory}/{name}" for directory in FIXED_PATH)
    for place in places:
        found = _trusted(place, roots, owners=_owners(name, configured))
        if found is None:
            continue
        if isinstance(found, str):
            return Refusal(reason="sh_program_untrusted", message=found)
        path, status = found
        real = path.rpartition("/")[2]
        refusal = None if real in _MULTI_CALL else _refuse_name(real)
        return refusal or Executable(name=name, path=path, identity=posix.identity(status))
    message = (
        f"no program {name!r} on {':'.join(FIXED_PATH)}; others need their absolute path in the"
        " operator's configuration (programs)"
    )
    return Refusal(reason="sh_program_unknown", message=message)


def _name_of(argv0: str, configured: Mapping[str, str]) -> str:
    """Return the plain name; a configured program is also known by its configured path."""
    for name, path in configured.items():
        if path == argv0:
            return name
    return argv0.rpartition("/")[2]


def _owners(name: str, configured: Mapping[str, str]) -> frozenset[int]:
    return frozenset({0, os.geteuid()}) if name in configured else frozenset({0})


def _refuse_name(base: str) -> Refusal | None:
    if base in _BUILTINS:
        message = f"{base!r} is a shell builtin and there is no shell"
        if base == "cd":
            message += "; give the directory as params.cwd"
        return Refusal(reason="sh_builtin", message=message)
    if base in _WRAPPERS or _LOADER.match(base):
        message = f"{base!r} runs another program; ask for that program itself"
        return Refusal(reason="sh_wrapper", message=message)
    return None


def _trusted(
    path: str, roots: Roots, *, owners: frozenset[int]
) -> tuple[str, os.stat_result] | str | None:
    """Follow a path link by link, judging every step.

    Returns the real path and what is there, the reason why it is not trusted, or None when there
    is no such executable file.
    """
    waiting = _steps(path)
    real: list[str] = []
    links = 0
    status = os.lstat("/")
    problem = _problem("/", status, owners)
    while waiting and problem is None:
        part = waiting.pop()
        if part == "..":
            del real[-1:]
            continue
        here = "/" + "/".join((*real, part))
        try:
            status = os.lstat(here)
        except OSError:
            return None
        problem = _problem(here, status, owners)
        if not stat.S_ISLNK(status.st_mode):
            real.append(part)
            continue
        links += 1
        if links > _MAX_LINKS:
            return None
        target = os.readlink(here)  # noqa: PTH115 - a string, judged component by component
        if target.startswith("/"):
            real.clear()
        waiting.extend(_steps(target))
    if problem is not None:
        return problem
    if not stat.S_ISREG(status.st_mode) or not status.st_mode & 0o111:
        return None
    if roots.above(real) is not None:
        return f"/{'/'.join(real)} lies beneath a declared root, where the agent may write"
    return "/" + "/".join(real), status


def _steps(path: str) -> list[str]:
    """Return the components of a path, the first one last."""
    return [part for part in reversed(components(path)) if part]


def _problem(here: str, status: os.stat_result, owners: frozenset[int]) -> str | None:
    if status.st_uid not in owners:
        return f"{here} does not belong to root"
    if stat.S_ISLNK(status.st_mode):
        return None
    if status.st_mode & 0o022:
        return f"{here} can be written by group or others"
    return None
