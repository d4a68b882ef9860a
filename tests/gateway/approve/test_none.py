"""Nobody there is never consent."""

from __future__ import annotations

from gateway.approve.none import NoApprover
from gateway.model.approval import Verdict
from tests.gateway.approve.samples import question


def test_nobody_there_is_unavailable():
    answer = NoApprover().ask(question({"path": "/ws/a"}, approval_id="q7"))
    assert answer.verdict is Verdict.UNAVAILABLE
    assert answer.approval_id == "q7"
    assert answer.approver == ""
