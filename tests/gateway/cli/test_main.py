"""The command itself: verbs, usage, faults, the way to the broker."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gateway import __version__
from gateway.cli import check
from gateway.cli.main import VERBS, main, split_argv
from tests.support.gate import ROOT


def test_no_verb_and_unknown_verbs_are_usage(capsys):
    for words in ([], ["nonsense"], ["--nonsense"], ["audit"], ["audit", "nonsense"]):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 1
        assert "usage: counterfoil" in capsys.readouterr().err


def test_version_and_help(capsys):
    for words, said in ((["--version"], f"counterfoil {__version__}\n"), (["--help"], None)):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 0
        out = capsys.readouterr().out
        assert out == said or all(verb in out for verb in VERBS)


def test_argv_is_split_at_the_first_dashes():
    assert split_argv(["a"]) == (["a"], None)
    assert split_argv(["a", "--"]) == (["a"], [])
    assert split_argv(["a", "--", "b", "--", "c"]) == (["a"], ["b", "--", "c"])


def test_a_fault_of_ours_is_a_deny_without_its_text(gate, monkeypatch):
    def broken(args):
        raise ValueError("a value nobody may see")

    monkeypatch.setattr(check, "run", broken)
    status, out, err = gate.cli("check", "fs.read", "path=a")
    assert (status, out) == (2, "")
    assert err.startswith("counterfoil: internal_error: ValueError at test_main.py:")
    assert "nobody may see" not in err


def test_an_interrupt_is_exit_status_1(gate, monkeypatch):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "run", interrupted)
    status, _, err = gate.cli("check", "fs.read", "path=a")
    assert (status, err) == (1, "counterfoil: interrupted; what had begun is in the log\n")


def test_the_brokers_commands_are_the_brokers():
    done = subprocess.run(
        [sys.executable, "-m", "gateway.cli.main", "broker", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert "grant" in done.stdout


def test_a_verb_does_not_load_the_others():
    program = (
        "import sys; from gateway.cli.main import build_parser; build_parser('check');"
        "loaded = [m for m in sys.modules if m.startswith('gateway.cli.')];"
        "print(sorted(loaded)); assert not {'flask', 'broker', 'requests'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "['gateway.cli.act', 'gateway.cli.check', 'gateway.cli.main']\n"
