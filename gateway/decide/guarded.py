"""Files that decide what runs or who judges: settings of agent hosts and editors, git's own files.

A program outside the gate reads them and starts what they name (hooks, MCP servers, tasks), so one
write into them is a way around every rule. They may be read; writing and deleting them is denied,
in any case and also while they do not exist yet. A person edits them by hand.

Only what is read as configuration is here. Instructions and skills of an agent are text that it
follows, and what it does with them comes through the gate.

Source: the hosts' own documentation of hooks and MCP configuration; CVE-2025-54135 (an MCP entry
written into a settings file that did not exist), CVE-2025-53773 (a settings file of an editor).
"""

from __future__ import annotations

from typing import Final

GUARDED: Final = (
    # counterfoil's own policy for a project
    "**/.counterfoil.yaml",
    # git starts hooks, and what its configuration names
    "**/.git",
    # Claude Code
    "**/.claude/settings*.json",
    "**/.claude/hooks",
    "**/.claude/plugins",
    "**/.claude.json",
    "**/.mcp.json",
    # Codex
    "**/.codex",
    # Gemini CLI
    "**/.gemini/settings.json",
    "**/.gemini/extensions",
    # Cursor
    "**/.cursor/hooks.json",
    "**/.cursor/hooks",
    "**/.cursor/mcp.json",
    # Copilot
    "**/.github/hooks",
    "**/.copilot",
    # Windsurf
    "**/.windsurf/hooks.json",
    "**/.codeium/windsurf",
    # Kiro and Amazon Q
    "**/.kiro/agents",
    "**/.kiro/hooks",
    "**/.kiro/settings",
    "**/.amazonq/cli-agents",
    "**/.amazonq/mcp.json",
    # Cline
    "**/.clinerules/hooks",
    "**/Cline/Hooks",
    # opencode
    "**/.opencode/plugin",
    "**/.opencode/plugins",
    "**/opencode.json",
    "**/opencode.jsonc",
    # VS Code
    "**/.vscode/mcp.json",
    "**/.vscode/settings.json",
    "**/.vscode/tasks.json",
)
"""Globs; each covers everything beneath it, too."""
