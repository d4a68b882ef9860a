"""Every reason code: stable, snake_case, never re-used. Records, answers and docs use these.

A test reads the tree for reason literals and refuses one that is not in this table.
"""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, str]] = {
    # deciding
    "rule_match": "a rule of the policy matched",
    "default_decision": "no rule matched; the policy's default counts",
    "fs_protected": "the path is protected by the policy",
    "self_protection": "the act reaches for counterfoil itself or its files",
    "fs_hardlink": "the file has more than one name (hard link count above 1)",
    "taint_session": "the session has touched or tried to touch a secret; nothing may leave it",
    "taint_condition": "the rule wants a session without this taint",
    "session_suspended": "the session is suspended until a person resumes it",
    "argument_missing": "a constrained argument is missing",
    "argument_not_allowed": "a constrained argument has a value the rule does not accept",
    "rate_exceeded": "the rule let through as many acts as it may in this time",
    "budget_exceeded": "the rule let through as many acts or bytes as it may; a person clears it",
    "when_false": "the rule's `when` is false",
    "when_error": "the rule's `when` could not be judged; a fault never permits",
    "identity_not_allowed": "the rule names other identities",
    "unknown_operation": "normalization cannot name the operation",
    "policy_invalid": "the policy cannot be used",
    "policy_digest_mismatch": "the policy file is not the one that was registered",
    "config_invalid": "the configuration cannot be used",
    "trace_invalid": "the trace is not one, or not readable",
    # approving
    "approval_granted": "a person approved",
    "approval_denied": "a person denied",
    "approval_timeout": "no answer in time; no answer is not consent",
    "approval_cancelled": "the question was withdrawn",
    "approval_unavailable": "no live approver; no answer is not consent",
    "approval_required": "the act waits for a person (a check asks nobody)",
    # recording
    "record_unavailable": "the log cannot be made durable",
    "session_changed": "another door changed the session while this act was decided",
    # links and levels
    "daemon_unavailable": "the configuration names a daemon level and no daemon answers",
    "name_collision": "another distribution owns an import name of counterfoil",
    "internal_error": "a fault inside counterfoil; it denies",
    # requests
    "request_invalid": "the request is not strict JSON of the right shape",
    "tool_unknown": "no such tool",
    "params_invalid": "a parameter is missing, unknown or of the wrong type",
    # paths
    "path_empty": "the path is empty",
    "path_control": "the path has a NUL or control character",
    "path_encoding": "the path is not valid Unicode or not in normal form C",
    "path_invisible": "the path has invisible or direction-changing characters",
    "path_backslash": "the path has a backslash (UNC, device or Windows form)",
    "path_colon": "the path has a colon (drive letter or stream)",
    "path_tilde": "the path begins with a tilde or has a short 8.3 name",
    "path_component": "the path has an empty, `.` or `..` component",
    "path_trailing": "a component ends with a dot or space",
    "path_reserved": "a component is a reserved device name",
    "path_percent": "the path is percent-encoded",
    "path_too_long": "the path or a component is too long, or the path too deep",
    "path_outside_roots": "the path is outside every declared root",
    # files
    "fs_not_found": "no such file or directory",
    "fs_not_regular": "not a regular file (FIFO, device, socket, directory)",
    "fs_not_directory": "not a directory",
    "fs_too_large": "the file is larger than the limit",
    "fs_escape": "a symlink leads out of the root, or through a magic link",
    "fs_symlink": "the last component is a symlink; writes never follow one",
    "fs_mount": "the path crosses into another file system",
    "fs_permission": "the operating system refuses access",
    "fs_io_error": "the operating system reported an error",
    # commands
    "sh_syntax": "the line is outside the accepted grammar",
    "sh_too_long": "the line, an argument or the number of segments is over the limit",
    "sh_builtin": "a shell builtin; there is no shell",
    "sh_wrapper": "a program whose work is to run another program",
    "sh_program_unknown": "no such program on the fixed path, and none configured",
    "sh_program_untrusted": "the program's file is not root-owned or can be written by others",
    "sh_option": "an option the program's grammar does not accept",
    "sh_operand": "an operand the program's grammar does not accept",
    "sh_walk_limit": "a recursive walk would reach more entries than the limit",
    "git_subcommand": "a git subcommand outside the accepted ones",
    "git_repository": "a repository git may not be started in, or a file that belongs to one",
    # URLs
    "url_invalid": "the URL does not parse",
    "url_scheme": "the URL's scheme is not accepted",
    "url_userinfo": "the URL carries a user name or password",
    "url_ambiguous": "the URL's path is not in its normal form",
    # API calls
    "api_unknown_operation": "the audience or operation is not in the configuration",
    "api_arguments": "an argument is missing, unknown or of the wrong type",
    # executing
    "executor_unavailable": "nothing here can execute this kind of act",
    "sandbox_unavailable": "the rule demands a sandbox tier that is not there",
    "guard_unavailable": "the rule demands that results are redacted, and nothing here can",
    "changed_since_decision": "what would be used is no longer what was decided",
    "dry_run": "the mode is dry-run, so nothing is executed",
    "done": "executed",
    "timeout": "the act did not end in time and was stopped",
    "exit_status": "the command ended with a status other than 0",
    "output_limit": "the command wrote more than the limit and was stopped",
    "not_run": "an earlier part of the line ended so that this part is not run",
    "broker_unavailable": "the broker is not there, slow, or answers garbage",
    "broker_refused": "the broker refuses a credential for this call",
    "grant_missing": "no grant for this user, agent, audience and scope",
    "api_unavailable": "the API is not there, slow, or answers garbage",
    "api_refused": "the API refused the call",
    "cancelled": "the act was interrupted",
}
