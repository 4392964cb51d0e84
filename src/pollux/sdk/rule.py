"""A rule as authors write it: the policy's own, and one about commands by the words that they begin with."""

from dataclasses import fields
from typing import Literal, TypedDict, Unpack, cast

from pollux.core import policy
from pollux.core.conditions import Condition
from pollux.core.errors import ValidationError
from pollux.core.policy import Mode, Tier

SHELL = "shell"

Texts = tuple[str, ...] | list[str] | str


class RuleFields(TypedDict, total=False):
    """The fields of a rule. Each means what it means in a policy file."""

    args: str | None
    subjects: tuple[str, ...] | None
    provenance: tuple[str, ...] | None
    door: str
    profile: str
    user: str
    interactive: bool | None
    tier: Tier
    priority: int
    reason: str
    name: str
    grantable: bool
    where: tuple[Condition, ...]
    interface: tuple[str, ...] | None
    interface_not: tuple[str, ...]
    asker: tuple[str, ...] | None
    capabilities: tuple[str, ...] | None
    document: Literal["trusted", "untrusted"] | None
    rendered_from: tuple[str, ...] | None
    placed_by: tuple[str, ...] | None


class Rule(policy.Rule):
    """One line of a policy. Patterns are shell wildcards; conditions in `where` look at the parsed arguments.

    `commands` are the words that a command begins with, as in a policy file: `Rule("allow", commands=["git status"])`.
    Such a rule is about the tool `shell`. Raises ValidationError where it names another tool, or `subjects` too.
    """

    __slots__ = ()

    def __init__(
        self, decision: Mode, tool: str = "*", *, commands: Texts | None = None, **more: Unpack[RuleFields]
    ) -> None:
        if commands is not None:
            if tool not in ("*", SHELL):
                raise ValidationError(f"a rule with commands is about the tool {SHELL!r}, found {tool!r}. Leave it out")
            if more.get("subjects") is not None:
                raise ValidationError("a rule has commands or subjects, not both. Split it into two rules")
            tool, more["subjects"] = SHELL, _patterns(commands, decision)
        super().__init__(decision, tool, **more)


def plain(rule: policy.Rule) -> policy.Rule:
    """The rule as the policy keeps it."""
    if type(rule) is policy.Rule:
        return rule
    return policy.Rule(**{each.name: getattr(rule, each.name) for each in fields(policy.Rule)})


def _patterns(commands: Texts, decision: Mode) -> tuple[str, ...]:
    from pollux.tools.shell.judge import prefix_patterns

    prefixes = cast("tuple[object, ...]", (commands,) if isinstance(commands, str) else tuple(commands))
    if not prefixes or not all(isinstance(prefix, str) for prefix in prefixes):
        raise ValidationError(f"expected commands to be texts such as 'git status', found {commands!r}")
    found = (pattern for prefix in prefixes for pattern in prefix_patterns(str(prefix), decision))
    return tuple(dict.fromkeys(found))
