"""`counterfoil init`: keys, a starter policy, a configuration that registers it.

What exists is kept and said to be kept; nothing is ever overwritten. Secrets are 0600 in a 0700
directory. The starter policy is the shipped one with the workspace's real path in it; a recipe is a
shipped file of rules for one kind of tool, which the starter policy includes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gateway.assembly.build import check_apart, log_settings
from gateway.assembly.config import Config, PolicyRef, ProjectRef, parse_config
from gateway.assembly.places import Places
from gateway.assembly.policies import load_policy
from gateway.errors import ConfigError
from gateway.execute.credential import public_jwk
from gateway.kit import canon, posix
from gateway.record import keys
from gateway.record.stage import open_log

_VERSION: Final = "\nversion: 1\n"
_WORKSPACE: Final = 'workspace: "."'
_CONFIG: Final = """\
# counterfoil's configuration. Unknown keys are refused; see docs/configuration.md.
version: 1
# Where the gate stands: `embedded` is the only level of this version.
level: embedded
# The registered policy. After changing the file: counterfoil policy trust
policy:
  path: {path}
  digest: "{digest}"
# Programs outside /usr/bin and /bin that rules may name, by absolute path:
# programs: {{mytool: /opt/mytool/bin/mytool}}
# API operations an agent may ask for (apis:) and the broker (broker:): docs/configuration.md
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One thing init looked after, and whether it made it or found it."""

    path: Path
    new: bool


def initialize(
    where: Places, *, workspace: Path, policy: Path | None, recipes: Sequence[str] = ()
) -> list[Made]:
    """Make what is missing.

    Args:
        where: the places.
        workspace: the directory the agent works in (for the starter policy).
        policy: register this existing file instead of writing a starter policy.
        recipes: names of recipes to write beside the starter policy.

    Raises:
        CounterfoilError: something is there and cannot be used, or cannot be made.
    """
    try:
        written = [_recipe(where, name) for name in dict.fromkeys(recipes)]
        made = _policy_file(where, workspace, policy, [one.path.name for one in written])
        loaded = load_policy(made.path)
        check_apart(where, loaded.policy.roots)
        results = [made, *written, *_keys(where)]
        text = _CONFIG.format(path=json.dumps(str(made.path)), digest=loaded.policy.digest)
        parse_config(text.encode(), str(where.config))
        results.append(_write(where.config, text.encode()))
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from None
    with open_log(where.state_dir, keys.load(where.keys), log_settings()):
        pass  # makes the directories and finds out now whether the log can be kept
    return results


def register(where: Places, before: Config, *, path: str, digest: str) -> None:
    """Write another policy path and digest into the configuration; everything else stays.

    Raises:
        ConfigError: the configuration does not spell them as `init` does.
    """
    was, now = before.policy, PolicyRef(path=path, digest=digest)

    def change(text: str) -> str:
        if was is None:
            return text
        text = text.replace(was.digest, digest)
        return text.replace(json.dumps(was.path), json.dumps(path)) if path != was.path else text

    hint = f"policy: write path: {json.dumps(path)} and digest: {digest} there"
    _rewrite(where, change, before.model_copy(update={"policy": now}), hint)


def trust_project(where: Places, before: Config, *, path: str, digest: str) -> None:
    """Write the digest of a project's policy into the configuration; everything else stays.

    Raises:
        ConfigError: `projects` is not spelled as this function does.
    """
    now = ProjectRef(path=path, digest=digest)
    was = {one.path: one for one in before.projects}
    entry = f"  - {{path: {json.dumps(path)}, digest: {json.dumps(digest)}}}\n"

    def change(text: str) -> str:
        if path in was:
            return text.replace(
                f"{json.dumps(path)}, digest: {json.dumps(was[path].digest)}",
                f"{json.dumps(path)}, digest: {json.dumps(digest)}",
            )
        if was:
            return text.replace("\nprojects:\n", f"\nprojects:\n{entry}", 1)
        return text.rstrip("\n") + f"\nprojects:\n{entry}"

    after = tuple(now if one.path == path else one for one in before.projects)
    if path not in was:
        after = (now, *after)
    hint = f"projects: write this there:\n{entry}"
    _rewrite(where, change, before.model_copy(update={"projects": after}), hint)


def _rewrite(where: Places, change: Callable[[str], str], wanted: Config, hint: str) -> None:
    """Change the text of the configuration if that makes it say what is wanted."""
    try:
        changed = change(where.config.read_text(encoding="utf-8"))
        if parse_config(changed.encode(), str(where.config)) != wanted:
            raise ConfigError(f"{where.config}: {hint}")
        fd = os.open(where.config.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            posix.atomic_write(fd, where.config.name, changed.encode(), mode=0o600)
        finally:
            os.close(fd)
    except OSError as error:
        raise ConfigError(f"{where.config}: {error.strerror}") from None


def shipped(name: str) -> Path:
    """Return where a file or folder of the shipped policies lies.

    Raises:
        ConfigError: it does not.
    """
    package = Path(__file__).parent.parent
    for folder in (package / "policies", package.parent / "policies"):
        if (folder / name).exists():
            return folder / name
    raise ConfigError(f"policies/{name} is missing from this installation")


def recipe_names() -> tuple[str, ...]:
    """Return the names of the shipped recipes."""
    return tuple(sorted(path.stem for path in shipped("recipes").glob("*.yaml")))


def _recipe(where: Places, name: str) -> Made:
    if name not in recipe_names():
        raise ConfigError(f"no recipe {name!r} (there are: {', '.join(recipe_names())})")
    data = shipped(f"recipes/{name}.yaml").read_bytes()
    return _write(where.config.parent / f"{name}.yaml", data)


def _policy_file(
    where: Places, workspace: Path, policy: Path | None, include: Sequence[str]
) -> Made:
    if policy is not None:
        return Made(path=Path(os.path.abspath(policy)), new=False)  # noqa: PTH100
    path = where.config.parent / "policy.yaml"
    if path.exists():
        return Made(path=path, new=False)
    real = os.path.realpath(workspace)
    if not Path(real).is_dir():
        raise ConfigError(f"{real}: no such directory; name the workspace with --workspace")
    check_apart(where, {"workspace": real})
    text = shipped("default.yaml").read_text(encoding="utf-8")
    text = text.replace(_WORKSPACE, f"workspace: {json.dumps(real)}")
    if include:
        text = text.replace(_VERSION, f"{_VERSION}include: [{', '.join(include)}]\n", 1)
    return _write(path, text.encode())


def _keys(where: Places) -> list[Made]:
    new = set(keys.create(where.keys))
    results = [
        Made(path=where.keys / name, new=where.keys / name in new)
        for name in (keys.HMAC_FILE, keys.HEAD_FILE, keys.PUBLIC_FILE)
    ]
    if not where.gateway_key.exists():
        private = ec.generate_private_key(ec.SECP256R1())
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        results.append(_write(where.gateway_key, pem))
        jwk = where.gateway_key.with_suffix(".jwk")
        results.append(_write(jwk, canon.dumps(public_jwk(private)) + b"\n"))
    else:
        results.append(Made(path=where.gateway_key, new=False))
    return results


def _write(path: Path, data: bytes) -> Made:
    """Create a file of our own (0600); one that exists is kept."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return Made(path=path, new=False)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return Made(path=path, new=True)
