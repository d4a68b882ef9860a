"""The line grammar: what bash would run is what we read, and what we cannot read is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.model.action import Refusal
from gateway.normalize.shell_line import MAX_LINE, MAX_SEGMENTS, Part, parse_line

BASH = shutil.which("bash") or ""
NAMES = ["cat", "grep", "git", "x.y", "7z", "a-b_c"]


def argvs(line: str) -> list[tuple[str | None, tuple[str, ...]]]:
    parts = parse_line(line)
    assert not isinstance(parts, Refusal), parts
    return [(part.joiner, part.argv) for part in parts]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls", [(None, ("ls",))]),
        ("  ls  -la   src ", [(None, ("ls", "-la", "src"))]),
        ("grep -n 'a b' f", [(None, ("grep", "-n", "a b", "f"))]),
        ('grep "it\'s $HOME"'.replace("$HOME", "x"), [(None, ("grep", "it's x"))]),
        ("a'b'\"c\"d", [(None, ("abcd",))]),
        ("echo ''", [(None, ("echo", ""))]),
        ("cat f|wc -l", [(None, ("cat", "f")), ("|", ("wc", "-l"))]),
        ("a && b || c ; d", [(None, ("a",)), ("&&", ("b",)), ("||", ("c",)), (";", ("d",))]),
        ("find . -name '*.py'", [(None, ("find", ".", "-name", "*.py"))]),
        ("git diff HEAD~1 -- src/a.py", [(None, ("git", "diff", "HEAD~1", "--", "src/a.py"))]),
        ("git show HEAD^:a", [(None, ("git", "show", "HEAD^:a"))]),
        ("git log HEAD~~..main^^", [(None, ("git", "log", "HEAD~~..main^^"))]),
    ],
)
def test_ordinary_lines(line: str, expected: object) -> None:
    assert argvs(line) == expected


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("ls &&", "beside '&&'"),
        ("| ls", "beside '|'"),
        ("ls ; ; ls", "beside ';'"),
        ("ls ;; ls", "beside ';'"),
        ("ls\\ -la", "backslash"),
        ("rm -\\-force", "backslash"),
        ("echo $HOME", "expansion"),
        ("echo $(id)", "expansion"),
        ("echo `id`", "substitution"),
        ("ls *", "glob"),
        ("ls a?", "glob"),
        ("ls [ab]", "glob"),
        ("ls ~", "tilde"),
        ("ls ~root/x", "tilde"),
        ("make HOME=~/x", "tilde"),
        ("x a:~/b", "tilde"),
        ("echo {a,b}", "brace"),
        ("ls > f", "redirect"),
        ("cat < f", "redirect"),
        ("cat << E", "redirect"),
        ("sleep 1 &", "background"),
        ("ls |& cat", "background"),
        ("ls &> f", "background"),
        ("(ls)", "subshell"),
        ("ls # x", "comment"),
        ("! ls", "negation"),
        ("ls\nid", "newline"),
        ("ls\tx", "tab"),
        ("ls\0x", "plain ASCII"),
        ("ls\x07", "plain ASCII"),
        ("ls\u00a0-la", "plain ASCII"),
        ("ls\u2003-la", "plain ASCII"),
        ("cat caf\u00e9", "plain ASCII"),
        ("cat 'caf\u00e9'", "plain ASCII"),
        ("cat 'a", "never closed"),
        ('cat "a', "never closed"),
        ('echo "$HOME"', "special between"),
        ('echo "a\\"b"', "special between"),
        ('echo "a`id`"', "special between"),
        ('echo "hi!"', "special between"),
        ("A=b ls", "environment variable"),
        ("PATH+=x ls", "environment variable"),
        ("time ls", "reserved"),
        ("coproc ls", "reserved"),
        ("if ls", "reserved"),
        ("a && while x", "reserved"),
        ("./run.sh", "plain name"),
        ("/bin/ls", "plain name"),
        ("-x", "plain name"),
        ("'a b' c", "plain name"),
        ("'' c", "plain name"),
    ],
)
def test_each_other_form_is_refused_and_named(line: str, named: str) -> None:
    refusal = parse_line(line)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_syntax"
    assert named in refusal.message


def test_limits() -> None:
    assert isinstance(parse_line("a " + "b" * (MAX_LINE - 2)), tuple)
    long = parse_line("a " + "b" * MAX_LINE)
    assert isinstance(long, Refusal)
    assert long.reason == "sh_too_long"
    assert len(argvs(" | ".join(["a"] * MAX_SEGMENTS))) == MAX_SEGMENTS
    many = parse_line(" | ".join(["a"] * (MAX_SEGMENTS + 1)))
    assert isinstance(many, Refusal)
    assert many.reason == "sh_too_long"


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_anything_gives_a_value(text: str) -> None:
    parts = parse_line(text)
    assert isinstance(parts, (tuple, Refusal))
    if isinstance(parts, tuple):
        assert all(isinstance(part, Part) and part.argv for part in parts)


WORDS = st.lists(
    st.one_of(
        st.text("abcXYZ019_./:@%+,=-", min_size=1, max_size=6),
        st.sampled_from(["HEAD~1", "x^", "a~b", "v1~^~2", "--x=y", "-n5", "a=b", "%1", "@"]),
        st.text("".join(chr(code) for code in range(32, 127) if chr(code) != "'"), max_size=6).map(
            lambda inner: f"'{inner}'"
        ),
        st.text(
            "".join(chr(code) for code in range(32, 127) if chr(code) not in '"$`\\!'), max_size=6
        ).map(lambda inner: f'"{inner}"'),
    ),
    min_size=1,
    max_size=3,
).map("".join)
SEGMENT = st.tuples(
    st.sampled_from(NAMES), st.lists(st.tuples(st.sampled_from([" ", "  "]), WORDS), max_size=3)
).map(lambda pair: pair[0] + "".join(space + word for space, word in pair[1]))
LINE = st.tuples(
    SEGMENT, st.lists(st.tuples(st.sampled_from(["&&", "||", "|", ";"]), SEGMENT), max_size=3)
).map(lambda pair: pair[0] + "".join(f" {op} {rest}" for op, rest in pair[1]))

STUB = """#!/bin/sh
printf '%s\\0' "$#" "${0##*/}" "$@" >>'LOG'
exit STATUS
"""


@pytest.fixture
def stubs(tmp_path: Path) -> dict[int, tuple[Path, Path]]:
    """Programs that write down their argv, once exiting 0 and once 1."""
    made = {}
    for status in (0, 1):
        folder = tmp_path / str(status)
        folder.mkdir()
        log = folder / "log"
        for name in NAMES:
            stub = folder / name
            stub.write_text(STUB.replace("LOG", str(log)).replace("STATUS", str(status)))
            stub.chmod(0o755)
        made[status] = (folder, log)
    return made


def recorded(log: Path) -> list[tuple[str, ...]]:
    fields = log.read_text().split("\0")[:-1] if log.exists() else []
    runs = []
    while fields:
        count = int(fields.pop(0))
        runs.append(tuple(fields[: count + 1]))
        del fields[: count + 1]
    return sorted(runs)


def expected(parts: tuple[Part, ...], status: int) -> list[tuple[str, ...]]:
    """What runs when every program ends with this status."""
    runs: list[tuple[str, ...]] = []
    last = 0  # the status so far of the list that `;` ends
    running = True
    for part in parts:
        if part.joiner in {None, ";"}:
            running = True
        elif part.joiner != "|":
            running = (last == 0) == (part.joiner == "&&")
        if running:
            runs.append(part.argv)
            last = status
    return sorted(runs)


@pytest.mark.needs("bash")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(line=LINE)
def test_bash_runs_exactly_what_was_read(line: str, stubs: dict[int, tuple[Path, Path]]) -> None:
    parts = parse_line(line)
    assert isinstance(parts, tuple), (line, parts)
    for status, (folder, log) in stubs.items():
        log.unlink(missing_ok=True)
        subprocess.run(
            [BASH, "--norc", "-c", line],
            env={"PATH": str(folder)},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert recorded(log) == expected(parts, status), line
