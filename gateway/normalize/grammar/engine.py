"""The argv engine: reads an argv by a table of what its program accepts, and writes it anew.

1. An option that is not in the table is refused, by its exact name: programs accept any unambiguous
   prefix of a long option, the table does not.
2. Letters are bundled (`-rn`) only when each is an option without value; an option with value
   stands alone (`-n5`, `-n 5`).
3. Nothing that begins with `-` may follow the first operand, and no operand begins with `-`.
4. What runs is never what was typed: argv is rebuilt with the long spelling where there is one,
   values joined on, options first, then `--`, then operands. Parsing that gives the same again.

Source: XBD 12.2 (Utility Syntax Guidelines), CWE-88 (argument injection).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from gateway.model.action import Refusal
from gateway.normalize.grammar.model import KINDS, Option, Parsed, Tool

_NUMBER: Final = re.compile(r"-([0-9]{1,9})\Z")
_SHOWN: Final = 64


class _Refuse(Exception):  # noqa: N818 - it carries a verdict to the edge of this module
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def parse(tool: Tool, words: Sequence[str]) -> Parsed | Refusal:
    """Read the words after the program's (and subcommand's) name."""
    try:
        return _parse(tool, words)
    except _Refuse as refuse:
        message = f"{tool.name}: {refuse.message}"
        return Refusal(reason=refuse.reason, message=message)


def serialize(parsed: Parsed) -> tuple[str, ...]:
    """Write the words after the program's name, options first, then `--`, then operands."""
    options = (_spelled(parsed.tool, key, value) for key, value in parsed.options)
    if parsed.tool.split:
        return (*options, *parsed.operands, "--", *parsed.paths)
    return (*options, "--", *parsed.operands)


def with_operands(parsed: Parsed, operands: tuple[str, ...], paths: tuple[str, ...] = ()) -> Parsed:
    """Return the same command with its operands replaced by what they turned out to be."""
    return replace(parsed, operands=operands, paths=paths)


@cache
def by_long(tool: Tool) -> Mapping[str, Option]:
    """Return the tool's options by long name."""
    return {option.long: option for option in tool.options if option.long}


@cache
def by_short(tool: Tool) -> Mapping[str, Option]:
    """Return the tool's options by letter."""
    return {option.short: option for option in tool.options if option.short}


def _parse(tool: Tool, words: Sequence[str]) -> Parsed:
    options: list[tuple[str, str | None]] = []
    waiting = list(words[::-1])
    while waiting and waiting[-1].startswith("-") and waiting[-1] != "--":
        _option(tool, waiting, options)
    before, paths = _operands(tool, waiting[::-1])
    if tool.pattern is not None and not any(key == tool.pattern for key, _ in options):
        if not before:
            raise _Refuse("sh_operand", "the pattern is missing; it is the first operand")
        if not KINDS["pattern"].fullmatch(before[0]):
            raise _Refuse("sh_operand", "the pattern is longer than 2048 characters")
        options.append((tool.pattern, before.pop(0)))
    if len(before) + len(paths) > tool.maximum:
        raise _Refuse("sh_operand", f"more than {tool.maximum} operands; name fewer")
    return Parsed(tool=tool, options=tuple(options), operands=tuple(before), paths=tuple(paths))


def _option(tool: Tool, waiting: list[str], options: list[tuple[str, str | None]]) -> None:
    """Read one word of options, and the value that may follow it."""
    word = waiting.pop()
    number = _NUMBER.match(word)
    if number and tool.number is not None:
        options.append((tool.number, number.group(1)))
    elif word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        option = by_long(tool).get(name)
        if option is None:
            raise _unknown(tool, f"--{name}")
        options.append(_valued(option, f"--{name}", value if equals else None, waiting))
    elif word == "-":
        raise _Refuse("sh_operand", "`-` is refused; leave operands out to read from a pipe")
    else:
        _letters(tool, word, waiting, options)


def _letters(
    tool: Tool, word: str, waiting: list[str], options: list[tuple[str, str | None]]
) -> None:
    first = by_short(tool).get(word[1])
    if first is None:
        raise _unknown(tool, f"-{word[1]}")
    if first.value is not None:
        options.append(_valued(first, word[:2], word[2:] or None, waiting))
        return
    for letter in word[1:]:
        option = by_short(tool).get(letter)
        if option is None:
            raise _unknown(tool, f"-{letter}")
        if option.value is not None:
            message = f"-{letter} takes a value; write it apart from {word[:_SHOWN]!r}"
            raise _Refuse("sh_option", message)
        options.append((option.implies or option.key, None))


def _valued(
    option: Option, spelled: str, value: str | None, waiting: list[str]
) -> tuple[str, str | None]:
    key = option.implies or option.key
    if option.value is None:
        if value is not None:
            raise _Refuse("sh_option", f"{spelled} takes no value")
        return key, None
    if value is None and option.bare:
        return key, None
    if value is None and (option.attached or not waiting):
        raise _Refuse("sh_option", f"{spelled} needs a value")
    checked = waiting.pop() if value is None else value
    if option.choices:
        if checked not in option.choices:
            accepted = ", ".join(option.choices)
            raise _Refuse("sh_option", f"the value of {spelled} is one of {accepted}")
    elif not KINDS[option.value].fullmatch(checked):
        raise _Refuse("sh_option", f"the value of {spelled} is not a plain {option.value}")
    return key, checked


def _operands(tool: Tool, words: list[str]) -> tuple[list[str], list[str]]:
    """Split what follows the options; the separator may come later only where it means something.

    For a tool that splits, `REV -- FILE` has it after the first operand.
    """
    before: list[str] = []
    paths: list[str] = []
    separated = False
    for word in words:
        if word == "--" and not separated and (tool.split or not before):
            separated = True
        elif word.startswith("-"):
            message = f"{word[:_SHOWN]!r} stands after an operand or `--`; options come first"
            raise _Refuse("sh_option", message)
        elif not word or "\n" in word:
            if tool.pattern is None or before:
                raise _Refuse("sh_operand", "an empty operand, or one with a newline")
            before.append(word)
        else:
            (paths if separated and tool.split else before).append(word)
    return before, paths


def _spelled(tool: Tool, key: str, value: str | None) -> str:
    if key in by_long(tool):
        return f"--{key}" if value is None else f"--{key}={value}"
    return f"-{key}{value or ''}"


def _unknown(tool: Tool, spelled: str) -> _Refuse:
    hint = dict(tool.hints).get(spelled)
    if hint is None:
        meant = [name for name in by_long(tool) if name.startswith(spelled[2:])]
        if spelled.startswith("--") and spelled[2:] and meant:
            hint = f"write the whole name: --{', --'.join(sorted(meant))}"
        else:
            hint = f"accepted are {' '.join(_all(tool))}"
    return _Refuse("sh_option", f"option {spelled[:_SHOWN]!r} is not accepted; {hint}")


def _all(tool: Tool) -> list[str]:
    """List the accepted options, the shortest spelling of each."""
    number = ["-NUM"] if tool.number else []
    spelled = (f"-{one.short}" if one.short else f"--{one.long}" for one in tool.options)
    return [*number, *dict.fromkeys(spelled)]
