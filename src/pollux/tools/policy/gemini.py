"""Gemini CLI's policy files as rules of ours.

The law: a rule allows no more here than it is documented to do there, and forbids no less. A condition that cannot be
judged here is an error; a check that cannot be run before a call makes the call a question to a person.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.policy import Mode, Rule, Tier
from pollux.tools.policy.gemini_calls import CONFINED, anywhere, args_of, argument_of, tools_of
from pollux.tools.policy.tables import SHELL, Written, command_patterns, shown

MODES: Final = ("default", "autoEdit", "yolo", "plan")
DECISIONS: Final[dict[str, Mode]] = {"allow": "allow", "ask_user": "require_approval", "deny": "deny"}

_CONDITIONS: Final = "toolName mcpName argsPattern commandPrefix commandRegex toolAnnotations modes".split()
_RULE_KEYS: Final = frozenset(
    """decision priority interactive subagent safety_checker denyMessage allowRedirection
    deny_message allow_redirection""".split()  # The last two are what older releases call them.
).union(_CONDITIONS)
_CHECKER_KEYS: Final = frozenset({"priority", "checker"}).union(_CONDITIONS)

# The words of one command that runs without a shell, whether its program is named by a path or not.
_SIMPLE: Final = ("run:*", "within:*")
_NOT_SIMPLE: Final = ("script:*", "indirect:*", "within:*")
_REDIRECTING: Final = ("script:*[<>]*",)


def gemini_rules(entries: Sequence[Written], checkers: Sequence[Written], *, tier: Tier, mode: str) -> tuple[Rule, ...]:
    """The rules that count in this approval mode. Raises ValidationError for what cannot be honoured."""
    for checker in checkers:
        _pass_over(checker, mode=mode)
    return tuple(rule for entry in entries for rule in _rules(entry, tier=tier, mode=mode))


def _rules(entry: Written, *, tier: Tier, mode: str) -> Iterator[Rule]:
    entry.check_keys(_RULE_KEYS)
    decision = DECISIONS[entry.one_of("decision", DECISIONS)]
    priority = _priority(entry)
    if not _counts(entry, mode):
        return
    _refuse_unknowable(entry)
    tools = tools_of(entry)
    reason = entry.text("denyMessage") or entry.text("deny_message") or ""
    checker = _checker(entry, "safety_checker")
    if decision == "allow":
        reason = ""
        if checker and not _is_needless(checker, tools):
            # It would have had the last word on each call. It cannot run here, so a person has.
            decision, reason = "require_approval", f"its safety checker {shown(checker.name)} cannot run here"
    interactive = entry.flag("interactive")
    rule = Rule(decision, interactive=interactive, tier=tier, priority=priority, reason=reason, name=entry.name)
    for tool in tools:
        yield from _for_tool(entry, replace(rule, tool=tool))


def _for_tool(entry: Written, rule: Rule) -> Iterator[Rule]:
    commands = command_patterns(entry, "commandPrefix", rule.decision)
    if commands is not None:
        yield replace(rule, subjects=commands)
        return
    may_redirect = entry.flag("allowRedirection") or entry.flag("allow_redirection")
    rule = replace(rule, args=args_of(entry, rule))
    if rule.decision == "allow" and rule.args is not None:
        where = argument_of(entry, rule)
        rule = replace(rule, where=where or (), decision="allow" if where else "require_approval")
        if not where:
            why = f"argsPattern of {entry.name} names no one argument, so text in any of them would satisfy it"
            rule = replace(rule, reason=why)
    if not fnmatchcase(SHELL, rule.tool):
        yield rule
    elif rule.decision == "allow" and rule.args is not None:
        # There, each command of a script is judged by itself. Here, how a script begins says nothing about the rest.
        yield replace(rule, subjects=_SIMPLE)
    elif rule.decision == "allow":
        yield rule
        if not may_redirect:
            # Of equal rules the strictest speaks.
            yield replace(rule, decision="require_approval", tool=SHELL, subjects=_REDIRECTING)
    else:
        yield rule
        if rule.args is not None and (loose := anywhere(entry, rule.args)) is not None:
            yield replace(rule, tool=SHELL, args=loose, subjects=_NOT_SIMPLE)


def _priority(entry: Written) -> int:
    priority = entry.number("priority", within=range(1_000))
    if priority is None:
        raise entry.refusal("priority", "a whole number from 0 to 999")
    return priority


def _counts(entry: Written, mode: str) -> bool:
    if entry.table.get("modes", []) == []:
        return True
    modes = entry.texts("modes") or ()
    if not set(modes) <= set(MODES):
        raise entry.refusal("modes", f"a list of approval modes out of {', '.join(MODES)}")
    return mode in modes


def _refuse_unknowable(entry: Written) -> None:
    instead = {
        "subagent": "Write it as [[rules]] with `profile`",
        "toolAnnotations": "Name the tools that have these annotations",
    }
    for key, then in instead.items():
        if entry.has(key):
            raise ValidationError(f"{entry.where} holds {key}, which is not known of a call here. {then}")


def _pass_over(entry: Written, *, mode: str) -> None:
    """Accept a checker that has nothing to do here, and refuse others: whatever they guard would go unguarded."""
    entry.check_keys(_CHECKER_KEYS)
    checker = _checker(entry, "checker")
    if checker is None:
        raise entry.refusal("checker", "a table with type and name")
    if _counts(entry, mode) and not _is_needless(checker, tools_of(entry)):
        raise ValidationError(
            f"{entry.where} wants {shown(checker.name)}, which cannot run here. Remove it, and let the rules it guards"
            " say ask_user"
        )


@frozen
class _Checker:
    type: str
    name: str


def _checker(entry: Written, key: str) -> _Checker | None:
    written = entry.table_of(key)
    if written is None:
        return None
    written.check_keys(("type", "name", "required_context", "config"))
    name = written.text("name")
    if name is None:
        raise written.refusal("name", "the name of a checker")
    return _Checker(written.one_of("type", ("in-process", "external")), name)


def _is_needless(checker: _Checker, tools: Sequence[str]) -> bool:
    return checker == _Checker("in-process", "allowed-path") and CONFINED.issuperset(tools)
