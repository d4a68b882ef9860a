"""A session that stands without a log: a candidate policy decides, nothing is recorded or done.

What the log would remember of each decision is kept in memory, so that a later act is judged in
the state the earlier ones left. Configured APIs and programs count as at the doors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.assembly.build import Options, judge_of
from gateway.assembly.layers import Layers
from gateway.assembly.policies import MakeRoots, load_policy
from gateway.decide.compile import Policy
from gateway.model.decision import Decision
from gateway.model.ports import Decider, Normalizer
from gateway.model.request import ActionRequest, Caller
from gateway.model.session import SessionState, Usage


@dataclass(slots=True, kw_only=True)
class Session:
    """One session under one policy; `state` is what its acts have left so far."""

    policy: Policy
    normalizer: Normalizer
    decider: Decider
    caller: Caller
    state: SessionState

    def judge(self, request: ActionRequest) -> Decision:
        """Decide one act and remember what follows from the decision."""
        action = self.normalizer.normalize(request)
        try:
            decision = self.decider.decide(action, self.caller, self.state)
        finally:
            action.release()
        if not decision.taint <= self.state.taint:
            self.state = replace(self.state, taint=self.state.taint | decision.taint)
        return decision

    def spend(self, decision: Decision) -> None:
        """Remember that an act was let through, for the limits; a trace tells no time."""
        usage = dict(self.state.usage)
        for rule, size in decision.spends.items():
            usage[rule] = usage.get(rule, Usage()).with_act(size, None)
        self.state = replace(self.state, usage=usage)

    def fresh(self) -> Session:
        """Return a clean session under the same policy."""
        return replace(self, state=SessionState())


@contextmanager
def standing(
    options: Options,
    policy: Path,
    *,
    roots: Mapping[str, str] | MakeRoots | None = None,
    user: str | None = None,
    state: SessionState | None = None,
) -> Iterator[Session]:
    """Let a candidate policy stand, judged alone as if it were registered.

    Args:
        options: places and configuration; a policy registered there does not count.
        policy: the candidate's file.
        roots: as for :func:`gateway.assembly.policies.load_policy`.
        user: who is asking; by default the running user.
        state: what the session begins with; by default clean.

    Raises:
        CounterfoilError: policy or configuration cannot be used.
    """
    loaded = load_policy(policy, roots=roots)
    judge = judge_of(options, Layers(main=loaded))
    try:
        yield Session(
            policy=loaded.policy,
            normalizer=judge.normalizer,
            decider=judge.deciders[0],
            caller=judge.caller if user is None else replace(judge.caller, user=user),
            state=state or SessionState(),
        )
    finally:
        judge.close()
