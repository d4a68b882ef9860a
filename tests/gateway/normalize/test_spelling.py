from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model.reasons import REASONS
from gateway.normalize.spelling import as_meant, components, folded, lexical

REFUSED = [
    ("", "path_empty"),
    ("a\0b", "path_control"),
    ("a\nb", "path_control"),
    ("a\x7f", "path_control"),
    ("a\x85b", "path_control"),
    ("a\u2028b", "path_control"),
    ("a\ud800", "path_encoding"),
    ("cafe\u0301", "path_encoding"),
    (".e\u200bnv", "path_invisible"),
    (".gi\u200ct", "path_invisible"),
    ("\u202egpj.exe", "path_invisible"),
    ("a\u3164", "path_invisible"),
    ("a\ufe0f", "path_invisible"),
    ("a\\b", "path_backslash"),
    ("\\\\server\\share", "path_backslash"),
    ("C:/x", "path_colon"),
    ("file.txt:stream", "path_colon"),
    ("file:///etc/passwd", "path_colon"),
    ("~/x", "path_tilde"),
    ("~root/x", "path_tilde"),
    ("GIT~1/config", "path_tilde"),
    ("a//b", "path_component"),
    ("//server/share", "path_component"),
    ("a//", "path_component"),
    ("//", "path_component"),
    ("a/b.", "path_trailing"),
    ("a/.../b", "path_trailing"),
    ("a/b /", "path_trailing"),
    ("a./b", "path_trailing"),
    ("a /b", "path_trailing"),
    (".../b", "path_trailing"),
    ("NUL", "path_reserved"),
    ("a/con.txt", "path_reserved"),
    ("com1", "path_reserved"),
    ("a/aux/b", "path_reserved"),
    ("LPT9.tar.gz", "path_reserved"),
    ("%2e%2e/x", "path_percent"),
    ("x" * 256, "path_too_long"),
    ("é" * 128, "path_too_long"),
    ("a/" * 64 + "a", "path_too_long"),
    ("abcdefg/" * 63 + "b" * 200 + "/" + "é" * 2000, "path_too_long"),
]


@pytest.mark.parametrize(("spelled", "reason"), REFUSED)
def test_each_form_is_refused_with_its_own_reason(spelled: str, reason: str) -> None:
    refusal = lexical(spelled)
    assert refusal is not None
    assert refusal.reason == reason
    assert refusal.reason in REASONS


@pytest.mark.parametrize(
    "spelled",
    [
        "a",
        "./a",
        "a/",
        ".",
        "..",
        "a/../b",
        "/abs/x.py",
        ".env",
        "é.txt",
        "a b.txt",
        "notes (1).md",
        "100%",
        "x~",
        "console.py",
        "nullable.c",
        "a/" * 64,
        "日本語/文書.txt",
        "[x]{y}*?$HOME",
    ],
)
def test_ordinary_spellings_are_accepted(spelled: str) -> None:
    assert lexical(spelled) is None


def test_components_drop_dots_and_one_slash() -> None:
    assert components("./a/./b/") == ["a", "b"]
    assert components("/") == []
    assert components(".") == []
    assert components("a//b") == ["a", "", "b"]
    assert folded(["a", "..", "..", "b"]) == ["b"]


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        (".e\u200bnv", ".env"),
        (".env\0.txt", ".env"),
        ("%2eenv", ".env"),
        (".env%00.png", ".env"),
        ("src\\..\\.env", "src/../.env"),
        (".env. ", ".env"),
        ("a//.env", "a/.env"),
        (".env:x", ".env"),
        (".env::$DATA", ".env"),
        ("C:.env", ".env"),
        ("file:///w/.env", "/w/.env"),
        ("file://localhost/w/.env", "/w/.env"),
        ("\ud800.env", "?.env"),
    ],
)
def test_a_disguise_is_seen_through_for_tainting(spelled: str, meant: str) -> None:
    assert as_meant(spelled) == meant


@given(st.text(st.characters(codec=None), max_size=40) | st.text("./~%:aC\0 \\", max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_text_gives_a_verdict_and_accepted_text_is_clean(spelled: str) -> None:
    refusal = lexical(spelled)
    as_meant(spelled).encode()
    if refusal is None:
        spelled.encode()
        assert spelled
        assert not set(spelled) & set("\0\\:\n")
        assert "" not in components(spelled)
        assert not spelled.startswith("~")
    else:
        assert refusal.reason in REASONS
