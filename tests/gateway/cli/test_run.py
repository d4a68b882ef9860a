"""`run`: the whole road at both doors; in real processes; with a person; interrupted; killed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.gate import ACTS, ROOT, SECRET, Door, Gate
from tests.support.person import person

RAN = {
    ("fs.read", "allow"): ("done", "print(1)\n"),
    ("fs.list", "allow"): ("done", None),
    ("fs.write", "allow"): ("done", None),
    ("fs.delete", "allow"): ("done", None),
    ("shell.run", "allow"): ("done", None),
}


@pytest.mark.parametrize(("tool", "params", "effect", "reason"), ACTS)
def test_every_tool_goes_the_whole_road(gate, door, tool, params, effect, reason):
    gate.with_apis()
    seen = door.run(tool, params)
    if (tool, effect) in RAN:
        status, content = RAN[tool, effect]
        assert seen.result["status"] == status
        assert content is None or seen.result["content"] == content
        assert seen.effect == "allow"
        parts = 2 if "command_line" in params else 0
        assert sorted(gate.kinds()) == ["intent"] * (parts + 1) + ["outcome"] * (parts + 1)
    elif effect == "deny":
        assert (seen.effect, seen.reason, seen.result) == ("deny", reason, None)
        assert gate.kinds() == ["denied"]
    elif effect == "ask" and tool != "api.call":
        assert (seen.effect, seen.reason) == ("deny", "approval_unavailable")
        assert gate.kinds() == ["approval.request", "approval.answer", "denied"]
    else:  # nothing here can execute it: denied before an intent
        assert (seen.effect, seen.reason) == ("deny", "executor_unavailable")
        assert gate.kinds() == ["denied"]
    if seen.status is not None:
        assert seen.status == (0 if seen.result else 2)
    assert (gate.workspace / "out/new.txt").exists() == (
        tool == "fs.write" and params["path"] == "out/new.txt"
    )
    assert (gate.workspace / "out/old.txt").exists() == (tool != "fs.delete")


def test_executed_and_failed_is_exit_status_1(gate, door):
    seen = door.run("shell.run", argv=["false"])
    assert seen.effect == "allow"
    assert seen.result["reason"] == "exit_status"
    assert seen.result["data"]["exit_code"] == 1
    assert seen.status in {None, 1}
    seen = door.run("shell.run", argv=["grep", "nothing-of-this", "src/a.py"])
    assert seen.result["data"]["exit_code"] == 1
    assert seen.status in {None, 1}


def test_removing_the_sandbox_means_deny_not_less_sandbox(gate, door):
    seen = door.run("shell.run", argv=["true"])
    assert seen.verdict == ("deny", "tiered", "sandbox_unavailable")
    assert gate.kinds() == ["denied"]


def test_run_as_a_process(gate):
    words = ["run", "fs.read", "path=src/a.py", f"cwd={gate.workspace}"]
    done = gate.process(*words)
    assert (done.returncode, done.stdout) == (0, b"print(1)\n")
    done = gate.process("run", "fs.read", "path=.env", f"cwd={gate.workspace}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"fs_protected" in done.stderr
    assert SECRET.encode() not in done.stderr
    assert gate.process("run").returncode == 1


def test_an_agent_that_answers_its_own_question_on_standard_input_is_not_heard(gate):
    words = ["run", "fs.write", "path=notes/x", "content=x", f"cwd={gate.workspace}"]
    done = gate.process(*words, stdin=b"yes\n" * 9)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"approval_unavailable" in done.stderr
    assert not (gate.workspace / "notes/x").exists()


def write(gate: Gate, content: str = "by hand\n") -> list[str]:
    words = ["run", "fs.write", "path=notes/n.md", f"content={content}", f"cwd={gate.workspace}"]
    return gate.argv(*words)


def test_a_person_approves_and_it_is_done(gate):
    with person(write(gate)) as one:
        one.answer("yes")
        status, _, err = one.ended()
    assert status == 0, err
    assert (gate.workspace / "notes/n.md").read_text() == "by hand\n"
    assert str(gate.workspace / "notes/n.md") in one.shown
    assert "by hand" in one.shown
    request, answer, intent, outcome = gate.records()
    assert [request["kind"], answer["kind"], intent["kind"], outcome["kind"]] == [
        "approval.request",
        "approval.answer",
        "intent",
        "outcome",
    ]
    assert answer["detail"]["verdict"] == "approval_granted"
    assert intent["reason_code"] == "approval_granted"
    assert len({record["approval_id"] for record in gate.records()}) == 1
    assert "by hand" not in json.dumps(gate.records())


def test_a_person_denies(gate):
    with person(write(gate)) as one:
        one.answer("no")
        status, _, err = one.ended()
    assert status == 2
    assert "approval_denied" in err
    assert not (gate.workspace / "notes/n.md").exists()
    assert gate.kinds() == ["approval.request", "approval.answer", "denied"]


def test_a_cancelled_or_expired_approval_never_executes_later(gate):
    policy = gate.policy.read_text().replace("approval_timeout_s: 20", "approval_timeout_s: 1")
    gate.register(policy)
    with person(write(gate)) as one:
        one.until("Enter alone denies: ")
        status, _, err = one.ended()
        assert (status, "approval_timeout" in err) == (2, True)
        one.type("yes\r")
    with person(write(gate)) as one:
        one.until("Enter alone denies: ")
        one.type("\x03")
        status, _, err = one.ended()
        assert (status, "approval_cancelled" in err) == (2, True)
    assert gate.kinds() == ["approval.request", "approval.answer", "denied"] * 2
    # Nothing that comes later finds an approval to use.
    seen = Door(gate=gate, name="python").run("fs.write", path="notes/n.md", content="by hand\n")
    assert (seen.effect, seen.reason) == ("deny", "approval_unavailable")
    assert not (gate.workspace / "notes/n.md").exists()
    assert "intent" not in gate.kinds()


def test_an_approval_is_used_once(gate):
    with person(write(gate)) as one:
        one.answer("yes")
        assert one.ended()[0] == 0
    seen = Door(gate=gate, name="python").run("fs.write", path="notes/n.md", content="by hand\n")
    assert (seen.effect, seen.reason) == ("deny", "approval_unavailable")
    assert [one["kind"] for one in gate.records()].count("intent") == 1
    asked = [one["approval_id"] for one in gate.records() if one["kind"] == "approval.request"]
    assert len(asked) == len(set(asked)) == 2


def test_what_was_approved_is_what_ran(gate):
    """The file the question showed is swapped before the answer: nothing is overwritten."""
    target = gate.workspace / "notes/n.md"
    target.write_text("as shown\n")
    with person(write(gate, "new\n")) as one:
        one.until("Enter alone denies: ")
        other = gate.workspace / "notes/other"
        other.write_text("precious\n")
        other.replace(target)
        one.answer("yes")
        status, _, err = one.ended()
    assert status == 1
    assert "changed_since_decision" in err
    assert target.read_text() == "precious\n"
    assert gate.kinds() == ["approval.request", "approval.answer", "intent", "outcome"]
    assert gate.records()[-1]["status"] == "not_started"


def test_an_interrupt_ends_the_child_and_is_recorded(gate):
    words = ["run", "shell.run", f"cwd={gate.workspace}", "--", "sleep", "61"]
    with person(gate.argv(*words)) as one:
        children = _wait_for_child(one.process.pid, b"sleep\x0061\x00")
        one.type("\x03")
        status, out, err = one.ended()
    assert (status, out) == (1, "")
    assert "interrupted; what had begun is in the log" in err
    assert not [pid for pid in children if _alive(pid)]
    intent, outcome = gate.records()
    assert (intent["kind"], outcome["kind"]) == ("intent", "outcome")
    assert (outcome["status"], outcome["result_code"]) == ("unknown", "cancelled")
    assert gate.cli("audit", "verify")[0] == 0
    # Nothing goes on or is tried again when the gate next opens.
    assert gate.process("run", "fs.read", "path=src/a.py", f"cwd={gate.workspace}").returncode == 0
    assert gate.kinds() == ["intent", "outcome", "intent", "outcome"]


def _wait_for_child(pid: int, words: bytes) -> list[int]:
    """Every process below one, once one of them has just these words as its command line."""
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        below = _below(pid)
        if words in below.values():
            return list(below)
    raise TimeoutError


def _below(top: int) -> dict[int, bytes]:
    parents, lines = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            parents[int(folder.name)] = int(stat[1])
            lines[int(folder.name)] = (folder / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
    found: dict[int, bytes] = {}
    queue = [top]
    while queue:
        at = queue.pop()
        for pid, parent in parents.items():
            if parent == at and pid not in found:
                found[pid] = lines.get(pid, b"")
                queue.append(pid)
    return found


def test_a_killed_gate_takes_its_command_along_and_nothing_is_tried_again(gate):
    words = ["run", "shell.run", f"cwd={gate.workspace}", "--", "sleep", "61"]
    with person(gate.argv(*words)) as one:
        children = _wait_for_child(one.process.pid, b"sleep\x0061\x00")
        one.process.kill()
        one.process.wait()
        limit = time.monotonic() + 30
        while any(_alive(pid) for pid in children):
            assert time.monotonic() < limit
    shown = json.loads(gate.cli("audit", "verify", "--json")[1])
    assert shown["verdict"] in {"ok", "uncovered"}
    assert len(shown["unresolved"]) == 1
    gate.cli("run", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    assert gate.kinds() == ["intent", "unresolved", "intent", "outcome"]
    assert gate.records()[1]["action_id"] == shown["unresolved"][0]
    assert gate.cli("audit", "verify")[0] == 0


def _alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[0] not in {b"Z", b"X"}


def test_killing_any_component_never_loosens_a_decision(gate):
    """kill -9 at any moment: no effect without its intent, taint stays, the log opens again."""
    rng = random.Random(7)
    rounds = 60 if os.environ.get("COUNTERFOIL_SOAK") else 6
    for number in range(rounds):
        words = ["run", "fs.write", f"path=out/{number}", "content=x", f"cwd={gate.workspace}"]
        process = subprocess.Popen(
            gate.argv(*words),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(rng.uniform(0.15, 0.6))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    assert gate.cli("check", "fs.read", "path=.env", f"cwd={gate.workspace}")[0] == 2
    intents = sum(record["kind"] == "intent" for record in gate.records())
    written = [name for name in range(rounds) if (gate.workspace / f"out/{name}").exists()]
    assert len(written) <= intents
    assert gate.cli("audit", "verify")[0] == 0
    assert gate.cli("run", "net.request", "url=http://docs.example.com/")[0] == 2
    assert gate.records()[-1]["reason_code"] == "taint_session"
    assert gate.cli("run", "fs.write", "path=src/x", "content=x", f"cwd={gate.workspace}")[0] == 2


@pytest.mark.needs("strace")
def test_nothing_is_executed_before_its_intent_is_durable(gate):
    """As the kernel saw it: the log is synced before the file is touched."""
    trace = gate.top / "trace"
    calls = "trace=openat,openat2,fdatasync,fsync,rename,renameat,renameat2,linkat,write"
    words = ["run", "fs.write", "path=out/late.txt", "content=late", f"cwd={gate.workspace}"]
    strace = ["strace", "-f", "-s", "4096", "-o", str(trace), "-e", calls]
    done = subprocess.run(
        [*strace, *gate.argv(*words)],
        cwd=ROOT,
        capture_output=True,
        start_new_session=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    intent = _first(lines, "write(", '"kind\\":\\"intent\\"')
    synced = _first(lines[intent:], "fdatasync(") + intent
    put = _first(lines, "rename", "late.txt")
    written = _first(lines, "write(", '"late"')
    assert intent < synced < min(put, written)


def _first(lines: list[str], *words: str) -> int:
    return next(i for i, line in enumerate(lines) if all(word in line for word in words))


def test_a_broken_pipe_is_no_traceback(gate):
    words = gate.argv("run", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    read, write_end = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        words, cwd=ROOT, stdout=write_end, stderr=subprocess.PIPE, start_new_session=True
    )
    os.close(write_end)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert b"Traceback" not in err
    assert gate.kinds() == ["intent", "outcome"]
