"""Which calls a rule of Gemini CLI speaks of: tools under the names they have here, arguments as they are written here.

What a name or a pattern would cover here that it does not cover there is refused, if the rule allows.
"""

import re
from typing import Final

from pollux.core.conditions import Condition
from pollux.core.errors import ValidationError
from pollux.core.policy import Rule
from pollux.engine.patterns import require_pattern
from pollux.tools.policy.patterns import named
from pollux.tools.policy.tables import SHELL, Written, shown

TOOLS: Final = {
    "run_shell_command": SHELL,
    "grep_search": "search",
    "search_file_content": "search",
    "edit": "replace",
}
CONFINED: Final = frozenset({"read_file", "write_file", "replace", "list_directory", "glob", "search"})
"""Our file tools: they reach nothing outside the agent's directory, whatever the policy says."""

ARGUMENTS: Final = {
    "file_path": "path",
    "absolute_path": "path",
    "dir_path": "path",
    "old_string": "old",
    "new_string": "new",
}
_ARGUMENT: Final = re.compile(rf'(?<!\w)(?:{"|".join(ARGUMENTS)})(?=\\?":)')

# Newer releases put a NUL before and after each argument, and look for it. The arguments of our tools are flat, so that
# brackets and commas say the same.
_BORDER: Final = re.compile(r"(?<!\\)((?:\\\\)*)((?:\\(?:0(?!\d)|x00|u0000)|\0)+)(?=(\\?\")?)")

_COMMAND: Final = re.compile(r'\\?"command\\?":\\?"')
_SOMEWHERE: Final = r"(?:.*(?:\W|\\(?:[bfnrt]|u[0-9a-f]{4})))?"


def tools_of(entry: Written) -> tuple[str, ...]:
    """Patterns for the names that the tools have here."""
    names, server = entry.texts("toolName"), entry.text("mcpName")
    if entry.has("commandPrefix", "commandRegex"):
        return _shell_only(entry, names)
    if server is not None:
        return tuple(_of_server(entry, server, name) for name in names or ("*",))
    if names is None:
        raise entry.refusal("toolName", "the name of a tool", then='Write toolName = "*" for every tool')
    return tuple(dict.fromkeys(_named_here(entry, name) for name in names))


def args_of(entry: Written, rule: Rule) -> str | None:
    """The regular expression over the arguments as they are written here."""
    key = "commandRegex" if entry.has("commandRegex") else "argsPattern"
    pattern = entry.regex(key)
    if pattern is None:
        return None
    is_allow = rule.decision == "allow"
    if key == "commandRegex":
        # There, the second branch of `git|npm` is looked for anywhere. Nobody who allows means that.
        pattern = f'"command":"(?:{pattern})' if is_allow else f'"command":"{pattern}'
    if not is_allow or rule.tool == SHELL or rule.tool in CONFINED:
        pattern = _ARGUMENT.sub(lambda found: f"(?:{found[0]}|{ARGUMENTS[found[0]]})", pattern)
        pattern = _BORDER.sub(_border_here, pattern)
    elif rule.tool == "*":
        raise ValidationError(f"{key} of {entry.where} would allow scripts by a part of their text. Name the tools")
    elif _BORDER.search(pattern):
        raise ValidationError(f"{key} of {entry.where} looks for NUL, which no argument holds here. Leave it out")
    pattern = f"(?:{pattern})"
    entry.check_regex(key, pattern)
    return pattern


def argument_of(entry: Written, rule: Rule) -> tuple[Condition, ...] | None:
    """The same pattern as a condition on the one argument that it names; None where it names none.

    There, a pattern is searched in all arguments at once, so that text in any of them can satisfy it. A rule that
    allows holds here only where the argument itself does.
    """
    regex = entry.text("commandRegex")
    if regex is not None:
        return (Condition("command", "matches", f"^(?:{regex})"),)
    about = named(entry.text("argsPattern") or "")
    if about is None:
        return None
    is_ours = rule.tool == SHELL or rule.tool in CONFINED
    key = ARGUMENTS.get(about.key, about.key) if is_ours else about.key
    try:
        require_pattern(about.regex)
        return (Condition(f'"{key}"', "matches", about.regex),)
    except ValidationError:
        return None


def _border_here(found: re.Match[str]) -> str:
    """What stands here where there a NUL does: before a member, after one, or between two."""
    is_between = len(re.findall(r"0(?=\\|$)|\0", found[2])) > 1
    return found[1] + ("," if is_between else "[{,]" if found[3] else "[,}]")


def anywhere(entry: Written, pattern: str) -> str | None:
    """The pattern, looking wherever in a script a command may begin; None if it does so as it is.

    For rules that forbid or ask: there, they are put to each command of a script.
    """
    loose = _COMMAND.sub(lambda found: found[0] + _SOMEWHERE, pattern)
    if loose == pattern:
        return None
    entry.check_regex("commandRegex" if entry.has("commandRegex") else "argsPattern", loose)
    return loose


def _shell_only(entry: Written, names: tuple[str, ...] | None) -> tuple[str, ...]:
    if entry.has("mcpName") or {TOOLS.get(name, name) for name in names or (SHELL,)} != {SHELL}:
        raise ValidationError(
            f"{entry.where} is about commands, so its toolName must be 'run_shell_command', without mcpName"
        )
    exclusive = ("commandPrefix", "commandRegex", "argsPattern")
    if sum(entry.has(key) for key in exclusive) > 1:
        raise ValidationError(f"{entry.where} has more than one of {', '.join(exclusive)}. Split it into several rules")
    return (SHELL,)


def _named_here(entry: Written, name: str) -> str:
    if "*" not in name:
        return re.sub(r"[?[]", r"[\g<0>]", TOOLS.get(name, name))
    # There, other names with a star match nothing.
    if not re.fullmatch(r"\*|mcp_\*|mcp_[\w.:-]+_\*|mcp_\*_[\w.:-]+", name, re.ASCII):
        known = "the wildcards are '*', 'mcp_*', 'mcp_SERVER_*' and 'mcp_*_TOOL'"
        raise ValidationError(f"toolName of {entry.where} holds {shown(name)}; {known}. Name the tools one by one")
    return _unmistakable(entry, name)


def _of_server(entry: Written, server: str, name: str) -> str:
    if name.startswith("mcp_" if server == "*" else f"mcp_{server}_") or ("*" in name and name != "*"):
        expected = "beside mcpName it must be the tool's own name, or '*'"
        raise ValidationError(f"toolName of {entry.where} holds {shown(name)}; {expected}")
    if server == name == "*":
        return "mcp_*"
    parts = (part if part == "*" else re.sub(r"[^A-Za-z0-9_.:-]", "_", part) for part in (server, name))
    return _unmistakable(entry, "_".join(("mcp", *parts)))


def _unmistakable(entry: Written, pattern: str) -> str:
    # Names do not say where the server's ends: `mcp_*_search` would also allow the tool `re_search` of any server.
    if pattern.startswith("mcp_*_") and entry.table.get("decision") == "allow":
        raise ValidationError(f"{entry.where} allows a tool of every server, and others look like it. Name the servers")
    return pattern
