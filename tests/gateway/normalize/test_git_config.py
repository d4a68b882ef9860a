"""The configuration reader: the keys git finds, and only those known to run nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.model.action import Refusal
from gateway.normalize.git_config import MAX_BYTES, Entry, judge, parse

ORDINARY = """[core]
\trepositoryformatversion = 0
\tfilemode = true ; as usual
# a comment
[remote "origin"]
\turl = "https://example.com/a#b.git"
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "ma\\"in"] merge = refs/heads/main
[old.style]
  key
"""


def entries(text: str) -> tuple[Entry, ...]:
    found = parse(text.encode(), "config")
    assert not isinstance(found, Refusal), found
    return found


def test_an_ordinary_file() -> None:
    assert [(one.key, one.value) for one in entries(ORDINARY)] == [
        ("core.repositoryformatversion", "0"),
        ("core.filemode", "true"),
        ("remote.origin.url", "https://example.com/a#b.git"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ('branch.ma"in.merge', "refs/heads/main"),
        ("old.style.key", ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tpager = less \\\n fsmonitor = x\n",
        "\ufeff[core]\n",
        "key = value\n",
        "[core\n",
        "[a] [b] k = v\n",
        "[ core]\nk = v\n",
        '[core "a\nb"]\n',
        '[a.b "c"]\nk = v\n',
        '[core]\nk = "open\n',
        "[core]\nk = a\\q\n",
        "[core]\nk ; v\n",
        "[core]\n9k = v\n",
        "[core]\nk\u00e9 = v\n",
        "[core]\nk = v\x00\n",
        "[core]\nk = v\x0c\n",
        "[core]\nk = v\r\r\n",
    ],
)
def test_what_is_not_read(text: str) -> None:
    refusal = parse(text.encode(), "config")
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "git_repository"


def test_limits() -> None:
    assert isinstance(parse(b"\n" * (MAX_BYTES + 1), "config"), Refusal)
    assert isinstance(parse(b"[core]\nk = \xff\n", "config"), Refusal)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[filter "x"]\nclean = p', "filter.x.clean"),
        ('[filter "x"]\nprocess = p', "filter.x.process"),
        ('[diff "x"]\ntextconv = p', "diff.x.textconv"),
        ('[diff "x"]\ncommand = p', "diff.x.command"),
        ("[diff]\nexternal = p", "diff.external"),
        ("[diff]\nsubmodule = log", "diff.submodule"),
        ("[core]\nfsmonitor = p", "core.fsmonitor"),
        ("[CORE]\nFSMonitor = p", "core.fsmonitor"),
        ("[core]\nhooksPath = p", "core.hookspath"),
        ("[core]\nattributesFile = p", "core.attributesfile"),
        ("[core]\nexcludesFile = p", "core.excludesfile"),
        ("[core] fsmonitor = p", "core.fsmonitor"),
        ("[include]\npath = x", "include.path"),
        ('[includeIf "gitdir:/"]\npath = x', "includeif.gitdir:/.path"),
        ("[gpg]\nprogram = p", "gpg.program"),
        ("[log]\nshowSignature = true", "log.showsignature"),
        ("[pretty]\nx = %G?", "pretty.x"),
        ("[format]\npretty = %G?", "format.pretty"),
        ("[mailmap]\nfile = /x", "mailmap.file"),
        ("[extensions]\npartialClone = origin", "extensions.partialclone"),
        ('[remote "o"]\npromisor = true', "remote.o.promisor"),
        ('[remote "o"]\nuploadpack = p', "remote.o.uploadpack"),
        ("[status]\nsubmoduleSummary = true", "status.submodulesummary"),
        ('[merge "x"]\ndriver = p', "merge.x.driver"),
        ("[unheard]\nof = x", "unheard.of"),
        ('[core "x"]\nbare = true', "core.x.bare"),
    ],
)
def test_keys_that_are_not_known_to_run_nothing(text: str, key: str) -> None:
    refusal = judge(entries(text), "config")
    assert refusal is not None
    assert refusal.reason == "git_repository"
    assert repr(key) in refusal.message


@pytest.mark.parametrize(
    "text",
    [
        "[core]\nrepositoryformatversion = 0\nfilemode = true\nbare = false\nlogallrefupdates = true",
        "[user]\nname = a\nemail = b",
        '[remote "o"]\nurl = x\nfetch = y',
        '[branch "main"]\nremote = o\nmerge = x\nvscode-merge-base = y',
        "[alias]\nst = status\n[pull]\nrebase = true\n[init]\ndefaultBranch = main",
        '[submodule "x"]\nurl = y\nactive = true',
        "[gc]\nauto = 0\n[color]\nui = auto\n[lfs]\nrepositoryformatversion = 0",
    ],
)
def test_ordinary_settings_are_harmless(text: str) -> None:
    assert judge(entries(text), "config") is None


LINES = st.lists(
    st.sampled_from(
        [
            "[core]",
            "[Filter.Old]",
            '[filter "x"]',
            '[a "b\\"c"] k = v',
            "[a]k=v",
            "[a]",
            "key = value",
            '  Key=va"lu e"',
            "key",
            "key = a # b",
            'key = "a # b" ; c',
            "key = a \\",
            "key = \\n\\t\\\\",
            "# comment",
            "; comment",
            "",
            "key ; x",
            "= x",
            "[",
            "\tfsmonitor = p",
            'key = "a',
        ]
    )
    | st.text(st.characters(codec="utf-8"), max_size=10),
    max_size=8,
).map("\n".join)


@pytest.mark.needs("git")
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=LINES)
def test_git_finds_the_same_keys(text: str, tmp_path: Path) -> None:
    found = parse(text.encode(), "config")
    if isinstance(found, Refusal):
        return
    path = tmp_path / "config"
    path.write_bytes(text.encode())
    done = subprocess.run(
        ["git", "config", "--file", str(path), "--list", "-z"],
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
    if done.returncode == 0:
        listed = [item.partition("\n") for item in done.stdout.decode().split("\0")[:-1]]
        assert [(one.key, one.value) for one in found] == [(key, value) for key, _, value in listed]


@given(st.binary(max_size=200))
def test_anything_gives_a_value(raw: bytes) -> None:
    assert isinstance(parse(raw, "config"), (tuple, Refusal))
