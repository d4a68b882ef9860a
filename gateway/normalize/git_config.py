"""A repository's own configuration, read strictly and judged by a list of harmless keys. Pure.

Git runs what its configuration names: clean and smudge filters, external diff and textconv
drivers, the fsmonitor hook, hooks, signature programs, and transports for objects that are missing.
Names of drivers are free, so they cannot all be switched off from outside. So a key is accepted
only if it is known to run nothing for the commands that read; any other is refused by its name.
Files that lead on to other files (`include`, `includeIf`) are refused the same way.

The reader accepts a subset of what git accepts: no continued lines, no control characters, no byte
order mark. Within the subset it finds the same keys.

Source: git-config(1), CVE-2022-24765 (configuration of a foreign repository).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from gateway.model.action import Refusal

MAX_BYTES: Final = 256 * 1024

_SECTION: Final = re.compile(
    r"[ \t]*\[([A-Za-z0-9-]+)(?:\.([A-Za-z0-9.-]+)|[ \t]+\"((?:[^\"\\]|\\.)*)\")?\]"
)
_KEY: Final = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?\Z", re.DOTALL)
_BLANK: Final = re.compile(r"[ \t]*(?:[#;].*)?\Z", re.DOTALL)
_FOREIGN: Final = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")

# Section and key, lower case; `*` stands for any key. A section with a name between quotes is in
# the second table. What is not here is refused.
_PLAIN_KEYS: Final = (
    "core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase"
    " core.precomposeunicode core.symlinks core.autocrlf core.eol core.safecrlf core.quotepath"
    " core.abbrev core.compression core.loosecompression core.untrackedcache core.preloadindex"
    " core.longpaths core.protecthfs core.protectntfs core.sharedrepository core.trustctime"
    " core.checkstat core.bigfilethreshold core.commentchar core.whitespace core.packedgitlimit"
    " core.packedgitwindowsize core.deltabasecachelimit core.fsync core.fscache core.editor"
    " core.pager core.sshcommand core.multipackindex core.commitgraph core.worktree"
    " extensions.worktreeconfig extensions.objectformat extensions.preciousobjects extensions.noop"
    " diff.renames diff.renamelimit diff.algorithm diff.mnemonicprefix diff.noprefix diff.context"
    " diff.interhunkcontext diff.colormoved diff.colormovedws diff.indentheuristic diff.relative"
    " diff.statgraphwidth diff.wserrorhighlight diff.tool diff.guitool diff.suppressblankempty"
    " log.date log.abbrevcommit log.decorate log.excludedecoration log.initialdecorationset"
    " status.short status.branch status.relativepaths status.aheadbehind status.renames"
    " status.renamelimit status.showstash status.showuntrackedfiles status.displaycommentprefix"
    " merge.conflictstyle merge.ff merge.renames merge.renamelimit merge.log merge.stat merge.tool"
    " merge.guitool merge.verifysignatures merge.autostash merge.directoryrenames"
    " commit.gpgsign commit.verbose commit.template commit.cleanup commit.status"
    " tag.gpgsign tag.sort tag.forcesignannotated i18n.commitencoding i18n.logoutputencoding"
    " feature.manyfiles index.version index.threads rerere.enabled rerere.autoupdate"
    " user.* author.* committer.* init.* pull.* push.* fetch.* rebase.* receive.* gc.* pack.*"
    " repack.* maintenance.* color.* column.* advice.* branch.* stash.* clone.* checkout.* am.*"
    " apply.* alias.* pager.* gui.* gitk.* lfs.* http.* credential.* help.* remote.pushdefault"
    " worktree.* versionsort.* sequence.* submodule.active submodule.recurse submodule.fetchjobs"
    " submodule.propagatebranches submodule.alternatelocation"
)
_NAMED_KEYS: Final = (
    "branch.* alias.* color.* gitk.* gui.* http.* credential.* url.* pager.* lfs.* difftool.*"
    " mergetool.* remote.url remote.pushurl remote.fetch remote.push remote.tagopt remote.prune"
    " remote.prunetags remote.mirror remote.skipdefaultupdate remote.skipfetchall remote.proxy"
    " remote.gh-resolved remote.lfsurl remote.followremotehead submodule.url submodule.active"
    " submodule.branch submodule.update submodule.ignore"
)
_PLAIN: Final = tuple(_PLAIN_KEYS.split())
_NAMED: Final = tuple(_NAMED_KEYS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One setting: `key` as git names it (section, name between quotes if any, variable)."""

    section: str
    name: str | None
    variable: str
    value: str

    @property
    def key(self) -> str:
        """The full key, as git prints it."""
        middle = "" if self.name is None else f"{self.name}."
        return f"{self.section}.{middle}{self.variable}"


def parse(raw: bytes, shown: str) -> tuple[Entry, ...] | Refusal:
    """Return the settings of a configuration file in order, or why it cannot be read."""
    if len(raw) > MAX_BYTES:
        return _unreadable(shown, f"larger than {MAX_BYTES} bytes")
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return _unreadable(shown, "not UTF-8")
    if _FOREIGN.search(text):
        return _unreadable(shown, "a control character")
    entries: list[Entry] = []
    section: tuple[str, str | None] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        rest = line
        head = _SECTION.match(rest)
        if head is not None:
            section = _section(head)
            rest = rest[head.end() :]
        if _BLANK.match(rest):
            continue
        found = _KEY.match(rest)
        value = None if found is None else _value(found.group(2) or "")
        if found is None or section is None or value is None:
            return _unreadable(shown, f"line {number} is not plain `key = value`")
        entries.append(
            Entry(section=section[0], name=section[1], variable=found.group(1).lower(), value=value)
        )
    return tuple(entries)


def judge(entries: tuple[Entry, ...], shown: str) -> Refusal | None:
    """Return a refusal that names the first key that is not known to be harmless."""
    for entry in entries:
        table = _PLAIN if entry.name is None else _NAMED
        plain = f"{entry.section}.{entry.variable}"
        if any(fnmatchcase(plain, known) for known in table):
            continue
        message = (
            f"{shown} sets {entry.key[:128]!r}, which is not known to run nothing; a person may"
            " remove it"
        )
        return Refusal(reason="git_repository", message=message)
    return None


def _section(head: re.Match[str]) -> tuple[str, str | None]:
    """Return section and name; the old form `[a.b]` means `[a "b"]`."""
    name = head.group(3)
    if name is not None:
        return head.group(1).lower(), re.sub(r"\\(.)", r"\1", name)
    old = head.group(2)
    return head.group(1).lower(), None if old is None else old.lower()


def _value(raw: str) -> str | None:
    """Return a value without quotes, escapes and comment; None for what is not read here."""
    value: list[str] = []
    quoted = False
    at = 0
    while at < len(raw):
        char = raw[at]
        at += 1
        if char == '"':
            quoted = not quoted
        elif char == "\\":
            escaped = raw[at : at + 1]
            if escaped not in {"\\", '"', "n", "t", "b"}:
                return None
            value.append({"n": "\n", "t": "\t", "b": "\b"}.get(escaped, escaped))
            at += 1
        elif char in "#;" and not quoted:
            break
        else:
            value.append(char)
    return None if quoted else "".join(value).strip(" \t")


def _unreadable(shown: str, why: str) -> Refusal:
    return Refusal(reason="git_repository", message=f"{shown} cannot be read strictly: {why}")
