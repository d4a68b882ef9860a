"""shell.run: one argv, several, what is refused, and what each abuse class would have done."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gateway.kit import canon
from gateway.model.action import Action
from gateway.model.names import Json, Operation
from gateway.model.plan import RunCommand, RunCompound
from gateway.model.request import ActionRequest
from gateway.model.resource import CommandResource, PathResource
from gateway.normalize.commands import ENVIRONMENT, normalize_command
from gateway.normalize.stage import Normalize
from tests.gateway.normalize.desk import Desk, open_descriptors, opened, within


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        desk.write({"f": "b\na\n", "src/a.py": "foo\n", ".env": "KEY=1\n", "list": "../secret\0"})
        (desk.top / "secret").write_text("SECRET\n")
        yield desk


def command_of(action: Action) -> CommandResource:
    (command,) = [one for one in action.resources if isinstance(one, CommandResource)]
    return command


def test_one_command_as_it_is_judged_and_run(desk: Desk) -> None:
    action = desk.ask("head -1 f")
    assert action.operation is Operation.SHELL_RUN
    plan = action.plan
    assert isinstance(plan, RunCommand)
    assert plan.argv == ("head", "--lines=1", "--", "f")
    assert plan.executable == str(Path("/usr/bin/head").resolve())
    assert plan.cwd == str(desk.ws)
    assert plan.environment == ENVIRONMENT
    command = command_of(action)
    assert (command.program, command.argv, command.grammar) == ("head", ("head", "-1", "f"), True)
    assert not command.egress
    picture = action.normalized
    assert picture["argv"] == ["head", "--lines=1", "--", "f"]
    assert picture["spelled"] == ["head", "-1", "f"]
    assert picture["environment"] == ENVIRONMENT
    assert action.digest == canon.digest(picture)
    assert desk.output("head -1 f") == "b\n"


def test_the_environment_is_fixed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/evil.so")
    monkeypatch.setenv("PATH", "/evil")
    assert desk.output(["printenv"]).splitlines() == [
        f"{name}={value}" for name, value in ENVIRONMENT.items()
    ]


def test_the_same_command_has_the_same_digest_however_it_is_sent(desk: Desk) -> None:
    assert desk.ask("head -1 f").digest == desk.ask(["head", "-1", "f"]).digest
    assert desk.ask("head -1 f").digest != desk.ask("head -n1 f").digest
    before = desk.ask("head f").digest
    (desk.ws / "f").write_text("changed\n")
    assert desk.ask("head f").digest != before


def test_a_directory_stays_the_same_when_its_entries_change(desk: Desk) -> None:
    before = desk.ask("ls src").digest
    (desk.ws / "src" / "new").write_text("x")
    assert desk.ask("ls src").digest == before


def test_a_compound_line(desk: Desk) -> None:
    action = desk.ask("cat f | head -1 && ls src ; wc -l f")
    plan = action.plan
    assert isinstance(plan, RunCompound)
    assert [(one.joiner, one.argv) for one in plan.segments] == [
        (None, ("cat", "f")),
        ("|", ("head", "-1")),
        ("&&", ("ls", "src")),
        (";", ("wc", "-l", "f")),
    ]
    for segment in plan.segments:
        assert segment.digest == desk.ask(segment.argv, segment.cwd).digest
    assert within(desk, action, "fs.read") == {"f"}
    assert within(desk, action, "fs.list") == {"src"}
    programs = [one.program for one in action.resources if isinstance(one, CommandResource)]
    assert programs == ["cat", "head", "ls", "wc"]
    pictures = action.normalized["segments"]
    assert isinstance(pictures, list)
    assert [one["joiner"] for one in pictures] == [None, "|", "&&", ";"]


def test_segments_keep_the_working_directory(desk: Desk) -> None:
    plan = desk.ask("cat a.py ; ls", "src").plan
    assert isinstance(plan, RunCompound)
    assert {one.cwd for one in plan.segments} == {f"{desk.ws}/src"}
    for segment in plan.segments:
        assert segment.digest == desk.ask(segment.argv, segment.cwd).digest


def test_one_refused_segment_refuses_the_line_and_all_is_named(desk: Desk) -> None:
    action = desk.ask("cat f && env ls ; cat .env")
    assert action.refusal is not None
    assert action.refusal.reason == "sh_wrapper"
    assert action.refusal.message.startswith("segment 2: ")
    assert within(desk, action, "fs.read") == {"f", ".env"}


@pytest.mark.parametrize("line", ["wc -l", "cat", "cat f ; wc -l", "cat f && head", "grep x"])
def test_a_reader_that_nothing_feeds_is_refused(desk: Desk, line: str) -> None:
    assert desk.reason(line) == "sh_operand"


def test_a_reader_in_a_pipe(desk: Desk) -> None:
    assert isinstance(desk.ask("cat f | grep a | wc -l").plan, RunCompound)
    assert desk.output(["wc", "-l"]) == "0\n"  # alone it reads the null device


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, "params_invalid"),
        ({"command_line": "ls", "argv": ["ls"]}, "params_invalid"),
        ({"command_line": 1}, "params_invalid"),
        ({"argv": "ls"}, "params_invalid"),
        ({"argv": ["ls", 1]}, "params_invalid"),
        ({"argv": ["ls"], "env": {"A": "b"}}, "params_invalid"),
        ({"argv": ["ls"], "shell": True}, "params_invalid"),
        ({"argv": []}, "sh_syntax"),
        ({"argv": [""]}, "sh_syntax"),
        ({"argv": ["a\0b"]}, "sh_syntax"),
        ({"argv": ["ls"], "cwd": "nowhere"}, "fs_not_found"),
        ({"argv": ["ls"], "cwd": "f"}, "fs_not_directory"),
        ({"argv": ["ls"], "cwd": "/etc"}, "path_outside_roots"),
        ({"argv": ["ls"], "cwd": ""}, "path_empty"),
        ({"argv": ["./f"]}, "sh_program_unknown"),
        ({"argv": ["no-such-program"]}, "sh_program_unknown"),
        ({"command_line": "A=b ls"}, "sh_syntax"),
        ({"command_line": "ls > f"}, "sh_syntax"),
        ({"command_line": "cd src"}, "sh_builtin"),
        ({"argv": ["timeout", "1", "ls"]}, "sh_wrapper"),
    ],
)
def test_what_is_refused_before_any_grammar(
    desk: Desk, params: dict[str, Json], reason: str
) -> None:
    action = normalize_command(ActionRequest(tool="shell.run", params=params), desk.settings)
    assert action.refusal is not None
    assert action.refusal.reason == reason
    assert action.plan is None


@pytest.mark.parametrize(
    "command",
    [
        "cat .env > /tmp/x",
        "cat $(echo .env)",
        "cat '.env",
        "cat <.env",
        "FILE=.env cat f",
        "sudo cat .env",
        "cat --nope .env",
        "nope --file=.env",
        ["nope", "--file=.env"],
        ["env", "cat", ".env"],
        ["git", "push", ".env"],
        "eval cat .env",
        "cat f; source .env",
    ],
)
def test_a_refused_command_still_names_what_it_named(
    desk: Desk, command: str | Sequence[str]
) -> None:
    action = desk.ask(command)
    assert action.refusal is not None
    assert f"{desk.ws}/.env" in {
        one.path for one in action.resources if isinstance(one, PathResource)
    }


def test_a_protected_working_directory_is_named(desk: Desk) -> None:
    (desk.ws / "vault" / ".env").mkdir(parents=True)
    action = desk.ask(["ls"], "vault/.env")
    assert within(desk, action, "fs.list") == {"vault/.env"}


def test_without_a_grammar_the_argv_stays_and_its_files_are_judged(desk: Desk) -> None:
    argv = ["sort", "-o", "out", "--files0-from=list", "f", "src", ".env", "word", "/etc/passwd"]
    action = desk.ask(argv)
    plan = action.plan
    assert isinstance(plan, RunCommand)
    assert plan.argv == tuple(argv)
    assert not command_of(action).grammar
    assert within(desk, action, "fs.read") == {"f", "list", ".env"}
    assert within(desk, action, "fs.list") == {"src"}
    assert {one.relative for one in plan.operands} == {"f", "list", "src", ".env"}


def test_a_protected_name_that_is_not_there_is_named_too(desk: Desk) -> None:
    action = desk.ask(["sort", "conf/.env", "~/.env"])
    named = {one.path for one in action.resources if isinstance(one, PathResource)}
    assert f"{desk.ws}/conf/.env" in named
    assert len(named) == 2


def test_descriptors_are_the_actions_own(desk: Desk) -> None:
    before = open_descriptors()
    for command in ("cat f", "cat nope", "cat f | wc -l", "grep -r x .", "env x", "find .", "ls >"):
        desk.ask(command).release()
    desk.ask(["sort", "f", "src"]).release()
    assert open_descriptors() == before
    action = desk.ask("cat f")
    assert open_descriptors() == before + 1
    action.release()
    action.release()
    assert open_descriptors() == before


def test_the_stage_knows_the_tool(desk: Desk) -> None:
    request = ActionRequest(tool="shell.run", params={"argv": ["cat", "f"]})
    action = Normalize(desk.settings).normalize(request)
    assert action.refusal is None
    action.release()


def raw(desk: Desk, *argv: str) -> bytes:
    """What the real program does with an argv that nobody judged."""
    done = subprocess.run(
        argv, cwd=desk.ws, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        # a program run by an option
        (["find", ".", "-maxdepth", "0", "-exec", "touch", "../ran", ";"], "sh_option"),
        (["find", "f", "-execdir", "touch", "../ran", ";"], "sh_option"),
        # a wrapper runs its operand
        (["env", "touch", "../ran"], "sh_wrapper"),
        (["nice", "touch", "../ran"], "sh_wrapper"),
        (["timeout", "5", "touch", "../ran"], "sh_wrapper"),
        (["/usr/bin/env", "touch", "../ran"], "sh_wrapper"),
        (["setsid", "-w", "touch", "../ran"], "sh_wrapper"),
        # a write by an option
        (["find", ".", "-maxdepth", "0", "-fprint", "../ran"], "sh_option"),
        (["find", ".", "-maxdepth", "0", "-fprintf", "../ran", "x"], "sh_option"),
        (["find", ".", "-maxdepth", "0", "-fls", "../ran"], "sh_option"),
    ],
)
def test_nothing_runs_and_nothing_is_written(desk: Desk, argv: list[str], reason: str) -> None:
    raw(desk, *argv)
    assert (desk.top / "ran").exists(), "the attack does not even work"
    (desk.top / "ran").unlink()
    assert desk.reason(argv) == reason
    assert not (desk.top / "ran").exists()


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        # a read outside the root by an option, by its prefix, by a bundle, by its position
        (["wc", "--files0-from=list"], b"../secret"),
        (["wc", "--files0=list"], b"../secret"),
        (["grep", "-f", "../secret", "-v", "f", "-c"], b"2"),
        (["grep", "-vcf", "../secret", "f"], b"2"),
        (["grep", "-r", "SECRET", "--", "../secret"], b"SECRET"),
        (["find", "-files0-from", "list"], b"../secret"),
        (["grep", "-R", "SECRET", "."], b"SECRET"),
        # an operand in another place
        (["cat", "f", "--", "../secret"], b"SECRET"),
        (["head", "f", "../secret"], b"SECRET"),
        (["tail", "-n1", "src/../../secret"], b"SECRET"),
    ],
)
def test_nothing_outside_is_read(desk: Desk, argv: list[str], shown: bytes) -> None:
    (desk.ws / "out").symlink_to("../secret")
    assert shown in raw(desk, *argv), "the attack does not even work"
    assert desk.ask(argv).refusal is not None


def test_a_link_out_of_the_root_is_not_followed_by_a_walk(desk: Desk) -> None:
    (desk.ws / "out").symlink_to("../secret")
    (desk.ws / "outdir").symlink_to("..")
    assert "SECRET" not in desk.output("grep -rv nothing .")
    assert "secret" not in desk.output("find . -name 'secret*'")
    assert "secret" not in desk.output("ls -R")


def test_a_file_that_looks_like_an_option_stays_a_file(desk: Desk) -> None:
    desk.write({"odd/-la": "x\n", "odd/--help": "y\n"})
    assert desk.output("cat odd/-la odd/--help") == "x\ny\n"
    assert desk.output(["cat", "./-la", "./--help"], "odd") == "x\ny\n"
    assert desk.reason(["cat", "-la"], "odd") == "sh_option"


def test_an_interpreter_has_no_grammar(desk: Desk) -> None:
    for argv in (["awk", 'BEGIN{system("id")}'], ["sh", "-c", "id"], ["sed", "1e id", "f"]):
        assert not command_of(desk.ask(argv)).grammar
