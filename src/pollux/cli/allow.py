"""`--allow` as rules: a tool, a tool and whom it may act upon, or a command by its first words."""

import re

from pollux.core.errors import ValidationError
from pollux.core.policy import Rule

_FORM = re.compile(r"([A-Za-z_*][\w.*-]*)(?::(.+)|\((.+)\))?", re.DOTALL)
_NAMES = {"run_shell_command": "shell", "grep_search": "search", "search_file_content": "search", "edit": "replace"}


def rules_for(allowed: tuple[str, ...]) -> list[Rule]:
    """Raises ValidationError for what is no such rule."""
    return [_rule(text.strip()) for text in allowed]


def _rule(text: str) -> Rule:
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValidationError(f"--allow expects TOOL, TOOL:SUBJECT or 'shell:git status', found {text!r}", code="usage")
    tool = _NAMES.get(found[1], found[1])
    subject = found[2] or found[3]
    subjects: tuple[str, ...] | None = None
    if subject is not None and tool == "shell":
        from pollux.tools.shell.judge import prefix_patterns

        try:
            subjects = prefix_patterns(subject.strip(), "allow")
        except ValidationError as problem:
            raise ValidationError(f"--allow {text}: {problem}", code="usage") from problem
    elif subject is not None:
        # Which files a script's words mean is for questions and grants: a rule is by the words.
        subjects = (subject.strip(), "program:*") if tool.startswith(("runbook_", "agent_")) else (subject.strip(),)
    return Rule("allow", tool, subjects=subjects, tier="user", name=f"--allow {text}")
