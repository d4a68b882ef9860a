"""The link a door holds, and how it is opened.

`connect` reads the configuration, refuses a level it cannot serve, and returns a link. What cannot
be opened is an exception with a reason code; the door turns it into a deny.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from gateway.assembly.build import Assembled, Options, assemble, reassemble, record_load
from gateway.errors import CounterfoilError, RecordError
from gateway.kit import faults
from gateway.kit.closing import Closing
from gateway.model.outcome import Answer, Reloaded
from gateway.model.request import ActionRequest


class DaemonUnavailableError(CounterfoilError):
    """The configuration names a level with a daemon, and none answers."""

    code = "daemon_unavailable"


class Link(Protocol):
    """What a door can ask for."""

    def check(self, request: ActionRequest) -> Answer:
        """Decide and record; ask nobody, execute nothing."""
        ...

    def run(self, request: ActionRequest) -> Answer:
        """Go the whole road."""
        ...

    def reload(self) -> Reloaded:
        """Take configuration and policies anew; when that fails, the old ones go on."""
        ...

    def close(self) -> None:
        """Give everything back; the log is synced."""
        ...


class InProcess(Closing):
    """The pipeline in the door's own process."""

    def __init__(self, assembled: Assembled) -> None:
        self.assembled = assembled

    def check(self, request: ActionRequest) -> Answer:
        """Decide and record; ask nobody, execute nothing."""
        return self.assembled.pipeline.check(request, self.assembled.caller)

    def run(self, request: ActionRequest) -> Answer:
        """Go the whole road; in mode dry-run only as far as a check."""
        if self.assembled.options.mode == "dry-run":
            return self.check(request)
        return self.assembled.pipeline.run(request, self.assembled.caller)

    def reload(self) -> Reloaded:
        """Take configuration and policies anew; when that fails, the old ones go on.

        Either way it is recorded; what cannot be recorded is not loaded.
        """
        try:
            self.assembled = reassemble(self.assembled)
        except Exception as error:  # noqa: BLE001 - whatever it is, the old ones go on
            reason, message = faults.code(error), faults.said(error)
        else:
            return Reloaded(ok=True, digest=self.digest)
        with suppress(RecordError):  # then the log is what is at fault, and says so at every act
            record_load(self.assembled, "kept", reason)
        return Reloaded(ok=False, digest=self.digest, reason=reason, message=message)

    @property
    def digest(self) -> str:
        """The digest of the effective policy."""
        return self.assembled.judge.layers.digest

    def close(self) -> None:
        """Give everything back; the log is synced."""
        self.assembled.close()


def connect(options: Options) -> InProcess:
    """Open the link the configuration names.

    Raises:
        DaemonUnavailableError: the level needs a daemon; this version has none.
        CounterfoilError: configuration, policy, keys or log cannot be used.
    """
    require_served(options)
    return InProcess(assemble(options))


def require_served(options: Options) -> None:
    """Refuse a level this version cannot serve.

    Raises:
        DaemonUnavailableError: the level needs a daemon; this version has none.
    """
    if options.level != "embedded":
        raise DaemonUnavailableError(
            f"the configuration says level {options.level}, which needs the daemon; this version "
            "has none, and a door never falls back: set `level: embedded` to run without it"
        )
