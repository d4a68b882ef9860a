"""From options to a standing pipeline: configuration, policy, keys, log, stages.

Refuses, with a reason code, whatever would make the gate stand on something else than it seems:
another distribution owning our import names, state or configuration beneath a root, a registered
policy that changed, no policy at all, missing keys, a log that cannot be trusted.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from gateway.approve.none import NoApprover
from gateway.approve.terminal import Terminal
from gateway.assembly.config import BrokerConfig, Config, load_config
from gateway.assembly.layers import Layers, load_layers
from gateway.assembly.names import check_names
from gateway.assembly.places import Places, places, user_name
from gateway.decide.engine import Decide
from gateway.decide.layers import Layered
from gateway.errors import ConfigError
from gateway.execute.dry_run import DryRun
from gateway.execute.stage import Execute
from gateway.model.catalogue import RootPath
from gateway.model.event import Event, Kind
from gateway.model.ports import Approver, Decider
from gateway.model.request import Caller
from gateway.normalize.path import Guard, Roots
from gateway.normalize.settings import Settings as NormalizeSettings
from gateway.normalize.stage import Normalize
from gateway.observe.stage import Observe
from gateway.pipeline import Pipeline
from gateway.record import ids, keys
from gateway.record.stage import open_log
from gateway.record.writer import Log
from gateway.record.writer import Settings as LogSettings

if TYPE_CHECKING:  # HTTP and JWT libraries are loaded only where there is a broker
    from gateway.execute.api import Api
    from gateway.execute.credential import Broker

APPROVERS: Final[dict[str, Callable[[], Approver]]] = {"terminal": Terminal, "none": NoApprover}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a door knows when it opens its link."""

    door: str
    places: Places
    config: Config | None
    policy: str | None = None
    approver: str = "terminal"
    dry_run: bool = False

    @property
    def level(self) -> str:
        """The level the operator configured."""
        return "embedded" if self.config is None else self.config.level

    @property
    def mode(self) -> str:
        """The mode the operator configured; anyone may ask for a dry run."""
        if self.dry_run:
            return "dry-run"
        return "enforce" if self.config is None else self.config.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What decides, without what records or executes. `close` gives the descriptors back."""

    normalizer: Normalize
    deciders: tuple[Decide, ...]
    layers: Layers
    caller: Caller
    close: Callable[[], None]

    @property
    def decider(self) -> Decider:
        """All deciders as one."""
        return self.deciders[0] if len(self.deciders) == 1 else Layered(self.deciders)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A standing pipeline and what it stands on."""

    options: Options
    judge: Judge
    log: Log
    pipeline: Pipeline

    @property
    def caller(self) -> Caller:
        """Who is asking."""
        return self.judge.caller

    def close(self) -> None:
        """Give everything back; the log is synced."""
        try:
            self.judge.close()
        finally:
            self.log.close()


def options_from(
    *,
    door: str,
    policy: str | None,
    config: str | None,
    state_dir: str | None,
    approver: str = "terminal",
    dry_run: bool = False,
) -> Options:
    """Find the places and read the configuration.

    Raises:
        ConfigError: it cannot be used.
    """
    found = places(config=config, state_dir=state_dir)
    if approver not in APPROVERS:
        raise ConfigError(f"approver: {approver!r} is not one of {', '.join(APPROVERS)}")
    return Options(
        door=door,
        places=found,
        config=load_config(found.config),
        policy=policy,
        approver=approver,
        dry_run=dry_run,
    )


def assemble(options: Options) -> Assembled:
    """Build the pipeline of level `embedded`.

    Raises:
        CounterfoilError: for anything the module docstring names.
    """
    with ExitStack() as stack:
        judge = assemble_judge(options)
        stack.callback(judge.close)
        log_keys = keys.load(options.places.keys)
        log = open_log(options.places.state_dir, log_keys, log_settings(options.mode))
        stack.enter_context(log)
        standing = _standing(options, judge, log)
        stack.pop_all()
        return standing


def reassemble(standing: Assembled) -> Assembled:
    """Build everything but the log anew, from what configuration and policies say now.

    The session goes on. What stood before is given back once the new is complete and recorded;
    until then, and after any fault, it is as it was.

    Raises:
        CounterfoilError: the new cannot stand, or cannot be recorded.
    """
    before = standing.options
    options = replace(before, config=load_config(before.places.config))
    if options.level != before.level:
        raise ConfigError(f"level: {before.level} became {options.level}: open the gate anew")
    with ExitStack() as stack:
        judge = assemble_judge(options)
        stack.callback(judge.close)
        judge = replace(judge, caller=replace(judge.caller, session=standing.caller.session))
        after = _standing(options, judge, standing.log)
        record_load(after, "loaded")
        standing.log.settings = log_settings(options.mode)
        stack.pop_all()
    standing.judge.close()
    return after


def record_load(standing: Assembled, verdict: str, reason: str = "") -> None:
    """Record that policies were taken anew (`loaded`), or why the old ones go on (`kept`).

    Raises:
        RecordError: the record could not be kept.
    """
    detail = {"verdict": verdict, "policy_digest": standing.judge.layers.digest, "reason": reason}
    event = Event(
        kind=Kind.POLICY_LOAD,
        caller=standing.caller,
        action_id=new_id(),
        detail={name: value for name, value in detail.items() if value},
    )
    standing.log.append(event, sync=True)


def _standing(options: Options, judge: Judge, log: Log) -> Assembled:
    pipeline = Pipeline(
        normalizer=judge.normalizer,
        decider=judge.decider,
        approver=APPROVERS[options.approver](),
        recorder=log,
        executor=DryRun() if options.mode == "dry-run" else Execute(api=_api(options)),
        observer=Observe(),
        new_id=new_id,
        timer_ns=time.monotonic_ns,
    )
    return Assembled(options=options, judge=judge, log=log, pipeline=pipeline)


def assemble_judge(options: Options) -> Judge:
    """Build what decides; nothing is opened for writing.

    Raises:
        CounterfoilError: names, configuration, policy or roots cannot be used.
    """
    layers = load_layers(options.config or Config(version=1), options.places, options.policy)
    check_apart(options.places, layers.main.policy.roots)
    return judge_of(options, layers)


def judge_of(options: Options, layers: Layers) -> Judge:
    """Build what decides under these policies, the registered ones or a candidate.

    Raises:
        CounterfoilError: names, configuration or roots cannot be used.
    """
    check_names()
    config = options.config or Config(version=1)
    own = own_paths(options.places, layers)
    guarded = tuple(path for layer in layers.all for path in layer.guarded)
    roots = layers.main.policy.roots
    opened = Roots.open([RootPath(name=name, path=path) for name, path in roots.items()])
    origins = [] if config.broker is None else [_origin(config.broker.issuer)]
    return Judge(
        normalizer=Normalize(_normalize_settings(opened, layers, own, config)),
        deciders=tuple(
            Decide(
                layer.policy,
                self_paths=own,
                guarded=guarded,
                forbidden_origins=origins,
                observe=options.mode == "observe",
            )
            for layer in layers.all
        ),
        layers=layers,
        caller=caller(options, roots),
        close=opened.close,
    )


def own_paths(where: Places, layers: Layers | None = None) -> tuple[str, ...]:
    """Return what no act may reach: configuration, state, policies, by spelling and really."""
    loaded = () if layers is None else layers.all
    named = (*where.own, *(file for layer in loaded for file in layer.files))
    return tuple(dict.fromkeys((*named, *map(os.path.realpath, named))))


def check_apart(where: Places, roots: Mapping[str, str]) -> None:
    """Refuse state or configuration beneath a root.

    Raises:
        ConfigError: with both paths.
    """
    for name, root in roots.items():
        for place in where.kept:
            real = os.path.realpath(place)
            if real == root or real.startswith(root.rstrip("/") + "/"):
                raise ConfigError(
                    f"{real} lies beneath the root {name} ({root}), where the agent works; "
                    "keep configuration and state outside every root"
                )


def caller(options: Options, roots: Mapping[str, str]) -> Caller:
    """Return who is asking, from the operating system, not from any request."""
    uid = os.getuid()
    # With no policy registered the caller picks the roots, so the union is all the user does.
    registered = options.config is not None and options.config.policy is not None
    union = "\n".join(sorted(roots.values())) if registered else ""
    agent = None
    if options.config is not None and options.config.broker is not None:
        agent = options.config.broker.agent
    return Caller(
        user=user_name(),
        uid=uid,
        door=options.door,
        session=f"{options.door}-{os.getpid()}-{secrets.token_hex(4)}",
        scope=f"{uid}:{hashlib.sha256(union.encode()).hexdigest()[:16]}",
        agent=agent,
    )


def log_settings(mode: str = "enforce") -> LogSettings:
    """Return the settings of the log with the real clocks; every record says the mode."""
    return LogSettings(
        clock_ns=time.time_ns, mono_ns=time.monotonic_ns, random=os.urandom, mode=mode
    )


def configured_mode(where: Places) -> str:
    """Return the configured mode; without a usable configuration the gate denies, as in enforce."""
    try:
        config = load_config(where.config)
    except ConfigError:
        return "enforce"
    return "enforce" if config is None else config.mode


def new_id() -> str:
    """Return a fresh id that sorts by time."""
    return ids.uuid7(time.time_ns(), os.urandom)


def broker_client(config: BrokerConfig, where: Places) -> Broker:
    """Return the client of the configured broker."""
    from gateway.execute.credential import Broker

    return Broker(issuer=config.issuer, client_id=config.client_id, key_file=where.gateway_key)


def _origin(url: str) -> tuple[str, int]:
    """Return host and port of a configured origin (its form was checked by the configuration)."""
    found = re.fullmatch(r"(https?)://(\[[^\]]+\]|[^:]+)(?::([0-9]+))?", url)
    if found is None:
        raise ConfigError(f"{url}: not an origin")
    scheme, host, port = found.groups()
    return host.strip("[]"), int(port) if port else {"https": 443, "http": 80}[scheme]


def _normalize_settings(
    roots: Roots, layers: Layers, own: tuple[str, ...], config: Config
) -> NormalizeSettings:
    policies = [layer.policy for layer in layers.all]
    globs = tuple(policy.denied for policy in policies)
    return NormalizeSettings(
        roots=roots,
        guard=Guard(is_protected=lambda path: any(one.matches(path) for one in globs), literal=own),
        apis=config.catalogue(),
        programs=config.programs,
        left_out=tuple(
            dict.fromkeys(glob.effective for policy in policies for glob in policy.unreadable)
        ),
        read_bytes=min(policy.limits.read_bytes for policy in policies),
    )


def _api(options: Options) -> Api | None:
    config = options.config
    if config is None or config.broker is None:
        return None
    from gateway.execute.api import Api
    from gateway.execute.grants import Grants

    return Api(
        broker=broker_client(config.broker, options.places),
        grants=Grants(directory=options.places.state),
        users=config.broker.users,
    )
