"""`counterfoil audit`: verify, read and repair the log.

Exit status of `verify`: 0 whole up to the signed head; 2 changed, removed, swapped or forged
records; 4 records cut off the end; 5 unparsable or torn; 6 unsigned; 7 records beyond the head.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gateway.assembly.build import configured_mode, log_settings
from gateway.assembly.places import Places, places
from gateway.cli import act
from gateway.cli.main import say
from gateway.kit import canon
from gateway.kit import text as texts
from gateway.record import keys, read
from gateway.record.disk import Disk
from gateway.record.stage import recover
from gateway.record.verify import verify

POLL_S: Final = 0.5


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb and its actions."""
    parser = verbs.add_parser("audit", help=text, description=text)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    one = actions.add_parser("verify", help="prove that the log is whole up to its signed head")
    one.add_argument("--pubkey", metavar="FILE", help="the head's public key (PEM) kept elsewhere")
    one = actions.add_parser("tail", help="show the last records")
    one.add_argument("-n", type=int, default=20, metavar="N", help="how many (default 20)")
    one.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    actions.add_parser("summary", help="count records, effects, reasons, outcomes")
    one = actions.add_parser("search", help="find records that hold a value (by keyed digest)")
    one.add_argument("value", metavar="VALUE", help="a path, URL, host, program, id or code")
    actions.add_parser("keygen", help="make the log's keys where they are missing")
    actions.add_parser("recover", help="open a halted log again; loses no whole record")
    for action in actions.choices.values():
        act.add_places(action)


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    return ACTIONS[args.action](args, places(config=args.config, state_dir=args.state_dir))


def _verify(args: argparse.Namespace, where: Places) -> int:
    public = Path(args.pubkey) if args.pubkey else where.keys / keys.PUBLIC_FILE
    disk = Disk(root=where.state_dir)
    report = verify(disk.log, disk.head, keys.load_public(public))
    if args.json:
        _print(report.to_json())
    else:
        say(f"{report.code.name}: {report.message}", sys.stdout)
        for action_id in report.unresolved:
            say(f"  intent without outcome: {action_id}", sys.stdout)
    return int(report.code)


def _tail(args: argparse.Namespace, where: Places) -> int:
    shown = -1
    count = max(args.n, 0)
    while True:
        for record in read.tail(where.log, count):
            if record.get("seq", 0) > shown:
                shown = record.get("seq", 0)
                _print(record) if args.json else say(record_line(record), sys.stdout)
        sys.stdout.flush()
        if not args.follow:
            return 0
        time.sleep(POLL_S)
        count = 1000


def _summary(args: argparse.Namespace, where: Places) -> int:
    counted = read.summary(where.log)
    if args.json:
        _print(counted)
        return 0
    for name, value in counted.items():
        if isinstance(value, dict):
            parts = ", ".join(f"{key} {number}" for key, number in value.items())
            say(f"{name}: {parts or 'none'}", sys.stdout)
        else:
            say(f"{name}: {value}", sys.stdout)
    return 0


def _search(args: argparse.Namespace, where: Places) -> int:
    found = read.search(where.log, keys.load(where.keys), args.value)
    for record in found:
        _print(record) if args.json else say(record_line(record), sys.stdout)
    if not found:
        say("no record holds this value", sys.stderr)
    return 0 if found else 1


def _keygen(args: argparse.Namespace, where: Places) -> int:
    made = keys.create(where.keys)
    if args.json:
        _print([str(path) for path in made])
        return 0
    for path in made:
        say(f"made  {path}", sys.stdout)
    if not made:
        say(f"kept  {where.keys}: all keys are there", sys.stdout)
    return 0


def _recover(args: argparse.Namespace, where: Places) -> int:
    log, mended = recover(
        where.state_dir, keys.load(where.keys), log_settings(configured_mode(where))
    )
    with log:
        size = log.replayed.size
    if args.json:
        _print({"records": size, **mended})
        return 0
    cut = "nothing was cut"
    if "cut_bytes" in mended:
        cut = f"a torn line of {mended['cut_bytes']} bytes was cut off"
    if "note" in mended:
        cut += "; the signed head was lost and is signed anew"
    say(f"the log is open again: {size} records, {cut}", sys.stdout)
    return 0


def record_line(record: dict[str, Any]) -> str:
    """Return one line for a person; values are digests, so there is little to show."""
    when = datetime.fromtimestamp(record.get("ts", 0) / 1_000_000, UTC)
    words = [
        f"{record.get('seq', '?'):>6}",
        when.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z",
        f"{record.get('kind', '?'):16}",
    ]
    names = ("effect", "op", "rule_id", "reason_code", "status", "result_code", "door", "action_id")
    words += [str(record[name]) for name in names if name in record]
    if "taint" in record:
        words.append("taint:" + ",".join(record["taint"]))
    return texts.escape(" ".join(words))


def _print(value: Any) -> None:
    sys.stdout.write(canon.dumps(value).decode() + "\n")


ACTIONS: Final = {
    "verify": _verify,
    "tail": _tail,
    "summary": _summary,
    "search": _search,
    "keygen": _keygen,
    "recover": _recover,
}
