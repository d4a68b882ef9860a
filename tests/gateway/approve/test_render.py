"""The shown text: whole, escaped, one field per line, different for different actions."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.approve.render import render, wrap
from gateway.kit import text
from gateway.model.names import Operation
from gateway.model.resource import PathResource
from tests.gateway.approve.samples import question

HOSTILE = st.text(st.one_of(st.sampled_from([*'\n"\\: |', "\u202e"]), st.characters()), max_size=30)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), HOSTILE),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(HOSTILE, inner, max_size=3)
    ),
    max_leaves=8,
)
NORMALIZED = st.dictionaries(
    st.one_of(st.sampled_from(["argv", "content", "url", "path", "body"]), HOSTILE),
    JSON,
    max_size=4,
)


def lines(normalized, **more) -> list[str]:
    return render(question(normalized, **more)).splitlines()


def test_an_argv_is_a_numbered_list_and_never_a_line():
    shown = lines({"argv": ["rm", "-rf", "a, b", "; echo", ""]})
    start = shown.index("  argv:")
    assert shown[start + 1 : start + 6] == [
        '    1: "rm"',
        '    2: "-rf"',
        '    3: "a, b"',
        '    4: "; echo"',
        '    5: ""',
    ]


def test_a_write_is_shown_whole_with_its_size():
    content = "".join(f"line {n}\n" for n in range(5000)) + "last"
    shown = lines({"path": "/ws/a", "content": content})
    assert f"  content: {len(content)} bytes, 5001 lines, no newline at the end" in shown
    assert [line[6:] for line in shown if line.startswith("    | ")] == content.split("\n")


def test_content_cannot_forge_a_field():
    shown = lines({"content": 'x\n  rule: "harmless"\nwhy\n'})
    assert shown.count("why") == 1
    assert [line for line in shown if line.startswith("  rule:")] == ['  rule: "ask-first"']


def test_a_url_is_split():
    shown = lines({"method": "POST", "url": "https://api.example:8443/a/b?x=1&y=2"})
    for line in ('scheme: "https:"', 'host: "api.example"', 'port: "8443"'):
        assert f"    {line}" in shown
    assert '    path: "/a/b"' in shown
    assert '    query: "?x=1&y=2"' in shown


def test_an_api_call_shows_audience_operation_scope_and_every_argument():
    shown = lines(
        {
            "audience": "mail-api",
            "api_operation": "messages.send",
            "scope": "mail.send",
            "method": "POST",
            "url": "http://127.0.0.1:8102/v1/messages/send",
            "arguments": {"to": ["a@example.com", "b@example.com"], "body": "hello\nbye\n"},
        },
        operation=Operation.API_CALL,
        tool="api.call",
    )
    for line in ('  audience: "mail-api"', '  scope: "mail.send"', '      2: "b@example.com"'):
        assert line in shown
    assert "    body: 10 bytes, 2 lines" in shown
    assert "      | bye" in shown


def test_why_names_rule_reason_taint_and_deadline():
    shown = lines({"path": "/ws/a"}, labels=("exposed",), timeout_s=17)
    assert '  rule: "ask-first"' in shown
    assert '  reason: "rule_match"' in shown
    assert '  session taint: "exposed"' in shown
    assert "  deadline: 17 s, then the answer is no" in shown


def test_files_of_a_command_are_named_with_what_is_special_about_them():
    path = PathResource(
        operation=Operation.FS_WRITE, path="/etc/a, b", also=("/ws/link",), root=None, links=2
    )
    shown = lines({"argv": ["tee"]}, resources=(path,))
    assert shown[-1] == (
        '  1: fs.write "/etc/a, b", also "/ws/link", outside roots, 2 hard links,'
        " can leave the machine"
    )


def test_hidden_characters_are_announced_in_the_banner():
    shown = lines({"path": "/ws/a\u202e\u200b"}, message="\x1b[2J")
    assert shown[2] == "WARNING: 3 hidden characters, shown as \\u{...}"
    assert not any("WARNING" in line for line in lines({"path": "/ws/a"}))


@pytest.mark.parametrize("field", ["tool", "rule", "message", "agent"])
def test_every_field_is_escaped(field: str):
    hostile = "\x1b[38D\u202e\u3164\U000e0041\nrule"
    shown = render(question({"path": "/ws/a"}, **{field: hostile}))
    assert not any(text.hidden(c) for c in shown if c != "\n")
    assert text.escape(hostile) in shown


@settings(max_examples=150, deadline=None)
@given(NORMALIZED)
def test_nothing_hidden_reaches_the_text(normalized):
    shown = render(question(normalized))
    assert not any(text.hidden(c) for c in shown if c != "\n")
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in shown if c != "\n")


@settings(max_examples=150, deadline=None)
@given(NORMALIZED, NORMALIZED)
def test_two_actions_never_look_the_same(one, other):
    same = list(one.items()) == list(other.items()) and repr(one) == repr(other)
    assert (render(question(one)) == render(question(other))) is same


@settings(max_examples=100, deadline=None)
@given(HOSTILE.map(text.escape), st.integers(1, 60))
def test_wrapping_loses_nothing_and_marks_every_break(line: str, columns: int):
    pieces = wrap(line, columns)
    assert pieces[0] + "".join(piece.removeprefix("  ... ") for piece in pieces[1:]) == line
    assert all(piece.startswith("  ... ") for piece in pieces[1:])
    assert all(text.columns(piece) <= max(columns, 20) for piece in pieces)
