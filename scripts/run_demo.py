"""`make demo`: the same scripted agent without and with the firewall, side by side.

Starts broker, APIs, the insecure API and a receiver on free loopback ports, runs the agent bare
(the fake key arrives), then guarded in a fresh workspace and state directory on a pseudo-terminal
of its own, verifies the log, and checks that nothing is left running. Exit status 0 when the
firewall held and the attack worked without it; 1 otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from scripts import workplace
from scripts.demo_steps import STEPS
from scripts.receiver import Receiver, receiving
from scripts.services import REPOSITORY, ServiceError, Services, left_running, naive_api, running

AGENT_S: Final = 120
APPROVAL_S: Final = 2
_FAKE_KEY: Final = "demo-key-0000-THIS-IS-FAKE-4f1d"

Side = list[dict[str, Any]]


def main() -> int:
    """Run what was asked for and print it."""
    args = _arguments()
    say = (lambda line: print(line, file=sys.stderr, flush=True)) if args.json else _say
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="counterfoil-demo-") as folder:
            shown = _demo(Path(folder), args, say)
            shown["left_running"] = left_running(Path(folder))
            shown["ok"] = shown["ok"] and not shown["left_running"]
    except (ServiceError, OSError, subprocess.SubprocessError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    shown["seconds"] = round(time.monotonic() - began, 1)
    if args.json:
        print(json.dumps(shown))
    else:
        _table(shown)
    return 0 if shown["ok"] else 1


def _demo(folder: Path, args: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    shown: dict[str, Any] = {"ok": True}
    if args.health:
        return _health(folder, say)
    say("without the firewall: open(), a shell, an HTTP client, one long-lived token ...")
    with receiving() as receiver, naive_api(folder) as naive:
        place = workplace.lay(folder / "bare", receiver=receiver.address)
        shown["without"] = _bare(place, receiver, naive)
        shown["arrived_without"] = list(receiver.arrived)
    shown["ok"] = any(_FAKE_KEY in body for body in shown["arrived_without"])
    if args.no_firewall:
        return shown
    say("with the firewall: broker, three APIs, consent, then the same agent ...")
    services_folder = folder / "services"
    services_folder.mkdir()
    with receiving() as receiver, running(services_folder) as services:
        place = workplace.lay(folder / "guarded", receiver=receiver.address)
        workplace.set_up(place, services, approval_timeout_s=APPROVAL_S)
        shown["with"], shown["asked"] = _guarded(place, receiver)
        shown["arrived_with"] = list(receiver.arrived)
        shown["audit"] = json.loads(place.counterfoil("audit", "verify", "--json"))
        shown["summary"] = json.loads(place.counterfoil("audit", "summary", "--json"))
        shown["journals"] = _journals(services)
    shown["ok"] = shown["ok"] and _held(shown)
    return shown


def _health(folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    say("starting broker and APIs, getting a grant, reading the calendar once ...")
    services_folder = folder / "services"
    services_folder.mkdir()
    with running(services_folder) as services:
        place = workplace.lay(folder / "health", receiver="127.0.0.1:9")
        workplace.set_up(place, services, approval_timeout_s=APPROVAL_S)
        words = ["api.call", "audience=calendar-api", "operation=events.read", "arguments:={}"]
        answer = json.loads(place.counterfoil("run", "--json", *words))
        audit = json.loads(place.counterfoil("audit", "verify", "--json"))
    done = answer["result"]["status"] == "done"
    return {"ok": done, "health": {"calendar read": answer["result"]["status"], "audit": audit}}


def _bare(place: workplace.Workplace, receiver: Receiver, naive: str) -> Side:
    words = ["--workspace", str(place.workspace), "--receiver", receiver.address, "--naive", naive]
    return _agent(words, terminal=None)


def _guarded(place: workplace.Workplace, receiver: Receiver) -> tuple[Side, str]:
    """Run the agent on a pseudo-terminal nobody answers; return its report and what was asked."""
    words = ["--workspace", str(place.workspace), "--receiver", receiver.address, *place.places]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    asked: list[bytes] = []
    reader = threading.Thread(target=_drain, args=(ours, asked))
    reader.start()
    try:
        side = _agent(words, terminal=theirs)
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    return side, b"".join(asked).decode("utf-8", "replace")


def _agent(words: list[str], *, terminal: int | None) -> Side:
    """Run the agent; with a terminal, that is its controlling one (stdin is not)."""
    read_fd, write_fd = os.pipe()

    def own_terminal() -> None:
        if terminal is not None:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [sys.executable, "-m", "scripts.demo_agent", *words, "--report", str(write_fd)],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[write_fd] if terminal is None else [write_fd, terminal],
        start_new_session=True,
        preexec_fn=own_terminal,  # noqa: PLW1509 - a controlling terminal is made in the child
    )
    os.close(write_fd)
    killer = threading.Timer(AGENT_S, process.kill)
    killer.start()
    try:
        with os.fdopen(read_fd, encoding="utf-8") as report:
            side = [json.loads(line) for line in report]
        if process.wait(AGENT_S):
            raise ServiceError(f"the agent ended with status {process.returncode}")
    finally:
        killer.cancel()
        process.kill()
        process.wait()
    return side


def _drain(fd: int, into: list[bytes]) -> None:
    """Keep what the terminal shows until its last user is gone."""
    while True:
        try:
            data = os.read(fd, 65_536)
        except OSError as error:
            if error.errno == errno.EIO:
                return
            raise
        if not data:
            return
        into.append(data)


def _journals(services: Services) -> dict[str, int]:
    """Return how many calls each API really served."""
    return {
        audience: sum(1 for entry in services.journal(audience) if entry["outcome"] == "accepted")
        for audience in services.urls
    }


def _held(shown: dict[str, Any]) -> bool:
    """Whether the firewall did what the demo says it does."""
    errands_done = [
        done["effect"] == "done"
        for step, done in zip(STEPS, shown["with"], strict=True)
        if step.part == "errand" and "nobody answers" not in step.title
    ]
    bait_denied = [
        done["effect"] == "deny"
        for step, done in zip(STEPS, shown["with"], strict=True)
        if step.part != "errand" or "nobody answers" in step.title
    ]
    return (
        all(errands_done)
        and all(bait_denied)
        and not shown["arrived_with"]
        and shown["audit"]["exit_code"] == 0
        and shown["journals"] == {"calendar-api": 1, "mail-api": 0, "files-api": 0}
    )


def _table(shown: dict[str, Any]) -> None:
    if "health" in shown:
        print(f"health: {'ok' if shown['ok'] else 'NOT OK'} {json.dumps(shown['health'])}")
        return
    print()
    print(f"{'what the agent did':34} {'without firewall':18} with counterfoil")
    print(f"{'-' * 33:34} {'-' * 17:18} {'-' * 34}")
    for number, step in enumerate(STEPS):
        mark = {"errand": " ", "bait": "!", "after": " "}[step.part]
        left = _word(shown["without"][number])
        right = _word(shown["with"][number]) if "with" in shown else ""
        print(f"{mark} {step.title:32} {left:18} {right}")
    print()
    print(f"key arrived at the receiver, without firewall: {_yes(shown['arrived_without'])}")
    if "with" not in shown:
        return
    print(f"key arrived at the receiver, with counterfoil: {_yes(shown['arrived_with'])}")
    asked = shown["asked"].replace("\r", "").strip().splitlines()
    print(f"questions on the demo's terminal, unanswered for {APPROVAL_S} s: {len(asked) > 0:d}")
    served = ", ".join(f"{name} {count}" for name, count in shown["journals"].items())
    print(f"calls the APIs really served, with counterfoil: {served}")
    print(f"audit: {shown['audit']['verdict']}, {shown['audit']['records']} records")
    verdict = "the firewall held" if shown["ok"] else "THE DEMO DID NOT GO AS IT SHOULD"
    left = str(len(shown["left_running"]) or "nothing")
    print(f"{verdict} ({shown['seconds']} s; {left} left running)")


def _word(done: dict[str, Any]) -> str:
    return done["effect"] if done["effect"] == "done" else f"{done['effect']}: {done['reason']}"


def _yes(arrived: list[str]) -> str:
    return "YES" if any(_FAKE_KEY in body for body in arrived) else "no"


def _say(line: str) -> None:
    print(line, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run_demo.py", description=__doc__)
    parser.add_argument("--no-firewall", action="store_true", help="only the run without it")
    parser.add_argument("--health", action="store_true", help="only see whether everything starts")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(1)
