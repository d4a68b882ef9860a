"""Calling an operation without HTTP, and one process of `python -m mock_apis`."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from broker.resource import VerifiedCall
from mock_apis.service import Arguments

ROOT = Path(__file__).resolve().parents[2]


def the_call(sub="alice"):
    return VerifiedCall(
        sub=sub,
        agent="demo-agent",
        client_id="gateway",
        grant_id="g",
        jti="j",
        scope="s",
        operation="o",
        decision_id="d",
        action_digest="a",
        body=b"",
    )


def arguments(*, path=None, query=None, body=None):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Arguments(path=path or {}, query=query or {}, body=raw)


@contextmanager
def process(*words, fds=()):
    """Run `python -m mock_apis` until the block ends; its Popen."""
    with subprocess.Popen(
        [sys.executable, "-m", "mock_apis", *map(str, words)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=fds,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def ready(running):
    """The ready line, or what it said instead."""
    line = running.stdout.readline()
    assert line, running.stderr.read()
    return json.loads(line)
