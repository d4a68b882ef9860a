"""Finding, reading and compiling policy files; the loader itself is pure and gets bytes.

Roots are relative to the directory of the policy file, and are resolved to real directories here.
Includes are read beneath that directory only, never through a symlink. A registered policy counts
only while it is the one a person registered: its effective digest stands in the configuration.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from gateway.decide.compile import Policy, compile_policy
from gateway.decide.glob import GlobError, expand
from gateway.decide.parse import PolicyDocument, parse
from gateway.errors import PolicyError
from gateway.kit import posix

MAX_BYTES: Final = 1_048_576
MAX_TOTAL: Final = 4 * MAX_BYTES
MAX_BENEATH: Final = 262_144
"""How much all files of one policy may have; less, where an agent or a repository writes them."""

MakeRoots: TypeAlias = Callable[[PolicyDocument], Mapping[str, str]]


class PolicyDigestError(PolicyError):
    """The registered policy is not the one that was registered."""

    code = "policy_digest_mismatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPolicy:
    """A compiled policy and the absolute paths of the files it was read from.

    `files` no act may reach; `guarded` lie where the agent works and may be read, never changed.
    """

    policy: Policy
    files: tuple[str, ...]
    guarded: tuple[str, ...] = ()


def load_policy(
    path: Path,
    *,
    roots: Mapping[str, str] | MakeRoots | None = None,
    digest: str | None = None,
    layer: str = "",
    beneath: bool = False,
) -> LoadedPolicy:
    """Read and compile one policy.

    Args:
        path: the file.
        roots: real directories to use instead of the file's own (a narrowing policy is judged
            under the roots of the registered one), or what makes them.
        digest: what the effective digest must be.
        layer: the name of a layer beside the policy that decides.
        beneath: the file lies where the agent works; it is read like an include, following no
            symlink, and is guarded instead of out of reach.

    Raises:
        PolicyError: it cannot be read or is refused; with file and line.
        PolicyDigestError: its digest is another.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - lexical on purpose
    read: list[str] = [str(path)]

    limit = MAX_BENEATH if beneath else MAX_TOTAL
    sizes: list[int] = []

    def count(data: bytes, name: str) -> None:
        sizes.append(len(data))
        if sum(sizes) > limit:
            raise PolicyError(f"the policy's files have more than {limit} bytes", source=name)

    def read_include(source: str, relative: str) -> bytes:
        data, name = _include(path.parent, Path(source).parent, relative)
        read.append(name)
        count(data, name)
        return data

    data = _include(path.parent, path.parent, path.name)[0] if beneath else file_bytes(path)
    count(data, str(path))
    document = parse(str(path), data, read_include=read_include)
    if callable(roots):
        roots = roots(document)
    policy = compile_policy(
        document,
        roots=roots if roots is not None else resolve_roots(document, path.parent),
        variables=variables(),
        layer=layer,
    )
    if digest is not None and policy.digest != digest:
        raise PolicyDigestError(
            "the file was changed after it was registered; look at it, then register it with "
            "`counterfoil policy trust`",
            source=str(path),
        )
    files = tuple(read)
    return LoadedPolicy(
        policy=policy, files=() if beneath else files, guarded=files if beneath else ()
    )


def variables() -> Mapping[str, str]:
    """Return the variables of every policy beside its roots."""
    return {"home": posix.home_directory()}


def resolve_roots(document: PolicyDocument, directory: Path) -> dict[str, str]:
    """Return the real absolute directory of every root.

    Raises:
        PolicyError: one is no directory, or is the whole file system.
    """
    found: dict[str, str] = {}
    variables = {"home": posix.home_directory()}
    for name, written in document.roots.items():
        place = document.main.at("roots", name)
        try:
            real = os.path.realpath(directory / expand(written, variables))
        except GlobError as error:
            place.fail(str(error))
        if not Path(real).is_dir():
            place.fail(f"{real}: no such directory")
        if real == "/":
            place.fail("the whole file system cannot be a root")
        found[name] = real
    return found


def _include(top: Path, directory: Path, relative: str) -> tuple[bytes, str]:
    """Read an included file beneath the policy's directory, following no symlink."""
    path = directory / relative
    try:
        inside = path.relative_to(top)
        fd = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (ValueError, OSError):
        raise PolicyError("outside the policy's directory", source=str(path)) from None
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK
        file = posix.open_beneath(fd, str(inside), flags, resolve=posix.RESOLVE_NO_SYMLINKS)
        try:
            return _bounded(file, path), str(path)
        finally:
            os.close(file)
    except OSError as error:
        raise PolicyError(f"{error.strerror}", source=str(path)) from None
    finally:
        os.close(fd)


def file_bytes(path: Path) -> bytes:
    """Return the bytes of a policy or case file.

    Raises:
        PolicyError: it cannot be read, or is larger than MAX_BYTES.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise PolicyError(f"{error.strerror}", source=str(path)) from None
    try:
        return _bounded(fd, path)
    except OSError as error:
        raise PolicyError(f"{error.strerror}", source=str(path)) from None
    finally:
        os.close(fd)


def _bounded(fd: int, path: Path) -> bytes:
    data = posix.read_all(fd, max_bytes=MAX_BYTES)
    if len(data) > MAX_BYTES:
        raise PolicyError(f"larger than {MAX_BYTES} bytes", source=str(path))
    return data
