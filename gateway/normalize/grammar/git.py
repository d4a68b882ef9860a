"""git: the subcommands that only read. Data; :mod:`gateway.normalize.git` judges the repository.

Left out on purpose: what writes a file (`--output`), runs a program (`--ext-diff`, `--textconv`,
`--show-signature`, `%G` placeholders), reads files that are not tracked (`--no-index`, `-O`), or
shows more than the named paths (`--full-diff`, `--follow`, `-L`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.normalize.grammar.model import Option, Tool, flags, valued

_COLOR: Final = (
    Option(
        long="color", value="text", choices=("never", "auto", "always"), attached=True, bare=True
    ),
    *flags("--no-color"),
)
# Options after which no file content is shown unless one of SHOWS_CONTENT is there too.
QUIET: Final = (
    "stat",
    "numstat",
    "shortstat",
    "name-only",
    "name-status",
    "summary",
    "compact-summary",
    "raw",
    "no-patch",
    "quiet",
)
SHOWS_CONTENT: Final = (
    "patch",
    "unified",
    "patch-with-stat",
    "word-diff",
    "function-context",
    "binary",
    "S",
    "G",
)
_DIFF: Final = (
    *flags(
        "-p --patch",
        "-s --no-patch",
        "--stat",
        "--numstat",
        "--shortstat",
        "--name-only",
        "--name-status",
        "--summary",
        "--compact-summary",
        "--raw",
        "--patch-with-stat",
        "--binary",
        "--full-index",
        "--minimal",
        "--patience",
        "--histogram",
        "--no-renames",
        "--no-prefix",
        "--pickaxe-all",
        "--ignore-blank-lines",
        "--ignore-space-at-eol",
        "--ignore-cr-at-eol",
        "-w --ignore-all-space",
        "-b --ignore-space-change",
        "-W --function-context",
        "-M --find-renames",
        "-C --find-copies",
        "-R",
        "-z",
    ),
    Option(short="u", implies="patch"),
    *valued("number", "-U --unified"),
    *valued("letters", "--diff-filter"),
    *valued("text", "-S", "-G"),
    Option(
        long="word-diff",
        value="text",
        choices=("plain", "color", "porcelain", "none"),
        attached=True,
        bare=True,
    ),
    Option(long="abbrev", value="number", attached=True, bare=True),
    *_COLOR,
)
_MESSAGE: Final = (
    *flags(
        "--oneline",
        "--abbrev-commit",
        "--no-abbrev-commit",
        "--no-decorate",
        "--no-notes",
        "--parents",
    ),
    Option(
        long="decorate",
        value="text",
        choices=("short", "full", "auto", "no"),
        attached=True,
        bare=True,
    ),
    Option(long="pretty", value="format", attached=True, bare=True),
    Option(long="format", value="format", attached=True),
    *valued("text", "--date"),
)
_DANGEROUS: Final = "it would run a program or reach files of its own; leave it out"
_HINTS: Final = tuple(
    (spelled, _DANGEROUS)
    for spelled in (
        "--ext-diff",
        "--textconv",
        "--output",
        "--no-index",
        "--show-signature",
        "-O",
        "-L",
        "--follow",
        "--full-diff",
    )
)

SUBCOMMANDS: Final[Mapping[str, Tool]] = {
    "status": Tool(
        name="git status",
        operand="any",
        reads=False,
        options=(
            *flags(
                "-s --short", "-b --branch", "--long", "--show-stash", "--ahead-behind",
                "--no-ahead-behind", "--renames", "--no-renames", "-z",
            ),
            Option(
                long="porcelain", value="text", choices=("v1", "v2", "1", "2"), attached=True,
                bare=True,
            ),
            Option(
                long="untracked-files", short="u", value="text", choices=("no", "normal", "all"),
                attached=True, bare=True,
            ),
            Option(
                long="ignored", value="text", choices=("traditional", "no", "matching"),
                attached=True, bare=True,
            ),
        ),
        hints=(("-v", "it shows content; use git diff"),),
    ),
    "diff": Tool(
        name="git diff",
        split=True,
        options=(
            *_DIFF,
            *flags("--cached", "--merge-base", "--exit-code", "--quiet"),
            Option(long="staged", implies="cached"),
        ),
        hints=_HINTS,
    ),
    "show": Tool(name="git show", split=True, options=(*_DIFF, *_MESSAGE), hints=_HINTS),
    "log": Tool(
        name="git log",
        split=True,
        number="max-count",
        options=(
            *_DIFF,
            *_MESSAGE,
            *flags(
                "--graph", "--all", "--branches", "--tags", "--remotes", "--reverse", "--merges",
                "--no-merges", "--first-parent", "--date-order", "--topo-order",
                "--author-date-order", "--left-right", "--boundary", "--source", "--all-match",
                "--invert-grep", "--ancestry-path", "--simplify-by-decoration", "--full-history",
                "--cherry-pick", "--cherry-mark", "--relative-date", "-g --walk-reflogs",
                "-i --regexp-ignore-case", "-E --extended-regexp", "-F --fixed-strings",
            ),
            *valued("number", "-n --max-count", "--skip"),
            *valued(
                "text", "--since", "--after", "--until", "--before", "--author", "--committer",
                "--grep",
            ),
        ),
        hints=_HINTS,
    ),
    "branch": Tool(
        name="git branch",
        operand="any",
        reads=False,
        maximum=16,
        options=(
            *flags("-l --list", "-a --all", "-r --remotes", "-v --verbose", "--show-current"),
            *valued(
                "revision", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"
            ),
            Option(
                long="sort",
                value="text",
                choices=tuple(
                    f"{sign}{field}"
                    for field in ("refname", "committerdate", "authordate", "version:refname")
                    for sign in ("", "-")
                ),
            ),
            *_COLOR,
        ),
        hints=tuple(
            (one, "only listing branches is accepted")
            for one in ("-d", "-D", "-m", "-M", "-c", "-C", "-f", "-u", "--delete", "--move")
        ),
    ),
}  # fmt: skip

_WRITE_WORDS: Final = (
    "add am apply bisect checkout cherry-pick clean commit gc init merge mv notes prune rebase"
    " reset restore revert rm stash switch tag update-index update-ref worktree"
)
_REMOTE_WORDS: Final = "clone fetch ls-remote pull push remote submodule"
WRITES: Final = frozenset(_WRITE_WORDS.split())
REMOTE: Final = frozenset(_REMOTE_WORDS.split())
