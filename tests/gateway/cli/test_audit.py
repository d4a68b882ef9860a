"""`audit` at the command line: every class of damage has its exit status; the rest reads."""

from __future__ import annotations

import json
import shutil

import pytest

from gateway.cli.main import main
from tests.support.gate import Door, Gate, picture
from tests.support.person import person


@pytest.fixture
def log(gate) -> Gate:
    """A gate with six records, the last whole act among them."""
    door = Door(gate=gate, name="python")
    door.run("fs.read", path="src/a.py")
    door.check("fs.write", path="notes/x", content="x")
    door.check("fs.read", path=".env")
    door.run("fs.list", path="src")
    assert len(gate.records()) == 6
    return gate


def lines(gate) -> list[bytes]:
    (path,) = gate.log_files()
    return path.read_bytes().splitlines(keepends=True)


def put(gate, changed: list[bytes]) -> None:
    (path,) = gate.log_files()
    path.write_bytes(b"".join(changed))


def verified(gate) -> dict:
    """What verify says, as JSON and as text; both with the same exit status."""
    status, out, _ = gate.cli("audit", "verify", "--json")
    shown = json.loads(out)
    assert shown["exit_code"] == status
    plain, text, _ = gate.cli("audit", "verify")
    assert plain == status
    assert text.startswith(shown["verdict"].upper())
    return shown


def test_a_whole_log_verifies(log):
    shown = verified(log)
    assert (shown["exit_code"], shown["verdict"], shown["seq"]) == (0, "ok", None)
    assert (shown["records"], shown["head_size"]) == (6, 6)


def test_a_tampered_truncated_or_reordered_log_is_never_reported_clean(log):
    whole = lines(log)
    digit = whole[2].replace(b'"uid":', b'"uid":1')
    assert digit != whole[2]
    for name, changed, code, verdict, seq in [
        ("flipped byte", [*whole[:2], digit, *whole[3:]], 2, "tampered", 2),
        ("removed line", [*whole[:2], *whole[3:]], 2, "tampered", 2),
        ("swapped lines", [whole[0], whole[2], whole[1], *whole[3:]], 2, "tampered", 1),
        ("doubled line", [*whole[:3], *whole[2:]], 2, "tampered", 3),
        ("changed last", [*whole[:5], whole[5].replace(b'"uid":', b'"uid":1')], 2, "tampered", 5),
        ("cut tail", whole[:4], 4, "truncated", 4),
        ("all cut", [], 4, "truncated", 0),
        ("torn line", [*whole[:5], whole[5][:40]], 5, "corrupt", 5),
        ("no JSON", [*whole[:3], b"rubbish\n", *whole[4:]], 5, "corrupt", 3),
    ]:
        put(log, changed)
        shown = verified(log)
        assert (shown["exit_code"], shown["verdict"], shown["seq"]) == (code, verdict, seq), name
        # And nobody is let through over it.
        if name in {"cut tail", "removed line"}:
            (log.state_dir / "state/snapshot.json").unlink(missing_ok=True)
            seen = Door(gate=log, name="cli").run("fs.read", path="src/a.py")
            assert (seen.effect, seen.reason) == ("deny", "record_unavailable")
    put(log, whole)
    assert verified(log)["exit_code"] == 0


def test_a_missing_head_is_unsigned(log):
    (log.state_dir / "head/checkpoint").unlink()
    shown = verified(log)
    assert (shown["exit_code"], shown["verdict"]) == (6, "unsigned")


def test_a_forged_head_is_tampering(log):
    head = log.state_dir / "head/checkpoint"
    good = head.read_text()
    head.write_text(good.replace("\n6\n", "\n5\n", 1))
    assert verified(log)["exit_code"] == 2
    with_other_key = log.top / "other"
    assert main(["audit", "keygen", "--state-dir", str(with_other_key)]) == 0
    head.write_text(good)
    other = str(with_other_key / "keys/head.pub")
    assert log.cli("audit", "verify", "--pubkey", other)[0] == 2
    kept = str(log.state_dir / "keys/head.pub")
    assert log.cli("audit", "verify", "--pubkey", kept)[0] == 0


def test_records_beyond_the_head_are_told_apart(log):
    head = log.state_dir / "head/checkpoint"
    kept = head.read_bytes()
    Door(gate=log, name="python").check("fs.read", path="src/a.py")
    head.write_bytes(kept)
    shown = verified(log)
    assert (shown["exit_code"], shown["verdict"], shown["seq"]) == (7, "uncovered", 6)


def test_verify_changes_nothing(log):
    before = picture(log.top)
    verified(log)
    log.cli("audit", "tail")
    log.cli("audit", "summary")
    log.cli("audit", "search", "fs.read")
    assert picture(log.top) == before


def test_tail_shows_the_last_records(log):
    status, out, _ = log.cli("audit", "tail", "-n", "2")
    assert status == 0
    first, second = out.splitlines()
    assert "intent" in first
    assert "outcome" in second
    assert "fs.list" in first
    shown = [json.loads(line) for line in log.cli("audit", "tail", "--json")[1].splitlines()]
    assert shown == log.records()
    assert log.cli("audit", "tail", "-n", "0")[:2] == (0, "")
    assert log.cli("audit", "tail", "-n", "x")[0] == 1


def test_tail_follows_until_it_is_interrupted(log):
    with person(log.argv("audit", "tail", "-n", "1", "-f")) as one:
        out = one.process.stdout
        assert out is not None
        assert b"outcome" in out.readline()
        Door(gate=log, name="python").check("fs.read", path=".env")
        assert b"taint:attempted" in out.readline()
        one.type("\x03")
        status, _, err = one.ended()
    assert status == 1
    assert "Traceback" not in err


def test_summary_counts(log):
    shown = json.loads(log.cli("audit", "summary", "--json")[1])
    assert shown["records"] == 6
    assert shown["kinds"] == {"intent": 2, "outcome": 2, "decision": 2}
    assert shown["effects"] == {"allow": 2, "ask": 1, "deny": 1}
    assert shown["outcomes"] == {"done": 2}
    assert "reasons: rule_match 3, fs_protected 1" in log.cli("audit", "summary")[1]


def test_search_finds_by_value_what_the_log_does_not_say(log):
    path = str(log.workspace / "src/a.py")
    assert path not in (log.log_files()[0]).read_text()
    status, out, _ = log.cli("audit", "search", path, "--json")
    assert status == 0
    (record,) = [json.loads(line) for line in out.splitlines()]
    assert record["seq"] == 0
    assert log.cli("audit", "search", "fs_protected")[0] == 0
    status, out, err = log.cli("audit", "search", "/no/such/value")
    assert (status, out) == (1, "")
    assert err == "no record holds this value\n"


def test_keygen_makes_what_is_missing_only(log):
    assert "all keys are there" in log.cli("audit", "keygen")[1]
    assert json.loads(log.cli("audit", "keygen", "--json")[1]) == []
    before = (log.state_dir / "keys/head.key").read_bytes()
    (log.state_dir / "keys/log.hmac").unlink()
    status, out, _ = log.cli("audit", "keygen")
    assert (status, out) == (0, f"made  {log.state_dir}/keys/log.hmac\n")
    assert (log.state_dir / "keys/head.key").read_bytes() == before
    assert (log.state_dir / "keys/log.hmac").stat().st_mode & 0o777 == 0o600


def test_recover_cuts_a_torn_line_and_loses_no_record(log):
    whole = lines(log)
    put(log, [*whole, b'{"torn":'])
    assert verified(log)["exit_code"] == 5
    status, out, _ = log.cli("audit", "recover")
    assert status == 0
    assert "a torn line of 8 bytes was cut off" in out
    assert lines(log)[:6] == whole
    assert verified(log)["exit_code"] == 0
    shown = json.loads(log.cli("audit", "recover", "--json")[1])
    assert shown["records"] == len(log.records())
    assert log.kinds()[6:] == ["recovered", "recovered"], "once for each command"


def test_recover_never_hides_a_cut(log):
    put(log, lines(log)[:4])
    (log.state_dir / "state/snapshot.json").unlink(missing_ok=True)
    status, _, err = log.cli("audit", "recover")
    assert status == 2
    assert "records were cut" in err
    assert verified(log)["exit_code"] == 4


def test_without_a_log_it_says_so(gate):
    shutil.rmtree(gate.state_dir / "log")
    shutil.rmtree(gate.state_dir / "head")
    assert verified(gate)["exit_code"] == 6
    assert gate.cli("audit", "tail")[:2] == (0, "")
    assert json.loads(gate.cli("audit", "summary", "--json")[1])["records"] == 0
    assert gate.cli("audit")[0] == 1
