"""README and `--help` say the same: verbs, commands, files and make targets all exist."""

from __future__ import annotations

import re

import pytest

from gateway.cli.main import VERBS, build_parser
from tests.repo.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
LINKS = re.findall(r"\]\(([^)#:]+)\)", README)


def test_every_verb_in_the_readme_exists_and_every_verb_has_help():
    used = set(re.findall(r"^counterfoil ([a-z-]+)", BLOCKS, re.MULTILINE))
    assert used <= set(VERBS)
    shown = build_parser(None).format_help()
    assert not [verb for verb in VERBS if not re.search(rf"^ +{verb} ", shown, re.MULTILINE)]


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "broker"])
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as end:
        build_parser(verb).parse_args([verb, "--help"])
    assert end.value.code == 0
    assert VERBS[verb] in re.sub(r"\s+", " ", capsys.readouterr().out)


@pytest.mark.parametrize("link", sorted(set(LINKS)))
def test_every_link_leads_somewhere(link):
    assert (ROOT / link).exists()


def test_every_make_target_in_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", README, re.MULTILINE))
    names = {one or other for one, other in targets}
    assert names
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in names)


def test_the_readme_shows_the_demos_own_steps():
    from scripts.demo_steps import STEPS

    assert not [step.title for step in STEPS if step.title not in README]
