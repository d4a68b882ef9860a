"""Built-in denies: counterfoil's own things by any spelling; ordinary work goes on."""

from __future__ import annotations

import pytest

from gateway.decide.builtin import resolved
from gateway.model.action import Refusal
from gateway.model.names import Operation, Taint
from gateway.model.resource import PathResource, Resource
from tests.gateway.decide.build import (
    ALICE,
    CLEAN,
    ROOT,
    act,
    command,
    decide,
    decider,
    file,
    rule,
    said,
    url,
)

EVERYTHING = [
    rule("files", "allow", "fs.read", "fs.write"),
    rule("commands", "allow", "shell.run", "git.write"),
    rule(
        "exact", "allow", "shell.run", commands=[["python3", "-m", "http.server"], ["node", "x.js"]]
    ),
    rule("net", "allow", "net.request"),
]


@pytest.mark.parametrize(
    "resource",
    [
        file("/etc/counterfoil"),
        file("/etc/counterfoil/config.yaml"),
        file("/ETC/Counterfoil/not-there-yet", "fs.write"),
        file("/var/lib/counterfoil/log/0001.jsonl"),
        file(f"{ROOT}/link", also=("/etc/counterfoil/keys/hmac",)),
        command("counterfoil", "session", "clear"),
        command("/usr/local/bin/COUNTERFOIL"),
        command("x", executable="/srv/bin/counterfoil"),
        command("x", executable="/etc/counterfoil/tool"),
        command("python3", "-m", "gateway", grammar=False),
        command("python3", "-Im", "gateway.cli.main", grammar=False),
        command("python3", "-mbroker", grammar=False),
        command("nice", "counterfoil", grammar=False),
        command("node", "/etc/counterfoil/keys", grammar=False),
        url("127.0.0.1", port=8080),
        url("localhost", port=8080),
        url("a.localhost", port=8080),
        url("127.9.9.9", port=8080),
        url("0.0.0.0", port=8080),
        url("::1", port=8080),
        url("::ffff:127.0.0.1", port=8080),
        url("broker.example.com"),
        url("BROKER.example.com."),
    ],
)
def test_own_things_are_denied_whatever_the_rules_say(resource: Resource) -> None:
    decision = decide(decider(*EVERYTHING), resource)
    assert said(decision) == ("deny", "builtin:self-protection", "self_protection")
    assert bool(decision.taint) == isinstance(resource, PathResource)


def test_what_a_walk_would_reach_is_denied_and_taints_nobody() -> None:
    reached = PathResource(
        operation=Operation.FS_READ, path=f"{ROOT}/.env", root="workspace", named=False
    )
    decision = decide(decider(*EVERYTHING, protected=["**/.env"]), reached)
    assert said(decision) == ("deny", "builtin:protected", "fs_protected")
    assert "would reach it" in decision.message
    assert not decision.taint


@pytest.mark.parametrize(
    "spelling",
    [
        ".env", "../.env", "a//.env", "./x/.ENV/y", "/ws/.env/", "C:\\x\\.env", "~/.ssh/id",
        "/ws/../home/u/secret", "//home/u/secret/x", "/ws/x/../.env",
    ],
)  # fmt: skip
def test_a_refused_spelling_of_a_protected_path_still_taints(spelling: str) -> None:
    judge = decider(*EVERYTHING, protected=["**/.env", "**/.ssh", "${home}/secret"])
    refusal = Refusal(reason="path_component", message="no")
    decision = judge.decide(act(file(spelling), refusal=refusal), ALICE, CLEAN)
    assert decision.taint == {Taint.ATTEMPTED}


def test_resolved_is_lexical() -> None:
    assert resolved("../a/./b//c", "/ws/x") == "/ws/a/b/c"
    assert resolved("/../..") == "/"


@pytest.mark.parametrize(
    "resource",
    [
        file("/etc/counterfoil-notes"),
        command("cat", "counterfoil"),
        command("git", "commit", "-m", "gateway", operation="git.write"),
        command("python3", "-m", "http.server", grammar=False),
        command("node", "x.js", grammar=False),
        url("127.0.0.1", port=8081),
        url("broker.example.com", port=8443),
        url("example.com", port=8080),
    ],
)
def test_ordinary_things_are_not(resource: Resource) -> None:
    assert decide(decider(*EVERYTHING), resource).effect.word == "allow"
