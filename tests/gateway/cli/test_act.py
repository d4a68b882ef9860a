"""Acts from the command line and from requests: what is read, shown, and returned."""

from __future__ import annotations

import json

import pytest

from tests.support.gate import ACTS

CONTRACT = {
    "decision", "rule", "reason", "message", "operation", "normalized", "action_digest",
    "policy_digest", "labels", "decide_us",
}  # fmt: skip
EXIT = {"allow": 0, "deny": 2, "ask": 3}
READ = {"tool": "fs.read", "params": {"path": "src/a.py"}}
DEEP = "[" * 65 + "]" * 65


@pytest.mark.parametrize(("tool", "params", "effect", "reason"), ACTS)
def test_every_tool_is_judged_with_the_contract(gate, door, tool, params, effect, reason):
    gate.with_apis()
    seen = door.check(tool, params)
    assert (seen.effect, seen.reason) == (effect, reason), seen
    assert set(seen.decision) - {"action_id"} == CONTRACT
    assert seen.decision["policy_digest"].startswith("policy-v1:sha256:")
    assert seen.decision["action_digest"].startswith("sha256:")
    assert gate.kinds() == ["decision"]
    if seen.status is not None:
        assert seen.status == EXIT[effect]
        assert seen.decision["action_id"] == gate.records()[0]["action_id"]
        assert seen.said == ""


def request(gate, raw: bytes, verb: str = "run"):
    """One request from a file, at the command line."""
    path = gate.top / "request.json"
    path.write_bytes(raw)
    return gate.cli(verb, "--json", "--request", str(path))


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b'{"tool":"fs.delete","tool":"fs.read","params":{"path":"out/old.txt"}}', "duplicate"),
        (b'{"tool":"fs.delete","params":{"path":"x","path":"out/old.txt"}}', "duplicate"),
        (f'{{"tool":"fs.delete","params":{{"path":{DEEP}}}}}'.encode(), "deeper"),
        (b'{"tool":"fs.delete","params":{"path":"out/\\ud800"}}', "surrogate"),
        (b'{"tool":"fs.delete","params":{"path":NaN}}', "NaN"),
        (b'{"tool":"fs.delete","params":{"path":1e999}}', "finite"),
        (b'{"tool":"fs.delete","params":{"path":-Infinity}}', "Infinity"),
        (b'{"tool":"fs.delete","params":{"n":9007199254740993}}', "2^53-1"),
        (b'{"tool":"fs.delete","params":{"n":' + b"9" * 5000 + b"}}", "2^53-1"),
        (b'{"tool":"fs.delete","params":{"path":"out/old.txt"},"policy":"p"}', "'policy'"),
        (b'{"tool":"fs.delete","params":{"path":"out/old.txt"},"approve":true}', "'approve'"),
        (b'{"tool":"fs.delete"}', "request.params"),
        (b'{"params":{"path":"out/old.txt"}}', "request.tool"),
        (b'{"tool":["fs.delete"],"params":{}}', "request.tool"),
        (b'{"tool":"fs.delete","params":{},"session":7}', "request.session"),
        (b'{"tool":"fs.delete","params":{},"id":"' + b"i" * 257 + b'"}', "request.id"),
        (b'["fs.delete"]', "request"),
        (b"", "not JSON"),
        (b'\xef\xbb\xbf{"tool":"fs.delete","params":{"path":"out/old.txt"}}', "not JSON"),
        (b'{"tool":"fs.delete","params":{"path":"\xff"}}', "UTF-8"),
        (b'{"tool":"fs.delete","params":{"path":"out/old.txt"}} trailing', "not JSON"),
        (b" " * (8 * 1024 * 1024 + 1), "larger"),
    ],
)  # fmt: skip
def test_a_malformed_request_is_denied_and_nothing_happens(gate, raw, word):
    status, out, err = request(gate, raw)
    shown = json.loads(out)
    assert (status, err) == (2, "")
    assert (shown["decision"], shown["reason"]) == ("deny", "request_invalid")
    assert shown["operation"] == "unknown"
    assert word in shown["message"]
    assert len(shown["message"]) < 400
    assert (gate.workspace / "out/old.txt").exists()
    assert gate.kinds() == ["denied"]


def test_unknown_parameters_are_a_recorded_deny(gate, door):
    seen = door.run("fs.delete", path="out/old.txt", force=True)
    assert seen.verdict == ("deny", "builtin:normalize", "params_invalid")
    assert "'force' is not known; fs.delete accepts path (string)" in seen.decision["message"]
    assert gate.kinds() == ["denied"]
    assert (gate.workspace / "out/old.txt").exists()


def test_a_request_comes_from_standard_input_and_its_id_goes_back(gate):
    raw = json.dumps(
        {**READ, "id": "q-7", "params": {**READ["params"], "cwd": str(gate.workspace)}}
    )
    done = gate.process("run", "--json", "--request", "-", stdin=raw.encode())
    shown = json.loads(done.stdout)
    assert done.returncode == 0
    assert shown["id"] == "q-7"
    assert shown["result"] == {
        "status": "done", "reason": "done", "message": "", "data": {"bytes": 9, "size": 9},
        "truncated": False, "content": "print(1)\n",
    }  # fmt: skip


def test_claimed_actor_and_session_judge_nothing(gate):
    claims = {"actor": "root", "session": "clean-session"}
    cwd = {"cwd": str(gate.workspace)}
    plain = {"tool": "fs.read", "params": {"path": ".env", **cwd}}
    egress = {"tool": "net.request", "params": {"url": "http://docs.example.com/"}}
    assert request(gate, json.dumps({**plain, **claims}).encode())[0] == 2
    status, out, _ = request(gate, json.dumps({**egress, **claims}).encode())
    assert (status, json.loads(out)["reason"]) == (2, "taint_session")
    first, second = gate.records()
    assert first["scope"] == second["scope"]
    for record in (first, second):
        assert record["session"].startswith("cli-")
        assert "clean-session" not in json.dumps(record)
        assert record["user"] != "root" or record["uid"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a tool"),
        (["fs.read", "path"], "'path' is not NAME=TEXT"),
        (["fs.read", "=x"], "'=x' is not NAME=TEXT"),
        (["fs.read", "path=a", "path=b"], "parameter 'path' stands twice"),
        (["fs.read", "path=a", 'path:="b"'], "parameter 'path' stands twice"),
        (["shell.run", "argv:=[]", "--", "ls"], "parameter 'argv' stands twice"),
        (["--request", "/nope/x"], "--request /nope/x: No such file"),
        (["--request", "/tmp"], "--request /tmp: Is a directory"),
        (["--request", "-", "fs.read"], "exclude each other"),
        (["--request", "-", "--", "ls"], "exclude each other"),
        (["--nonsense"], "--nonsense"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "run", "explain"])
def test_a_wrong_command_line_is_usage(gate, verb, words, said):
    status, out, err = gate.cli(verb, *words)
    assert (status, out) == (1, "")
    assert said in err
    assert "usage: counterfoil" in err
    assert gate.kinds() == []


def test_values_that_are_not_json_are_denied(gate):
    for value in ("x:=NaN", 'x:={"a":1,"a":2}', "x:=", 'x:="\\ud800"'):
        status, _, err = gate.cli("run", "fs.read", value)
        assert status == 2
        assert err.startswith("counterfoil: request_invalid: ")


def test_a_person_sees_the_decision_apart_from_the_content(gate):
    words = ["run", "fs.read", "path=src/a.py", f"cwd={gate.workspace}"]
    status, out, err = gate.cli(*words)
    assert (status, out) == (0, "print(1)\n")
    assert err == "allow: fs.read by read (rule_match): Allowed by rule read.\n"


def test_control_characters_never_reach_the_persons_terminal(gate):
    status, out, err = gate.cli("check", "fs.read", f"path=a\x1b[2J\u202e{'x' * 300}")
    assert (status, out) == (2, "")
    assert "\x1b" not in err
    assert "\u202e" not in err


def test_bytes_that_are_no_text_come_back_as_base64(gate):
    (gate.workspace / "src/raw").write_bytes(b"\xff\x00")
    words = ["fs.read", "path=src/raw", f"cwd={gate.workspace}"]
    shown = json.loads(gate.cli("run", "--json", *words)[1])
    assert shown["result"]["content_base64"] == "/wA="
    assert gate.process("run", *words).stdout == b"\xff\x00"


def test_a_cut_result_says_so(gate):
    (gate.workspace / "src/big").write_bytes(b"x" * 3_000_000)
    words = ["shell.run", f"cwd={gate.workspace}", "--", "cat", "src/big"]
    status, out, err = gate.cli("run", *words)
    assert status == 1
    assert len(out) == 1_048_576
    assert "output_limit" in err
    assert "the output is not whole" in err


def test_argv_behind_the_dashes_is_the_acts_alone(gate):
    words = ["--json", "shell.run", f"cwd={gate.workspace}", "--", "ls", "--json", "src"]
    status, out, _ = gate.cli("check", *words)
    assert (status, json.loads(out)["reason"]) == (2, "sh_option")
    status, out, _ = gate.cli("run", "shell.run", f"cwd={gate.workspace}", "--", "ls", "--", "src")
    assert (status, out) == (0, "a.py\n")
