"""grep: searches files. GNU grep.

The pattern is always given by `--regexp` once rebuilt, so that it can never be taken for an option.
Left out: `-f` (reads patterns from a file), `-R` (follows symlinks it meets), and what reads
devices or sockets. The globs of `--include`, `--exclude` and `--exclude-dir` know `*` only.
"""

from __future__ import annotations

from typing import Final

from gateway.normalize.grammar.model import Option, Tool, flags, valued

TOOL: Final = Tool(
    name="grep",
    stdin=True,
    pattern="regexp",
    number="context",
    recursive="recursive",
    options=(
        *flags(
            "-E --extended-regexp",
            "-F --fixed-strings",
            "-G --basic-regexp",
            "-P --perl-regexp",
            "-i --ignore-case",
            "--no-ignore-case",
            "-v --invert-match",
            "-w --word-regexp",
            "-x --line-regexp",
            "-c --count",
            "-l --files-with-matches",
            "-L --files-without-match",
            "-o --only-matching",
            "-q --quiet",
            "-s --no-messages",
            "-n --line-number",
            "-b --byte-offset",
            "-H --with-filename",
            "-h --no-filename",
            "-r --recursive",
            "-a --text",
            "-I",
            "-Z --null",
            "-T --initial-tab",
        ),
        *valued("pattern", "-e --regexp"),
        *valued(
            "number",
            "-m --max-count",
            "-A --after-context",
            "-B --before-context",
            "-C --context",
        ),
        *valued("glob", "--include", "--exclude", "--exclude-dir"),
        Option(
            long="color",
            value="text",
            choices=("never", "auto", "always"),
            attached=True,
            bare=True,
        ),
    ),
    hints=(
        ("-R", "it follows symlinks; write -r"),
        ("--dereference-recursive", "it follows symlinks; write -r"),
        ("-f", "patterns from a file are not accepted; give them with -e"),
        ("--file", "patterns from a file are not accepted; give them with -e"),
    ),
)
