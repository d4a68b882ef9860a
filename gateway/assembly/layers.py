"""Which policies decide: the registered one, and those beside it that only narrow.

- `user`: the policy a person registered; with none registered, the one a door names.
- `managed`: the machine's, by its administrator; root owns it and nobody else can write it.
- `project`: `.counterfoil.yaml` in the first root, so whoever wrote the repository wrote it. It
  narrows; only while its digest is the one a person trusted, it also adds its allows and asks where
  the user's policy has no rule that matches. It may be read like any file, and no act changes it.
- `narrowing`: what the caller named beside a registered policy.

All are judged under the roots of the first. A policy that is there and cannot be used is an error,
never one layer less.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gateway.assembly.config import Config
from gateway.assembly.places import Places
from gateway.assembly.policies import LoadedPolicy, load_policy
from gateway.decide.compile import Policy
from gateway.decide.layers import combined, joined
from gateway.errors import ConfigError, PolicyError
from gateway.model.names import Json

PROJECT_FILE: Final = ".counterfoil.yaml"
ROLES: Final = ("user", "managed", "project", "narrowing")
MANAGED_OWNER: Final = 0

_OTHERS_WRITE: Final = 0o022


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One policy as `status` shows it; `does` says what it can do."""

    role: str
    does: str
    path: str
    digest: str

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {"layer": self.role, "does": self.does, "path": self.path, "digest": self.digest}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """The policy that decides, those that only narrow it, and what each of them is."""

    main: LoadedPolicy
    bounds: tuple[LoadedPolicy, ...] = ()
    shown: tuple[Layer, ...] = ()

    @property
    def all(self) -> tuple[LoadedPolicy, ...]:
        """Every policy, the one that decides first."""
        return (self.main, *self.bounds)

    @property
    def digest(self) -> str:
        """The digest of what decides in the end."""
        return combined([one.policy for one in self.all])


def load_layers(config: Config, where: Places, narrowing: str | None) -> Layers:
    """Load every policy that is there.

    Raises:
        PolicyError: one cannot be used; with file and line.
        ConfigError: none is registered and none named; the managed one is not the machine's own.
    """
    shown: list[Layer] = []
    main, more = _main(config, narrowing)
    roots = main.policy.roots
    shown.append(_layer("user", main, "decides"))
    bounds: list[LoadedPolicy] = []
    if os.path.lexists(where.managed):
        managed = load_policy(where.managed, roots=roots, layer="managed")
        _check_managed(managed)
        bounds.append(managed)
        shown.append(_layer("managed", managed, "narrows"))
    try:
        project = project_of(main.policy)
    except PolicyError as error:  # whoever wrote the repository wrote what the error would quote
        message = "it cannot be used; look with `counterfoil policy check`"
        raise PolicyError(message, source=error.source, line=error.line) from None
    if project is not None:
        trusted, does = _trust(config, project)
        if trusted:
            main = replace(
                main,
                policy=joined(main.policy, project.policy),
                guarded=(*main.guarded, *project.guarded),
            )
        else:
            bounds.append(_unspoken(project))
        shown.append(_layer("project", project, does))
    if more is not None:
        bounds.append(load_policy(Path(more), roots=roots, layer="narrowing"))
        shown.append(_layer("narrowing", bounds[-1], "narrows"))
    return Layers(main=main, bounds=tuple(bounds), shown=tuple(shown))


def project_of(policy: Policy) -> LoadedPolicy | None:
    """Return the project's own policy beneath the first root, None when there is none.

    Raises:
        PolicyError: it cannot be used; with file and line.
    """
    path = project_path(policy)
    if not os.path.lexists(path):
        return None
    return load_policy(path, roots=policy.roots, layer="project", beneath=True)


def project_path(policy: Policy) -> Path:
    """Return where the project's own policy would lie."""
    return Path(next(iter(policy.roots.values()))) / PROJECT_FILE


def _main(config: Config, named: str | None) -> tuple[LoadedPolicy, str | None]:
    """Return the policy that decides, and the file of one that narrows it."""
    if config.policy is not None:
        path = Path(config.policy.path)
        return load_policy(path, digest=config.policy.digest), named
    if named is None:
        raise ConfigError("no policy is registered; run `counterfoil init`, or name --policy")
    return load_policy(Path(named)), None


def _trust(config: Config, project: LoadedPolicy) -> tuple[bool, str]:
    path = project.policy.document.source
    for one in config.projects:
        if one.path == path:
            if one.digest == project.policy.digest:
                return True, "adds what you trusted"
            return False, "changed since you trusted it, so it only narrows"
    return False, "not trusted, so it only narrows"


def _unspoken(project: LoadedPolicy) -> LoadedPolicy:
    """Take the author's words away: they would reach the agent, and the person who approves."""
    rules = tuple(
        replace(rule, model=rule.model.model_copy(update={"justification": None}))
        for rule in project.policy.rules
    )
    granting = {
        operation: tuple(summary.partition(" ")[0] for summary in many)
        for operation, many in project.policy.granting.items()
    }
    return replace(project, policy=replace(project.policy, rules=rules, granting=granting))


def _check_managed(managed: LoadedPolicy) -> None:
    for path in _with_directory(managed.files):
        found = path.stat()
        if found.st_uid != MANAGED_OWNER or found.st_mode & _OTHERS_WRITE:
            raise ConfigError(
                f"{path}: a managed policy and its directory belong to root and are writable by "
                "nobody else"
            )


def _with_directory(files: tuple[str, ...]) -> Iterator[Path]:
    yield Path(files[0]).parent
    yield from map(Path, files)


def _layer(role: str, loaded: LoadedPolicy, does: str) -> Layer:
    policy = loaded.policy
    return Layer(role=role, path=policy.document.source, digest=policy.digest, does=does)
