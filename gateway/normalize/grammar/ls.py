"""ls: lists names. Options that follow symlinks (`-L`, `-H`) are left out."""

from __future__ import annotations

from typing import Final

from gateway.normalize.grammar.model import Option, Tool, flags, valued

TOOL: Final = Tool(
    name="ls",
    operand="any",
    reads=False,
    recursive="recursive",
    options=(
        *flags(
            "-l",
            "-1",
            "-a --all",
            "-A --almost-all",
            "-h --human-readable",
            "-t",
            "-S",
            "-r --reverse",
            "-R --recursive",
            "-d --directory",
            "-i --inode",
            "-s --size",
            "-n --numeric-uid-gid",
            "-g",
            "-o",
            "-G --no-group",
            "-p",
            "-F",
            "-C",
            "-x",
            "-m",
            "-c",
            "-u",
            "-U",
            "-X",
            "-v",
            "-k --kibibytes",
            "-N --literal",
            "-Q --quote-name",
            "--full-time",
            "--group-directories-first",
            "--si",
        ),
        *valued("number", "-w --width"),
        Option(
            long="color",
            value="text",
            choices=("never", "auto", "always"),
            attached=True,
            bare=True,
        ),
        Option(long="sort", value="text", choices=("none", "size", "time", "version", "extension")),
        Option(
            long="time-style",
            value="text",
            choices=("full-iso", "long-iso", "iso", "locale"),
        ),
    ),
    hints=(
        ("-L", "symlinks are not followed"),
        ("-H", "symlinks are not followed"),
        ("--dereference", "symlinks are not followed"),
    ),
)
