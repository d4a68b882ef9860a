"""The product whole: real broker, real APIs, real consent; what each of them saw is the proof."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.execute.grants import Grants
from scripts import workplace
from scripts.services import Services, running
from tests.support.gate import Door, Gate
from tests.support.person import person

JWT = re.compile(rb"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}")
READ = {"audience": "calendar-api", "operation": "events.read", "arguments": {"day": "2026-11-30"}}
SEND = {
    "audience": "mail-api",
    "operation": "messages.send",
    "arguments": {"to": ["bob@example.com"], "subject": "Room", "body": "The room is booked."},
}
DELETE = {"audience": "mail-api", "operation": "messages.delete", "arguments": {"id": "m-1"}}


@dataclass(frozen=True)
class Saw:
    """What really happened: calls each API served, tokens minted, assertions shown to the broker."""

    calendar: int
    mail: int
    minted: int
    shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk(Gate):
    """A gate of its own (log, taint) with the grant and configuration of the one workplace."""

    place: workplace.Workplace
    services: Services

    @property
    def workspace(self) -> Path:
        return self.place.workspace

    @property
    def config(self) -> Path:
        return self.place.config

    def saw(self) -> Saw:
        def served(audience: str) -> int:
            return sum(one["outcome"] == "accepted" for one in self.services.journal(audience))

        path = self.services.folder / "broker.db"
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as base:
            minted = base.execute("SELECT count(*) FROM tokens").fetchone()[0]
            shown = base.execute("SELECT count(*) FROM replay").fetchone()[0]
        base.close()
        return Saw(served("calendar-api"), served("mail-api"), minted, shown)

    def words(self, act: dict) -> list[str]:
        return ["run", "--json", "api.call", *(f"{k}:={json.dumps(v)}" for k, v in act.items())]


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[tuple[workplace.Workplace, Services]]:
    folder = tmp_path_factory.mktemp("services")
    with running(folder) as services:
        place = workplace.lay(tmp_path_factory.mktemp("place") / "at", receiver="127.0.0.1:9")
        workplace.set_up(place, services, approval_timeout_s=20)
        yield place, services


@pytest.fixture
def desk(world, tmp_path) -> Desk:
    place, services = world
    shutil.copytree(place.state_dir / "keys", tmp_path / "state/keys")
    (tmp_path / "state/state").mkdir()
    shutil.copy(place.state_dir / "state/grants.json", tmp_path / "state/state/grants.json")
    return Desk(top=tmp_path, place=place, services=services)


@pytest.mark.parametrize("name", ["python", "cli"])
def test_a_read_works_with_one_token_for_one_call(desk, name):
    before = desk.saw()
    seen = Door(gate=desk, name=name).run("api.call", READ)
    assert (seen.effect, seen.result["status"]) == ("allow", "done")
    titles = [event["title"] for event in json.loads(seen.result["content"])["events"]]
    assert "Planning with the platform team" in titles
    after = desk.saw()
    assert (after.calendar - before.calendar, after.minted - before.minted) == (1, 1)
    entry = desk.services.journal("calendar-api")[-1]
    intent, outcome = desk.records()
    assert entry["decision_id"] == intent["action_id"] == outcome["action_id"]
    assert (entry["sub"], entry["agent"]) == ("alice", "demo-agent")
    assert entry["jti"] == outcome["result"]["jti"]


def test_a_mail_asks_and_goes_out_once_when_a_person_says_so(desk):
    before = desk.saw()
    with person(desk.argv(*desk.words(SEND))) as one:
        one.until("Enter alone denies: ")
        assert desk.saw() == before  # nobody was asked for anything yet
        assert "bob@example.com" in one.shown
        one.answer("yes")
        status, out, err = one.ended()
    assert status == 0, err
    assert json.loads(out)["reason"] == "approval_granted"
    after = desk.saw()
    assert (after.mail - before.mail, after.minted - before.minted) == (1, 1)
    entry = desk.services.journal("mail-api")[-1]
    assert (entry["operation"], entry["outcome"]) == ("messages.send", "accepted")


def test_what_is_denied_or_not_approved_reaches_neither_broker_nor_api(desk):
    before = desk.saw()
    for name in ("python", "cli"):
        door = Door(gate=desk, name=name)
        assert door.run("api.call", DELETE).verdict == ("deny", "default", "default_decision")
        assert door.check("api.call", READ).effect == "allow"
        assert door.check("api.call", SEND).effect == "ask"
    with person(desk.argv(*desk.words(SEND))) as one:
        one.answer("no")
        assert one.ended()[0] == 2
    done = desk.process(*desk.words(SEND), stdin=b"yes\n")
    assert json.loads(done.stdout)["reason"] == "approval_unavailable"
    door = Door(gate=desk, name="python")
    assert door.run("fs.read", path=".env").effect == "deny"
    for act in (READ, SEND):
        assert door.run("api.call", act).reason == "taint_session"
    assert desk.saw() == before


def test_the_agent_cannot_talk_to_the_broker_itself(desk):
    before = desk.saw()
    port = desk.services.issuer.rpartition(":")[2]
    door = Door(gate=desk, name="python")
    for host in ("127.0.0.1", "localhost", "[::1]"):
        seen = door.run("net.request", url=f"http://{host}:{port}/token", method="POST")
        assert seen.effect == "deny"
    assert door.run("fs.read", path=str(desk.state_dir / "state/grants.json")).effect == "deny"
    assert desk.saw() == before


def test_after_a_revoke_the_next_read_is_refused(desk, world):
    place, services = world
    door = Door(gate=desk, name="cli")
    assert door.run("api.call", READ).result["status"] == "done"
    before = desk.saw()
    try:
        for grant in json.loads(services.broker("grant", "list", "--json")):
            services.broker("grant", "revoke", grant["id"])
        seen = door.run("api.call", READ)
        assert (seen.effect, seen.status) == ("allow", 1)
        assert (seen.result["status"], seen.result["reason"]) == ("not_started", "broker_refused")
        after = desk.saw()
        assert (after.calendar, after.minted) == (before.calendar, before.minted)
        assert desk.cli("audit", "verify")[0] == 0
    finally:
        workplace.connect(place, services)


def test_no_token_value_is_ever_in_a_log_a_record_an_error_or_the_agents_view(desk):
    """Everything the run wrote and said, read byte by byte; the handle lies in its one file."""
    said = []
    for words in (
        desk.words(READ),
        desk.words(SEND),
        desk.words(DELETE),
        ["status", "--json"],
        ["session", "show"],
        ["audit", "tail", "-n", "100", "--json"],
        ["audit", "verify"],
        ["explain", *desk.words(READ)[1:]],
    ):
        _, out, err = desk.cli(*words)
        said += [out.encode(), err.encode()]
    done = desk.process(*desk.words(READ))
    said += [done.stdout, done.stderr]
    handles = [
        one.handle.reveal().encode() for one in Grants(directory=desk.state_dir / "state").load()
    ]
    assert handles
    folders = (desk.top, desk.place.folder, desk.services.folder)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    kept = {path for path in files if path.name == "grants.json"}
    texts = {str(path): path.read_bytes() for path in files if path not in kept}
    texts |= {f"said {number}": text for number, text in enumerate(said)}
    for where, text in texts.items():
        assert not JWT.search(text), where
        assert not [handle for handle in handles if handle in text], where
    assert {path.parent for path in kept} >= {desk.state_dir / "state"}
