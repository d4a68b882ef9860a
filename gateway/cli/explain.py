"""`counterfoil explain`: every rule considered for an act, and why it did not match.

Leaves no trace: nothing is recorded, asked or executed, and no taint follows. Exit status as for
`check`.
"""

from __future__ import annotations

import argparse
import sys

from gateway.assembly.build import assemble_judge, log_settings
from gateway.cli import act
from gateway.cli.main import say
from gateway.decide.explain import Explanation, explain
from gateway.kit import canon
from gateway.kit import text as texts
from gateway.link.link import require_served
from gateway.record import keys
from gateway.record.stage import peek


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    act.add_act(verbs.add_parser("explain", help=text, description=text))


def run(args: argparse.Namespace) -> int:
    """Explain one act under every policy layer."""
    request = act.request_from(args)
    options = act.options(args)
    require_served(options)
    judge = assemble_judge(options)
    try:
        log_keys = keys.load(options.places.keys)
        state = peek(options.places.state_dir, log_keys, log_settings(), judge.caller.scope)
        action = judge.normalizer.normalize(request)
        action.release()
        shown = [explain(decider, action, judge.caller, state) for decider in judge.deciders]
    finally:
        judge.close()
    if args.json:
        say(canon.dumps([one.to_json() for one in shown]).decode(), sys.stdout)
    else:
        for layer, one in zip(judge.layers.all, shown, strict=True):
            if len(shown) > 1:
                name = layer.policy.layer or "user"
                say(f"layer {name}, {texts.escape(layer.policy.document.source)}", sys.stdout)
            _show(one)
        if len(shown) > 1:
            strictest = max(one.decision.effect for one in shown)
            say(f"all layers: {strictest.word}", sys.stdout)
    return act.EXIT[max(one.decision.effect for one in shown)]


def _show(explanation: Explanation) -> None:
    say(act.show_decision(explanation.decision), sys.stdout)
    for name, outcome in explanation.before:
        say(f"  before the rules: {name}: {outcome}", sys.stdout)
    for lines in explanation.resources:
        say(f"  {texts.escape(lines.resource)} ({lines.operation})", sys.stdout)
        for rule in lines.rules:
            why = "" if rule.condition is None else f", at `{rule.condition}`"
            where = f"{rule.source}:{rule.line}"
            say(f"    {rule.rule} [{rule.effect}] {rule.outcome}{why}  ({where})", sys.stdout)
        say(f"    => {lines.effect} by {lines.decided_by}", sys.stdout)
