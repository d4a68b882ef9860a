"""The file of grant handles: who let which agent use which scopes, and the handle for it.

One JSON file in the state directory, readable by its owner only, written whole or not at all under
a lock on the directory. It is read strictly and anew each time; a file that others can read, that
is a link, or that has anything unexpected in it is refused as a whole. A handle is useless without
the gateway's key, and is still kept in a `Secret` and told to nobody.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

import pydantic

from gateway.errors import ConfigError, ExecutionError
from gateway.execute.secret import Secret
from gateway.kit import canon, posix
from gateway.model.names import Json, Status

NAME: Final = "grants.json"
_MAX_BYTES: Final = 1_048_576
_LOCK_S: Final = 5.0

_Text = Annotated[str, pydantic.StringConstraints(min_length=1, max_length=1024)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One grant. `user` is the broker's name of the user; `expires_at` in seconds since 1970."""

    grant_id: str
    user: str
    agent: str
    audiences: Mapping[str, tuple[str, ...]]
    expires_at: int
    handle: Secret = field(repr=False)

    def covers(self, *, user: str, agent: str, audience: str, scope: str, now: int) -> bool:
        """Whether this grant is for such a call and not past its end."""
        return (
            (self.user, self.agent) == (user, agent)
            and scope in self.audiences.get(audience, ())
            and now < self.expires_at
        )


class _Entry(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)

    grant_id: _Text
    user: _Text
    agent: _Text
    audiences: dict[_Text, list[_Text]]
    expires_at: int
    handle: Annotated[str, pydantic.StringConstraints(min_length=32, max_length=1024)]


class _File(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)

    version: Literal[1]
    grants: list[_Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """The grants kept in one state directory."""

    directory: Path
    clock: Callable[[], int] = lambda: int(time.time())

    def find(self, *, user: str, agent: str, audience: str, scope: str) -> Grant:
        """Return the grant for a call, of several the one that lasts longest.

        Raises:
            ExecutionError: `grant_missing`, nothing was started.
            ConfigError: the file cannot be trusted.
        """
        now = self.clock()
        fitting = [
            grant
            for grant in self.load()
            if grant.covers(user=user, agent=agent, audience=audience, scope=scope, now=now)
        ]
        if not fitting:
            message = (
                f"no grant lets agent {agent!r} use {scope!r} of {audience!r} for user {user!r};"
                " the user gives one with `counterfoil connect`"
            )
            raise ExecutionError("grant_missing", message, status=Status.NOT_STARTED)
        return max(fitting, key=lambda grant: grant.expires_at)

    def load(self) -> tuple[Grant, ...]:
        """Return every grant kept; none when there is no file.

        Raises:
            ConfigError: the file cannot be trusted.
        """
        with self._directory() as directory:
            return self._read(directory)

    def add(self, grant: Grant) -> None:
        """Keep a grant, in place of one with the same id; grants past their end are dropped.

        Raises:
            ConfigError: the file cannot be trusted.
        """
        self._change(lambda kept: (*(one for one in kept if one.grant_id != grant.grant_id), grant))

    def remove(self, grant_id: str) -> None:
        """Forget a grant; one that is not there is forgotten already.

        Raises:
            ConfigError: the file cannot be trusted.
        """
        self._change(lambda kept: tuple(one for one in kept if one.grant_id != grant_id))

    def _change(self, change: Callable[[tuple[Grant, ...]], tuple[Grant, ...]]) -> None:
        with self._directory() as directory, posix.locked(directory, timeout_s=_LOCK_S):
            now = self.clock()
            kept = [grant for grant in change(self._read(directory)) if now < grant.expires_at]
            raw = canon.dumps({"version": 1, "grants": [_to_json(grant) for grant in kept]})
            posix.atomic_write(directory, NAME, raw, mode=0o600)

    @contextlib.contextmanager
    def _directory(self) -> Iterator[int]:
        try:
            fd = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise self._refused(error.strerror or "cannot be opened") from None
        try:
            yield fd
        finally:
            os.close(fd)

    def _read(self, directory: int) -> tuple[Grant, ...]:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(NAME, flags, dir_fd=directory)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._refused(error.strerror or "cannot be opened") from None
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise self._refused("not a regular file of this user")
            if stat.S_IMODE(found.st_mode) & 0o077:
                raise self._refused("others can read it; chmod 600 it")
            raw = posix.read_all(fd, max_bytes=_MAX_BYTES)
        finally:
            os.close(fd)
        return self._parse(raw)

    def _parse(self, raw: bytes) -> tuple[Grant, ...]:
        parsed = None
        # Neither library's message may come out: it quotes what it read.
        with contextlib.suppress(canon.JsonError, pydantic.ValidationError):
            parsed = _File.model_validate(canon.loads(raw, max_bytes=_MAX_BYTES))
        if parsed is None:
            raise self._refused("not a file of grants; move it away and connect again")
        return tuple(
            Grant(
                grant_id=entry.grant_id,
                user=entry.user,
                agent=entry.agent,
                audiences={name: tuple(scopes) for name, scopes in entry.audiences.items()},
                expires_at=entry.expires_at,
                handle=Secret(entry.handle),
            )
            for entry in parsed.grants
        )

    def _refused(self, why: str) -> ConfigError:
        return ConfigError(f"{self.directory / NAME}: {why}")


def _to_json(grant: Grant) -> dict[str, Json]:
    return {
        "grant_id": grant.grant_id,
        "user": grant.user,
        "agent": grant.agent,
        "audiences": {name: list(scopes) for name, scopes in grant.audiences.items()},
        "expires_at": grant.expires_at,
        "handle": grant.handle.reveal(),
    }
