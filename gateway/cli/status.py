"""`counterfoil status`: level, policy, log, session and grants, in one look; changes nothing."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime

from gateway.assembly.build import assemble_judge, log_settings
from gateway.cli import act
from gateway.cli.main import say
from gateway.errors import CounterfoilError
from gateway.execute.grants import Grants
from gateway.kit import canon
from gateway.kit import text as texts
from gateway.link.link import require_served
from gateway.model.event import Kind
from gateway.model.names import Json
from gateway.record import keys
from gateway.record.disk import Disk
from gateway.record.read import Record, last
from gateway.record.stage import peek
from gateway.record.verify import verify


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    parser = verbs.add_parser("status", help=text, description=text)
    act.add_places(parser)
    parser.add_argument("--policy", metavar="FILE", help="as for `run`, when none is registered")


def run(args: argparse.Namespace) -> int:
    """Show each part; a part that is broken is shown as such. Exit status 2 if one is."""
    options = act.options(args)
    where = options.places
    disk = Disk(root=where.state_dir)
    shown: dict[str, Json] = {
        "level": options.level,
        "mode": options.mode,
        "config": str(where.config),
    }
    broken = False
    try:
        require_served(options)
        judge = assemble_judge(options)
        judge.close()
        shown["policy"] = judge.layers.digest
        shown["layers"] = [layer.to_json() for layer in judge.layers.shown]
        shown["roots"] = dict(judge.layers.main.policy.roots)
        state = peek(where.state_dir, keys.load(where.keys), log_settings(), judge.caller.scope)
        shown["taint"] = sorted(map(str, state.taint))
        shown["suspended"] = state.suspended
        report = verify(disk.log, disk.head, keys.load_public(where.keys / keys.PUBLIC_FILE))
        shown["log"] = f"{report.code.name.lower()}: {report.message}"
        shown["reload"] = _reload(last(disk.log, Kind.POLICY_LOAD))
        shown["unresolved"] = len(report.unresolved)
        broken = bool(report.code) and report.records > 0
        now = int(time.time())
        grants = Grants(directory=where.state).load() if where.state.is_dir() else ()
        shown["grants"] = [
            f"{one.grant_id}: {one.user} to {one.agent}, {dict(one.audiences)}, "
            + (f"{(one.expires_at - now) // 3600} h left" if one.expires_at > now else "ended")
            for one in grants
        ]
    except CounterfoilError as error:
        broken = True
        shown["fault"] = f"{error.code}: {error}"
    if args.json:
        say(canon.dumps(shown).decode(), sys.stdout)
    else:
        for name, value in shown.items():
            say(f"{name:10} {texts.escape(_text(value))}", sys.stdout)
    return 2 if broken else 0


def _reload(record: Record | None) -> str:
    if record is None:
        return "never"
    said = {"loaded": "loaded", "kept": "failed, the policies before it went on"}
    verdict = record.get("detail", {}).get("verdict", "")
    why = record.get("detail", {}).get("reason", "")
    when = datetime.fromtimestamp(record.get("ts", 0) / 1_000_000, UTC)
    return f"{said.get(verdict, 'unreadable')}{why and f' ({why})'}, {when:%Y-%m-%dT%H:%M:%SZ}"


def _text(value: Json) -> str:
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_part, value)) or "none"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {one}" for key, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _part(value: Json) -> str:
    return ", ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
