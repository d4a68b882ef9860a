"""Where things lie: configuration, log, head, keys, state, sockets.

The home directory comes from the password database, never from `HOME`; `XDG_CONFIG_HOME`,
`XDG_STATE_HOME` and `XDG_RUNTIME_DIR` are honoured when absolute, as the XDG Base Directory
Specification says. An operator may name the first two; in level `embedded` only, which is the only
level here.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.errors import ConfigError

SYSTEM: Final = ("/etc/counterfoil", "/var/lib/counterfoil", "/run/counterfoil")
MANAGED: Final = Path(SYSTEM[0]) / "managed.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Absolute paths of everything counterfoil keeps."""

    config: Path
    state_dir: Path
    runtime: Path
    managed: Path = MANAGED

    @property
    def keys(self) -> Path:
        """Directory of the log, head and client keys (0700)."""
        return self.state_dir / "keys"

    @property
    def log(self) -> Path:
        """Directory of the log segments."""
        return self.state_dir / "log"

    @property
    def state(self) -> Path:
        """Directory of snapshots and grant handles."""
        return self.state_dir / "state"

    @property
    def gateway_key(self) -> Path:
        """Private key the gateway proves itself to the broker with (P-256, PEM)."""
        return self.keys / "gateway.pem"

    @property
    def grants(self) -> Path:
        """File of grant handles."""
        return self.state / "grants.json"

    @property
    def kept(self) -> tuple[str, ...]:
        """The configuration directory and the state directory."""
        return (str(self.config.parent), str(self.state_dir))

    @property
    def own(self) -> tuple[str, ...]:
        """What no act may reach: what is kept, the sockets, and what belongs to the machine."""
        return (*self.kept, str(self.runtime), *SYSTEM)


def home() -> Path:
    """Return the home directory of the running user, from the password database.

    Raises:
        ConfigError: there is no entry for the user.
    """
    return Path(_entry().pw_dir)


def user_name() -> str:
    """Return the name of the running user, from the password database.

    Raises:
        ConfigError: there is no entry for the user.
    """
    return _entry().pw_name


def places(
    *, config: str | None, state_dir: str | None, environment: Mapping[str, str] = os.environ
) -> Places:
    """Find the places, the operator's wish before the XDG variables before the defaults.

    Raises:
        ConfigError: a place that was named is not a path, or the user has no home.
    """
    own = home()
    config_home = _xdg(environment, "XDG_CONFIG_HOME", own / ".config")
    state_home = _xdg(environment, "XDG_STATE_HOME", own / ".local" / "state")
    return Places(
        config=_absolute(config, "--config") or config_home / "counterfoil" / "config.yaml",
        state_dir=_absolute(state_dir, "--state-dir") or state_home / "counterfoil",
        runtime=_xdg(environment, "XDG_RUNTIME_DIR", Path(f"/run/user/{os.getuid()}"))
        / "counterfoil",
    )


def _entry() -> pwd.struct_passwd:
    uid = os.getuid()
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        raise ConfigError(
            f"uid {uid} has no entry in the password database, so it has neither name nor home; "
            "add one, or run as another user"
        ) from None


def _xdg(environment: Mapping[str, str], name: str, default: Path) -> Path:
    value = environment.get(name, "")
    return Path(value) if value.startswith("/") else default


def _absolute(value: str | None, option: str) -> Path | None:
    if value is None:
        return None
    if "\0" in value or not value:
        raise ConfigError(f"{option}: not a path")
    return Path(os.path.abspath(value))  # noqa: PTH100 - lexical on purpose, no symlink is followed
