"""The approver where nobody is there: every question is answered `approval_unavailable`.

For checks, continuous integration and doors without a person. It never consents.
"""

from __future__ import annotations

from gateway.model.approval import ApprovalAnswer, Question, Verdict


class NoApprover:
    """Implements the approver port without a person."""

    def ask(self, question: Question) -> ApprovalAnswer:
        """Say that no approver is there."""
        return ApprovalAnswer(approval_id=question.approval_id, verdict=Verdict.UNAVAILABLE)
