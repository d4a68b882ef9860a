"""What a spelled path may look like, before anything is opened. Pure.

Each refused form has its own reason, since each is another way to make two readers see two names:
control characters and NUL (C cuts there), text that is not UTF-8 or not in normal form C,
invisible and direction-changing characters (also the HFS+ ignorables), backslashes (UNC and device
forms), colons (drives, streams), a leading tilde and 8.3 short names, percent-encoding, empty
components, trailing dots and spaces, DOS device names, and anything too long or too deep.

Accepted although they are not normal, because agents write them: `.` components, `..` (see
:mod:`gateway.normalize.path`) and one trailing slash.

Source: CVE-2014-9390 (ignorable characters and short names of `.git`), CVE-2019-1352 (streams).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from gateway.model.action import Refusal

MAX_PATH_BYTES: Final = 4096
MAX_COMPONENT_BYTES: Final = 255
MAX_DEPTH: Final = 64
_MEANT: Final = 65_536  # characters of a refused spelling that are looked at

_CONTROL: Final = frozenset({"Cc", "Zl", "Zp"})
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_SHORT_NAME: Final = re.compile(r"~[0-9]")
_TRAILING: Final = re.compile(r"(?:\A|/)(?!\.\.?(?:/|\Z))[^/]*[. ](?:/|\Z)")
_DEVICE: Final = re.compile(
    r"(?:\A|/)(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])"
    r"(?:[ ]*\.[^/]*)?(?:/|\Z)",
    re.IGNORECASE,
)
# Default_Ignorable_Code_Point beyond general category Cf (Unicode DerivedCoreProperties).
_IGNORABLE: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)


_PREFIX: Final = re.compile(r"^(?:file:(?://[^/]*)?|[a-z]:)", re.IGNORECASE)


def lexical(spelled: str) -> Refusal | None:
    """Return why a spelled path is refused, or None; the first rule of the table that bites."""
    if not spelled:
        return Refusal(reason="path_empty", message="path is empty; name a file or directory")
    # Almost every path is short plain ASCII with nothing to look at twice.
    if len(spelled) <= 2 * MAX_DEPTH and _PLAIN.fullmatch(spelled):
        rules = _COMPONENT_RULES
    else:
        rules = _TEXT_RULES + _COMPONENT_RULES
    for reason, bites, message in rules:
        if bites(spelled):
            return Refusal(reason=reason, message=message)
    return None


def components(path: str) -> list[str]:
    """Split a path; `.` components and one trailing slash are dropped, empty ones stay."""
    trimmed = path.removeprefix("/").removesuffix("/")
    return [part for part in trimmed.split("/") if part != "."] if trimmed else []


def folded(parts: list[str]) -> list[str]:
    """Resolve `..` by spelling alone; above the top it stays at the top."""
    result: list[str] = []
    for part in parts:
        if part == "..":
            del result[-1:]
        else:
            result.append(part)
    return result


def as_meant(spelled: str) -> str:
    """Return what a careless reader would take a refused spelling for.

    It is never opened; it lets a disguised name of a protected file count as naming it.
    """
    text = unquote(spelled[-_MEANT:].split("\0", 1)[0], errors="replace").split("\0", 1)[0]
    text = unicodedata.normalize("NFC", encodable(text).replace("\\", "/"))
    text = "".join(ch for ch in text if not _invisible(ch) and unicodedata.category(ch) != "Cc")
    text = _PREFIX.sub("", text, count=1)  # `file:` of a URL, the letter of a drive
    names = (part.partition(":")[0] for part in text.split("/"))  # `name:stream`
    parts = (part if part in {".", ".."} else part.rstrip(". ") for part in names)
    slash = "/" if text.startswith("/") else ""
    return slash + "/".join(part for part in parts if part)


def encodable(text: str) -> str:
    """Return the text with lone surrogates replaced, so that it can be written down."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _not_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _too_long(text: str) -> bool:
    parts = components(text)
    return (
        len(text.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES
        or len(parts) > MAX_DEPTH
        or any(len(part.encode("utf-8", "surrogatepass")) > MAX_COMPONENT_BYTES for part in parts)
    )


def _invisible(char: str) -> bool:
    code = ord(char)
    return unicodedata.category(char) == "Cf" or any(a <= code <= b for a, b in _IGNORABLE)


_PLAIN: Final = re.compile(r"[A-Za-z0-9_./@+,= -]+")

_Rule = tuple[str, Callable[[str], bool], str]
_TEXT_RULES: Final[tuple[_Rule, ...]] = (
    (
        "path_too_long",
        _too_long,
        f"path is over {MAX_PATH_BYTES} bytes or {MAX_DEPTH} components, or one over 255 bytes",
    ),
    (
        "path_control",
        lambda text: any(unicodedata.category(ch) in _CONTROL for ch in text),
        "path has a NUL, control or line-separator character; write the plain name",
    ),
    ("path_encoding", _not_encodable, "path has a lone surrogate; it is not valid Unicode"),
    (
        "path_invisible",
        lambda text: any(_invisible(ch) for ch in text),
        "path has an invisible or direction-changing character; write the plain name",
    ),
    (
        "path_encoding",
        lambda text: not unicodedata.is_normalized("NFC", text),
        "path is not in Unicode normal form C; write the composed form",
    ),
    (
        "path_backslash",
        lambda text: "\\" in text,
        "path has a backslash; components are separated by / only",
    ),
    (
        "path_percent",
        lambda text: _PERCENT.search(text) is not None,
        "path is percent-encoded; write the characters themselves",
    ),
    (
        "path_tilde",
        lambda text: text.startswith("~") or _SHORT_NAME.search(text) is not None,
        "path begins with ~ or has a short 8.3 name; nothing is expanded, write the whole path",
    ),
    ("path_colon", lambda text: ":" in text, "path has a colon (drive letter, stream or URI)"),
)
_COMPONENT_RULES: Final[tuple[_Rule, ...]] = (
    (
        "path_component",
        lambda text: "//" in text,
        "path has an empty component (two slashes together); write one slash",
    ),
    (
        "path_trailing",
        lambda text: _TRAILING.search(text) is not None,
        "a component of the path ends with a dot or space",
    ),
    (
        "path_reserved",
        lambda text: _DEVICE.search(text) is not None,
        "a component of the path is a reserved device name (CON, NUL, COM1, ...)",
    ),
)
