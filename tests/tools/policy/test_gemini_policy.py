"""Gemini CLI's policy files: the same rules under our names, and nothing that allows more than it does there."""

from pathlib import Path
from typing import Any

import pytest

from pollux.core.errors import ValidationError
from pollux.core.ids import UserId
from pollux.core.policy import Facts, Mode, PolicyRequest, Rule, decide, hides
from pollux.core.tools import ToolSpec
from pollux.engine.patterns import is_match
from pollux.tools.policy.files import load_policy, parse_policy
from pollux.tools.shell.judge import subjects

SAMPLES = Path(__file__).parents[4] / "shared/samples/gemini-policy"
HEAD = "rule 1 in g.toml"


def called(tool: str, *, interactive: bool = True, side_effect: bool = True, **args: Any) -> PolicyRequest:
    found = subjects(args["command"]) if "command" in args else frozenset({str(args.get("path", ""))})
    spec = ToolSpec(tool, "", {}, side_effect=side_effect)
    facts = Facts(user=UserId("ada"), interface="sdk", profile="default", interactive=interactive)
    return PolicyRequest(spec, args, facts, found)


def ruled(text: str, *, mode: str = "default") -> tuple[Rule, ...]:
    return parse_policy(text, name="g.toml", mode=mode)


def rule(decision: str, more: str, *, priority: int = 100) -> str:
    return f"[[rule]]\ndecision = '{decision}'\npriority = {priority}\n{more}\n"


def decided(text: str, asked: PolicyRequest) -> Mode:
    return decide(asked, ruled(text), (), match=is_match).mode


def refusal(text: str) -> str:
    with pytest.raises(ValidationError) as refused:
        ruled(text)
    return str(refused.value)


# The files that come with it


@pytest.fixture
def samples() -> Path:
    if not SAMPLES.is_dir():
        pytest.skip(f"the samples are not there: {SAMPLES}")
    return SAMPLES


def test_its_read_only_policy_lets_tools_read(samples: Path):
    rules = load_policy(samples / "read-only.toml", tier="default")

    for tool in ("glob", "search", "list_directory", "read_file", "google_web_search"):
        decision = decide(called(tool), rules, ())
        assert (decision.mode, decision.rule) == ("allow", "read-only.toml#1")
    assert decide(called("write_file"), rules, ()).mode == "require_approval"


WRITING: list[tuple[str, str, bool, Mode, str]] = [
    ("default", "write_file", True, "require_approval", "write.toml#4"),
    ("default", "replace", True, "require_approval", "write.toml#1"),
    ("default", "shell", True, "require_approval", "write.toml#3"),
    ("default", "web_fetch", True, "require_approval", "write.toml#8"),
    ("default", "write_file", False, "deny", "write.toml#9"),
    ("default", "shell", False, "deny", "write.toml#9"),
    ("autoEdit", "write_file", True, "allow", "write.toml#6"),
    ("autoEdit", "replace", False, "allow", "write.toml#2"),
    ("autoEdit", "shell", True, "require_approval", "write.toml#3"),
]


@pytest.mark.parametrize(("mode", "tool", "interactive", "expected", "spoke"), WRITING)
def test_its_policy_for_writing_asks_or_denies_or_allows_by_mode(
    samples: Path, mode: str, tool: str, interactive: bool, expected: Mode, spoke: str
):
    rules = load_policy(samples / "write.toml", mode=mode)

    decision = decide(called(tool, interactive=interactive), rules, ())

    assert (decision.mode, decision.rule) == (expected, spoke)


# Tools

NAMES: list[tuple[str, list[str]]] = [
    ("toolName = 'run_shell_command'", ["shell"]),
    ("toolName = ['grep_search', 'search_file_content']", ["search"]),
    ("toolName = ['edit', 'replace', 'write_file']", ["replace", "write_file"]),
    ("toolName = 'my_own'", ["my_own"]),
    ("toolName = 'odd[name]?'", ["odd[[]name][?]"]),
    ("toolName = '*'", ["*"]),
    ("toolName = 'mcp_*'", ["mcp_*"]),
    ("toolName = 'mcp_jira_*'", ["mcp_jira_*"]),
    ("toolName = 'mcp_*_search'", ["mcp_*_search"]),
    ("mcpName = 'jira'", ["mcp_jira_*"]),
    ("mcpName = 'jira'\ntoolName = '*'", ["mcp_jira_*"]),
    ("mcpName = 'jira'\ntoolName = ['search', 'edit']", ["mcp_jira_search", "mcp_jira_edit"]),
    ("mcpName = 'my server*'", ["mcp_my_server__*"]),
    ("mcpName = '*'", ["mcp_*"]),
    ("mcpName = '*'\ntoolName = 'search'", ["mcp_*_search"]),
    ("commandPrefix = 'rm'", ["shell"]),
]


@pytest.mark.parametrize(("written", "tools"), NAMES)
def test_tools_are_meant_by_the_names_they_have_here(written: str, tools: list[str]):
    assert [found.tool for found in ruled(rule("deny", written))] == tools


def test_a_rule_about_a_server_speaks_of_its_tools_alone():
    text = rule("allow", "mcpName = 'jira'")

    assert decided(text, called("mcp_jira_search")) == "allow"
    assert decided(text, called("mcp_other_search")) == "require_approval"
    assert decided(text, called("jira_search")) == "require_approval"


def test_a_denial_hides_a_tool_and_one_of_some_commands_does_not():
    def is_hidden(more: str) -> bool:
        return hides(ruled(rule("deny", more)), tool="shell", interface="sdk", profile="default", user="ada")

    assert is_hidden("toolName = 'run_shell_command'")
    assert not is_hidden("toolName = 'run_shell_command'\nargsPattern = 'rm'")
    assert not is_hidden("commandPrefix = 'rm'")
    assert not is_hidden("toolName = '*'\ninteractive = false")


# Commands

SHELL = "toolName = 'run_shell_command'\n"
EVERYTHING = rule("allow", SHELL + "allowRedirection = true", priority=1)
GIT = rule("allow", SHELL + "commandPrefix = 'git '")
LISTED = rule("allow", SHELL + "commandPrefix = ['ls', 'npm test']")
REGEX = rule("allow", SHELL + "commandRegex = 'git (status|diff)'")
BRANCHES = rule("allow", SHELL + "commandRegex = 'git status|ls'")
PATTERN = rule("allow", SHELL + """argsPattern = '"command":"(git|ls)'""")
NO_RM = rule("deny", SHELL + "commandRegex = 'rm .*'") + EVERYTHING
NO_PUSH = rule("deny", SHELL + """argsPattern = '\\"command\\":\\"git push'""") + EVERYTHING
NO_CURL = rule("deny", "toolName = '*'\n" + """argsPattern = '"command":"curl'""") + EVERYTHING
NO_PREFIX = rule("deny", "commandPrefix = 'rm'") + EVERYTHING
WHOLE = rule("allow", SHELL)
ALL_TOOLS = rule("allow", "toolName = '*'")

COMMANDS: list[tuple[str, str, Mode]] = [
    (LISTED, "ls", "allow"),
    (GIT, "git status", "allow"),
    (GIT, "gitk", "require_approval"),
    (GIT, "git status; rm x", "require_approval"),
    (GIT, "git diff > x", "require_approval"),
    (LISTED, "ls -l", "allow"),
    (LISTED, "npm test", "allow"),
    (LISTED, "npm publish", "require_approval"),
    (REGEX, "git status", "allow"),
    (REGEX, "git diff --stat", "allow"),
    (REGEX, "git push", "require_approval"),
    (REGEX, "git status; rm x", "require_approval"),
    (REGEX, "git status $(rm x)", "require_approval"),
    (REGEX, "git status\nrm x", "require_approval"),
    (REGEX, "echo git status", "require_approval"),
    (REGEX, "git diff --ext-diff --output=x", "require_approval"),
    (BRANCHES, "ls", "allow"),
    (BRANCHES, "rm ls", "require_approval"),
    (PATTERN, "git status", "allow"),
    (PATTERN, "ls | sh", "require_approval"),
    (NO_RM, "rm x", "deny"),
    (NO_RM, "ls; rm x", "deny"),
    (NO_RM, "ls\nrm x", "deny"),
    (NO_RM, "bash -c 'rm x'", "deny"),
    (NO_RM, "/bin/rm x", "deny"),
    (NO_RM, "ls && echo $(rm x)", "deny"),
    (NO_RM, "echo rm x", "allow"),
    (NO_RM, "ls; farm x", "allow"),
    (NO_PUSH, "git push", "deny"),
    (NO_PUSH, "cd x && git push", "deny"),
    (NO_PUSH, "cd x && git pull", "allow"),
    (NO_CURL, "ls | curl x", "deny"),
    (NO_CURL, "ls | cat", "allow"),
    (NO_PREFIX, "ls; rm x", "deny"),
    (NO_PREFIX, "ls; rmdir x", "allow"),
    (WHOLE, "make && ls", "allow"),
    (WHOLE, "make > log", "require_approval"),
    (WHOLE, "cat < log", "require_approval"),
    (EVERYTHING, "make > log", "allow"),
    (ALL_TOOLS, "make && ls", "allow"),
    (ALL_TOOLS, "make > log", "require_approval"),
]


@pytest.mark.parametrize(("text", "line", "expected"), COMMANDS)
def test_commands_are_judged_no_milder_than_there(text: str, line: str, expected: Mode):
    assert decided(text, called("shell", command=line)) == expected


@pytest.mark.parametrize("text", [NO_RM, NO_PUSH, NO_CURL, WHOLE])
def test_a_rule_that_became_two_is_named_as_one(text: str):
    assert {found.name for found in ruled(text)} <= {"g.toml#1", "g.toml#2"}


# Arguments

DOCS = rule("allow", """toolName = 'write_file'\nargsPattern = '"file_path":"docs/\\w+\\.md"'""")
SAVED = rule("allow", r"""toolName = 'replace'""" + "\n" + r"""argsPattern = '\x00"file_path":"a\.md"\x00'""")
QUERY = rule("allow", """toolName = 'web_search'\nargsPattern = '"dir_path":"a"'""")
NO_ENV = rule("deny", """toolName = '*'\nargsPattern = '"file_path":"[^"]*\\.env"'""")

ARGUMENTS: list[tuple[str, str, dict[str, Any], Mode]] = [
    (DOCS, "write_file", {"path": "docs/a.md", "content": ""}, "allow"),
    (DOCS, "write_file", {"path": "src/a.md", "content": ""}, "require_approval"),
    (DOCS, "write_file", {"path": "docs/ä.md", "content": ""}, "require_approval"),
    (DOCS, "write_file", {"path": "x", "content": '"path":"docs/a.md"'}, "require_approval"),
    (SAVED, "replace", {"path": "a.md", "old": "a", "new": "b"}, "allow"),
    (SAVED, "replace", {"path": "a.md", "old": "a"}, "allow"),
    (SAVED, "replace", {"path": "a.mdx", "old": "a"}, "require_approval"),
    (SAVED, "replace", {"path": "b", "old": '"path":"a.md"'}, "require_approval"),
    (QUERY, "web_search", {"dir_path": "a"}, "allow"),
    (QUERY, "web_search", {"path": "a"}, "require_approval"),
    (NO_ENV, "write_file", {"path": "a/.env"}, "deny"),
    (NO_ENV, "my_own", {"file_path": ".env"}, "deny"),
    (NO_ENV, "write_file", {"path": "a/env"}, "require_approval"),
]


@pytest.mark.parametrize(("text", "tool", "args", "expected"), ARGUMENTS)
def test_patterns_find_arguments_under_the_names_they_have_here(
    text: str, tool: str, args: dict[str, Any], expected: Mode
):
    assert decided(text, called(tool, **args)) == expected


# What else a rule says


def test_tier_priority_and_message_carry_over():
    (found,) = parse_policy(
        rule("deny", "toolName = 'x'\ndenyMessage = 'it is permanent'", priority=999), name="a/b.toml", tier="admin"
    )

    assert found == Rule("deny", tool="x", tier="admin", priority=999, reason="it is permanent", name="b.toml#1")


def test_a_message_for_denials_is_not_the_reason_of_leave():
    text = rule("allow", "toolName = 'x'\ndenyMessage = 'it is permanent'")

    assert decide(called("x"), ruled(text), ()).reason == "a rule allows it"


def test_older_spellings_are_understood():
    text = rule("ask_user", "toolName = 'x'\ndeny_message = 'careful'")
    assert decide(called("x"), ruled(text), ()).reason == "careful"
    assert decided(rule("allow", SHELL + "allow_redirection = true"), called("shell", command="ls > x")) == "allow"


def test_asking_is_a_denial_where_nobody_can_answer():
    text = rule("ask_user", "toolName = 'read_file'")

    assert decided(text, called("read_file", side_effect=False)) == "require_approval"
    assert decided(text, called("read_file", side_effect=False, interactive=False)) == "deny"


MODES: list[tuple[str, str, int]] = [
    ("", "default", 1),
    ("modes = []", "plan", 1),
    ("modes = ['default', 'yolo']", "default", 1),
    ("modes = ['default', 'yolo']", "yolo", 1),
    ("modes = ['plan']", "default", 0),
]


@pytest.mark.parametrize(("written", "mode", "count"), MODES)
def test_rules_for_other_modes_are_left_out(written: str, mode: str, count: int):
    assert len(ruled(rule("deny", f"toolName = 'x'\n{written}"), mode=mode)) == count


def test_what_cannot_be_judged_here_is_passed_over_in_a_rule_for_another_mode():
    text = rule("allow", "toolName = '*'\nmodes = ['plan']\ntoolAnnotations = { readOnlyHint = true }")

    assert ruled(text) == ()


IN_PROCESS = "[rule.safety_checker]\ntype = 'in-process'\nname = "
CHECKERS: list[tuple[str, str, Mode]] = [
    ("toolName = 'write_file'", IN_PROCESS + "'allowed-path'", "allow"),
    (
        "toolName = 'write_file'",
        IN_PROCESS + "'allowed-path'\n[rule.safety_checker.config]\nexcluded_args = []",
        "allow",
    ),
    ("toolName = 'write_file'", IN_PROCESS + "'conseca'", "require_approval"),
    ("toolName = 'write_file'", "[rule.safety_checker]\ntype = 'external'\nname = 'allowed-path'", "require_approval"),
    ("toolName = ['write_file', 'my_own']", IN_PROCESS + "'allowed-path'", "require_approval"),
    ("toolName = '*'", IN_PROCESS + "'allowed-path'", "require_approval"),
]


@pytest.mark.parametrize(("tool", "checker", "expected"), CHECKERS)
def test_where_a_checker_cannot_run_a_person_is_asked(tool: str, checker: str, expected: Mode):
    assert decided(rule("allow", f"{tool}\n{checker}"), called("write_file")) == expected


def test_a_person_is_told_which_checker_could_not_run():
    text = rule("allow", f"toolName = 'x'\ndenyMessage = 'no'\n{IN_PROCESS}'conseca'")

    assert decide(called("x"), ruled(text), ()).reason == "its safety checker 'conseca' cannot run here"


def test_a_checker_does_not_soften_a_denial():
    assert decided(rule("deny", f"toolName = 'x'\n{IN_PROCESS}'conseca'"), called("x")) == "deny"


def test_a_checker_of_paths_that_stands_by_itself_has_nothing_to_do_for_our_file_tools():
    checker = "[[safety_checker]]\ntoolName = ['edit', 'write_file']\n[safety_checker.checker]\ntype = 'in-process'\n"

    assert len(ruled(rule("deny", "toolName = 'x'") + checker + "name = 'allowed-path'")) == 1


def test_a_checker_for_another_mode_is_left_out():
    text = rule("deny", "toolName = 'x'") + CHECKER.replace("toolName = '*'", "toolName = '*'\nmodes = ['yolo']")

    assert len(ruled(text)) == 1


# Mistakes

DENY = "[[rule]]\ndecision = 'deny'\npriority = 1\n"
CHECKER = "[[safety_checker]]\ntoolName = '*'\n[safety_checker.checker]\ntype = 'in-process'\nname = 'conseca'\n"
SOLE = "toolName must be 'run_shell_command', without mcpName"
MISTAKES: list[tuple[str, str]] = [
    ("rule = []", "g.toml holds no rules"),
    (CHECKER, "g.toml holds no rules"),
    ("[rule]\ndecision = 'deny'", "rule in g.toml must be a list of [[rule]] tables, found a table"),
    (
        DENY + "toolname = 'x'",
        f"{HEAD} holds 'toolname', which means nothing there. Known: allowRedirection, allow_redi",
    ),
    (DENY + "tool = 'x'", f"{HEAD} holds 'tool', which means nothing there"),
    (DENY, f'toolName of {HEAD} must be the name of a tool, found nothing. Write toolName = "*" for every tool'),
    ("[[rule]]\npriority = 1", f"decision of {HEAD} must be one of allow, ask_user, deny, found nothing"),
    ("[[rule]]\ndecision = 'ask'", "must be one of allow, ask_user, deny, found 'ask'"),
    ("[[rule]]\ndecision = 'deny'", f"priority of {HEAD} must be a whole number from 0 to 999, found nothing"),
    (rule("deny", "", priority=1000), f"priority of {HEAD} must be a whole number from 0 to 999, found 1000"),
    (rule("deny", "", priority=-1), f"priority of {HEAD} must be a whole number from 0 to 999, found -1"),
    (DENY + "toolName = []", f"toolName of {HEAD} must be a text, or a list of texts with at least one"),
    (
        DENY + "toolName = 'read_*'",
        f"toolName of {HEAD} holds 'read_*'; the wildcards are '*', 'mcp_*', 'mcp_SERVER_*'",
    ),
    (DENY + "toolName = 'mcp_*_*'", "Name the tools one by one"),
    (DENY + "mcpName = ''", f"mcpName of {HEAD} must be text in quotes, found ''"),
    (DENY + "mcpName = 'a'\ntoolName = 'mcp_a_b'", "holds 'mcp_a_b'; beside mcpName it must be the tool's own name"),
    (DENY + "mcpName = '*'\ntoolName = 'mcp_a_b'", "holds 'mcp_a_b'; beside mcpName it must be the tool's own name"),
    (DENY + "mcpName = 'a'\ntoolName = 'b*'", "holds 'b*'; beside mcpName it must be the tool's own name, or '*'"),
    (rule("allow", "mcpName = '*'\ntoolName = 'x'"), f"{HEAD} allows a tool of every server, and others look like it"),
    (rule("allow", "toolName = 'mcp_*_x'"), "Name the servers"),
    (DENY + "commandPrefix = 'x'\ntoolName = '*'", f"{HEAD} is about commands, so its {SOLE}"),
    (DENY + "commandRegex = 'x'\nmcpName = 'a'", f"{HEAD} is about commands, so its {SOLE}"),
    (DENY + "commandPrefix = 'x'\ncommandRegex = 'x'", f"{HEAD} has more than one of commandPrefix, commandRegex, a"),
    (DENY + "commandPrefix = 'x'\nargsPattern = 'x'", "Split it into several rules"),
    (DENY + "commandPrefix = ''", f"commandPrefix of {HEAD} must be a text, or a list of texts with at least one"),
    (DENY + "commandPrefix = []", f"commandPrefix of {HEAD} must be a text, or a list of texts with at least one"),
    (DENY + "commandPrefix = 'a;b'", f"commandPrefix of {HEAD}: expected a command prefix of plain words"),
    (DENY + "commandRegex = 'a)(b'", f"commandRegex of {HEAD} must be a regular expression (the pattern 'a)(b' is not"),
    (DENY + "commandRegex = '*'", f"commandRegex of {HEAD} must be a regular expression (the pattern '*' is not"),
    (DENY + "toolName = 'x'\nargsPattern = '(?<=x)y'", f"argsPattern of {HEAD} must be a regular expression"),
    (
        rule("allow", "toolName = '*'\nargsPattern = 'x'"),
        f"argsPattern of {HEAD} would allow scripts by a part of their",
    ),
    (rule("allow", r"toolName = 'x'" + "\n" + r"argsPattern = '\x00x'"), f"argsPattern of {HEAD} looks for NUL"),
    (
        DENY + "toolName = 'x'\nmodes = ['defualt']",
        f"modes of {HEAD} must be a list of approval modes out of default, au",
    ),
    (DENY + "toolName = 'x'\nmodes = 1", f"modes of {HEAD} must be a text, or a list of texts"),
    (DENY + "toolName = 'x'\ninteractive = 0", f"interactive of {HEAD} must be true or false, found 0"),
    (
        DENY + "toolName = 'x'\nsubagent = 'y'",
        f"{HEAD} holds subagent, which is not known of a call here. Write it as [[",
    ),
    (DENY + "toolName = 'x'\ntoolAnnotations = {}", f"{HEAD} holds toolAnnotations, which is not known of a call here"),
    (DENY + "toolName = 'x'\nsafety_checker = 1", f"safety_checker of {HEAD} must be a table, found 1"),
    (
        DENY + "toolName = 'x'\n[rule.safety_checker]\n",
        f"name of safety_checker of {HEAD} must be the name of a checker",
    ),
    (DENY + "toolName = 'x'\n[rule.safety_checker]\nname = 'y'", "must be one of in-process, external, found nothing"),
    (DENY + "toolName = 'x'\n[rule.safety_checker]\nkind = 'y'", "holds 'kind', which means nothing there. Known: con"),
    (DENY + CHECKER, "safety_checker 1 in g.toml wants 'conseca', which cannot run here. Remove it, and let the rules"),
    (
        DENY + "[[safety_checker]]\ntoolName = 'x'",
        "checker of safety_checker 1 in g.toml must be a table with type and",
    ),
    (
        DENY + "[[safety_checker]]\ndecision = 'deny'",
        "safety_checker 1 in g.toml holds 'decision', which means nothing",
    ),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_is_answered_with_its_place_and_what_was_expected(text: str, said: str):
    assert said in refusal(text)
