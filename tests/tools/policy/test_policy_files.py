"""Policies in files of our own dialect: what loads, what it decides, and what every mistake is answered with."""

import os
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.config.rights import parse_rights
from pollux.core.conditions import OPERATORS, Condition
from pollux.core.errors import ValidationError
from pollux.core.ids import UserId
from pollux.core.policy import TIERS, Facts, Mode, PolicyRequest, Rule, Tier, decide, hides
from pollux.core.tools import ToolSpec
from pollux.engine.patterns import is_match
from pollux.tools.policy.files import LARGEST_FILE, load_policy, parse_policy
from pollux.tools.shell.judge import subjects

SHELL = ToolSpec("shell", "", {}, side_effect=True)
SEND = ToolSpec("send_mail", "", {}, side_effect=True)
READ = ToolSpec("read_mail", "", {})


def called(tool: ToolSpec, *recipients: str, interactive: bool = True, **args: Any) -> PolicyRequest:
    facts = Facts(user=UserId("ada"), interface="sdk", profile="default", interactive=interactive)
    return PolicyRequest(tool, args, facts, frozenset(recipients))


def command(line: str, *, interactive: bool = True) -> PolicyRequest:
    return called(SHELL, *subjects(line), interactive=interactive, command=line)


def mode(text: str, asked: PolicyRequest) -> Mode:
    return decide(asked, parse_policy(text, name="team.toml"), (), match=is_match).mode


def refusal(text: str, **how: Any) -> str:
    with pytest.raises(ValidationError) as refused:
        parse_policy(text, name="team.toml", **how)
    return str(refused.value)


# What loads


def test_every_field_of_a_rule_may_be_written():
    text = """
        [[rules]]
        decision = "deny"
        tool = "send_*"
        args = "secret"
        subjects = ["*@rival.example"]
        provenance = "tool:fetch"
        where = [{ path = "amount", above = 100 }, { path = "to[*]", matches = "^a" }]
        interface = "http"
        interface_not = ["page"]
        asker = "fetch"
        capabilities = ["writeFiles"]
        document = "untrusted"
        rendered_from = ["http: *"]
        placed_by = ["agent: *"]
        profile = "mail"
        user = "ada"
        interactive = false
        priority = -3
        reason = "not to them"
        name = "rivals"
        grantable = false
    """

    (rule,) = parse_policy(text, name="team.toml", tier="admin")

    assert rule == Rule(
        "deny",
        tool="send_*",
        args="secret",
        subjects=("*@rival.example",),
        provenance=("tool:fetch",),
        where=(Condition("amount", "above", 100), Condition("to[*]", "matches", "^a")),
        interface=("http",),
        interface_not=("page",),
        asker=("fetch",),
        capabilities=("writeFiles",),
        document="untrusted",
        rendered_from=("http: *",),
        placed_by=("agent: *",),
        profile="mail",
        user="ada",
        interactive=False,
        tier="admin",
        priority=-3,
        reason="not to them",
        name="rivals",
        grantable=False,
    )
    named = [field.name for field in fields(Rule) if field.name != "door"]
    assert all(getattr(rule, name) != getattr(Rule("allow"), name) for name in named)


def test_what_is_not_written_is_as_in_a_rule_made_in_python():
    assert parse_policy("[[rules]]\ndecision = 'allow'", name="team.toml") == (
        Rule("allow", tier="user", name="team.toml#1"),
    )


def test_a_decision_names_the_file_and_the_rule_that_spoke(tmp_path: Path):
    path = tmp_path / "team.toml"
    path.write_text("[[rules]]\ndecision = 'allow'\ntool = 'x'\n[[rules]]\ndecision = 'deny'\nreason = 'no mail'\n")

    decision = decide(called(SEND), load_policy(path), ())

    assert (decision.rule, decision.reason) == ("team.toml#2", "no mail")


@pytest.mark.parametrize("tier", TIERS)
def test_the_tier_is_the_one_it_is_loaded_for(tmp_path: Path, tier: Tier):
    path = tmp_path / "team.toml"
    path.write_text("[[rules]]\ndecision = 'deny'\n")

    assert [rule.tier for rule in load_policy(path, tier=tier)] == [tier]


def test_a_file_may_begin_with_a_byte_order_mark_and_be_named_by_text(tmp_path: Path):
    path = tmp_path / "team.toml"
    path.write_bytes(b"\xef\xbb\xbf[[rules]]\ndecision = 'deny'\n")

    assert load_policy(str(path)) == load_policy(path)


def test_a_tool_that_is_denied_whatever_its_arguments_is_hidden():
    def is_hidden(more: str) -> bool:
        rules = parse_policy(f"[[rules]]\ndecision = 'deny'\n{more}", name="team.toml")
        return hides(rules, tool="shell", interface="sdk", profile="default", user="ada")

    assert is_hidden("tool = 'shell'")
    assert not is_hidden("commands = 'rm'")
    assert not is_hidden("tool = 'shell'\ninteractive = false")


# Commands

ALLOWED = "[[rules]]\ndecision = 'allow'\ncommands = ['git status', 'git log', 'npm test']\n"
DENIED = "[[rules]]\ndecision = 'deny'\ncommands = 'rm'\n[[rules]]\ndecision = 'allow'\ntool = 'shell'\npriority = -1\n"

COMMANDS: list[tuple[str, str, Mode]] = [
    (ALLOWED, "git status", "allow"),
    (ALLOWED, "git status --short", "allow"),
    (ALLOWED, "npm test", "allow"),
    (ALLOWED, "npm test -- --watch", "allow"),
    (ALLOWED, "git push", "require_approval"),
    (ALLOWED, "git statusx", "require_approval"),
    (ALLOWED, "./git status", "require_approval"),
    (ALLOWED, "git status; rm -rf /", "require_approval"),
    (ALLOWED, "git status && git log", "require_approval"),
    (ALLOWED, "git log > out", "require_approval"),
    (ALLOWED, "git log $(rm x)", "require_approval"),
    (ALLOWED, "git -c core.pager=sh log", "require_approval"),
    (ALLOWED, "env git status", "require_approval"),
    (DENIED, "rm -rf /", "deny"),
    (DENIED, "ls; rm -rf /", "deny"),
    (DENIED, "sudo rm x", "deny"),
    (DENIED, "bash -c 'rm x'", "deny"),
    (DENIED, "/bin/rm x", "deny"),
    (DENIED, "ls rm", "allow"),
    (DENIED, "rmdir x", "allow"),
]


@pytest.mark.parametrize(("text", "line", "expected"), COMMANDS)
def test_commands_are_judged_by_the_words_they_begin_with(text: str, line: str, expected: Mode):
    assert mode(text, command(line)) == expected


def test_a_rule_about_commands_is_about_the_shell_alone():
    assert [rule.tool for rule in parse_policy(ALLOWED, name="team.toml")] == ["shell"]
    assert mode(ALLOWED, called(SEND, "run:git status")) == "require_approval"


def test_a_rule_about_commands_may_look_at_more():
    text = ALLOWED + "args = '--short'\ninteractive = true\n"

    assert mode(text, command("git status --short")) == "allow"
    assert mode(text, command("git status")) == "require_approval"
    assert mode(text, command("git status --short", interactive=False)) == "deny"


# Mistakes

RULE = "[[rules]]\ndecision = 'deny'\n"
HEAD = "rule 1 in team.toml"
MISTAKES: list[tuple[str, str]] = [
    ("", "team.toml holds no rules. Write [[rules]] tables with a decision each, or leave it out"),
    ("rules = []", "team.toml holds no rules"),
    ("rules = [", "team.toml is not valid TOML: Invalid value (at end of document). Correct it"),
    ("[[rules]]\ndecision = deny", "(at line 2, column 12)"),
    (f"[[rules]]\npriority = {'9' * 5000}", "team.toml is not valid TOML: Exceeds the limit"),
    ("x = " + "[" * 5000, "team.toml is not valid TOML: it is nested too deeply"),
    ("rules = 1", "rules in team.toml must be a list of [[rules]] tables, found 1"),
    ("[rules]\ndecision = 'deny'", "rules in team.toml must be a list of [[rules]] tables, found a table"),
    ("rules = [1]", f"{HEAD} must be a table, found 1"),
    ("x = 1", "team.toml holds 'x', which means nothing there. Known: rules"),
    (RULE + "[tools]\n", "team.toml holds 'tools', which means nothing there. Known: rules"),
    (RULE + "[[rule]]\n", "team.toml holds [[rules]] and Gemini CLI's [[rule]]. Put each in a file of its own"),
    ("[[rules]]\ntool = 'x'", f"decision of {HEAD} must be one of allow, require_approval, deny, found nothing"),
    (
        "[[rules]]\ndecision = 'denny'",
        f"decision of {HEAD} must be one of allow, require_approval, deny, found 'denny'",
    ),
    ("[[rules]]\ndecision = []", "found an empty list"),
    (
        RULE + RULE + "tols = 'x'",
        "rule 2 in team.toml holds 'tols', which means nothing there. Known: args, asker, capabilities, commands, de",
    ),
    (RULE + "tier = 'admin'", f"{HEAD} holds 'tier', which means nothing there"),
    (RULE + "tool = ['x']", f"tool of {HEAD} must be text in quotes, found a list"),
    (RULE + "tool = ''", f"tool of {HEAD} must be text in quotes, found ''"),
    (RULE + "user = 1979-05-27", f"user of {HEAD} must be text in quotes, found a date or time"),
    (
        RULE + "args = '('",
        f"args of {HEAD} must be a regular expression (the pattern '(' is not a regular expression",
    ),
    (RULE + r"args = '(a)\1'", f"args of {HEAD} must be a regular expression (the pattern '(a)"),
    (RULE + "args = 'a(?=b)'", "lookaround, backreferences and atomic groups are not supported"),
    (RULE + "args = 'a{99999999999999999999}'", f"args of {HEAD} must be a regular expression (the pattern 'a"),
    (RULE + f"args = '{'(' * 3000}'", f"args of {HEAD} must be a regular expression (the pattern '(((("),
    (RULE + f"args = '{'x' * 200}('", f"found '{'x' * 80}…'"),
    (RULE + "subjects = 1", f"subjects of {HEAD} must be a text, or a list of texts with at least one, found 1"),
    (RULE + "subjects = [1, 'x']", "must be a text, or a list of texts with at least one, found a list"),
    (RULE + "subjects = []", "must be a text, or a list of texts with at least one, found an empty list"),
    (RULE + "provenance = ['']", f"provenance of {HEAD} must be a text, or a list of texts"),
    (RULE + "priority = true", f"priority of {HEAD} must be a whole number, found true"),
    (RULE + "priority = 1.5", f"priority of {HEAD} must be a whole number, found 1.5"),
    (RULE + "priority = 1e9", f"priority of {HEAD} must be a whole number, found a number"),
    (RULE + "grantable = 1", f"grantable of {HEAD} must be true or false, found 1"),
    (RULE + "interactive = 'yes'", f"interactive of {HEAD} must be true or false, found 'yes'"),
    (RULE + "commands = []", f"commands of {HEAD} must be a text, or a list of texts with at least one"),
    (RULE + "commands = 'git | sh'", f"commands of {HEAD}: expected a command prefix of plain words such as 'git log'"),
    (RULE + "commands = ' '", f"commands of {HEAD}: expected a command prefix of plain words"),
    (RULE + "commands = 'rm'\nsubjects = 'x'", f"{HEAD} has both commands and subjects. Split it into two rules"),
    (RULE + "commands = 'rm'\ntool = '*'", f"tool of {HEAD} must be 'shell' in a rule about commands, found '*'"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_is_answered_with_its_place_and_what_was_expected(text: str, said: str):
    assert said in refusal(text)


def test_a_tier_or_a_mode_that_does_not_exist_is_refused():
    assert refusal(RULE, tier="root") == (
        "tier must be one of default, extension, workspace, user, admin, found 'root'"
    )
    assert refusal(RULE, mode="Yolo") == "mode must be one of default, autoEdit, yolo, plan, found 'Yolo'"


def test_a_file_that_is_none_says_so(tmp_path: Path):
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    large, latin = tmp_path / "large.toml", tmp_path / "latin.toml"
    large.write_bytes(b"#" * (LARGEST_FILE + 1))
    latin.write_bytes(b"# caf\xe9\n")
    cases: list[tuple[Path, str]] = [
        (tmp_path / "absent.toml", "there is no policy file {path}. Create it, or name another"),
        (tmp_path, "{path} is not a file. Name a TOML file; to use several, load them one by one"),
        (pipe, "{path} is not a file"),
        (large, "{path} is larger than 1,000,000 bytes; a policy file is expected here"),
        (latin, "{path} is not UTF-8 text (byte 5). Save it as UTF-8"),
        (tmp_path / ("x" * 300), "cannot be read (File name too long). Check its name and permissions"),
        (tmp_path / "a\0b", "there is no policy file"),
    ]
    for path, said in cases:
        with pytest.raises(ValidationError) as refused:
            load_policy(path)
        assert said.format(path=path) in str(refused.value)


def test_a_file_of_the_largest_size_is_read(tmp_path: Path):
    path = tmp_path / "full.toml"
    path.write_text(RULE + "#" * (LARGEST_FILE - len(RULE)))

    assert len(load_policy(path)) == 1


def test_a_mistake_in_a_file_names_its_path(tmp_path: Path):
    path = tmp_path / "team.toml"
    path.write_text(RULE + "tols = 1\n")

    with pytest.raises(ValidationError, match=r"^rule 1 in .*/team\.toml holds 'tols'"):
        load_policy(path)


# Whatever is written

texts = st.text(max_size=200)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1005) | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(texts | texts.map(lambda text: f"[[rules]]\n{text}") | texts.map(lambda text: f"[[rule]]\n{text}"))
def test_any_text_is_a_policy_or_a_mistake(text: str):
    _is_policy_or_mistake(text)


WORDS = (
    "allow",
    "deny",
    "ask_user",
    "require_approval",
    "*",
    "shell",
    "run_shell_command",
    "mcp_*",
    "(",
    "[[a]",
    "rm|dd",
)


@given(
    st.sampled_from(["rules", "rule", "safety_checker"]),
    st.dictionaries(
        st.sampled_from(
            """decision tool args subjects provenance door profile user interactive priority reason name grantable
            commands toolName mcpName argsPattern commandPrefix commandRegex modes safety_checker checker subagent
            toolAnnotations denyMessage allowRedirection""".split()
        ),
        st.sampled_from(WORDS) | st.lists(st.sampled_from(WORDS), max_size=2) | values,
        max_size=6,
    ),
)
def test_any_table_is_a_policy_or_a_mistake(kind: str, table: dict[str, Any]):
    written = {"decision": "deny", "priority": 5} | table
    _is_policy_or_mistake(f"[[{kind}]]\n" + "".join(f"{key} = {_toml(item)}\n" for key, item in written.items()))


def _is_policy_or_mistake(text: str) -> None:
    try:
        rules = parse_policy(text, name="any.toml")
    except ValidationError:
        return
    for line in ("ls", "git log > x; rm y"):
        assert decide(command(line), rules, ()).mode in ("allow", "require_approval", "deny")


def _toml(value: Any) -> str:
    match value:
        case None:
            return "1979-05-27"
        case bool():
            return str(value).lower()
        case str():
            return '"' + "".join(f"\\U{ord(character):08X}" for character in value) + '"'
        case list():
            return f"[{', '.join(map(_toml, cast('list[Any]', value)))}]"
        case dict():
            pairs = (f"{_toml(key)} = {_toml(item)}" for key, item in cast("dict[str, Any]", value).items())
            return f"{{{', '.join(pairs)}}}"
        case _:
            return str(value)


def test_a_configuration_and_a_policy_say_the_same_with_the_same_words():
    conditions = [
        'equals = "x"', "equals = 5", "equals = true", 'one_of = ["a", 5]', 'prefix = "a"', 'glob = "a*"',
        'address = "*@x.org"', 'host = "*.x.org"', 'file = "docs/*"', "above = 1", "at_least = 1.5", "below = 1",
        "at_most = 1", "matches = '^a'",
    ]  # fmt: skip
    text = "[[rules]]\ndecision = 'deny'\n" + "\n".join(
        [
            *(
                f"{key} = 'a'"
                for key in ("interface", "interface_not", "asker", "capabilities", "subjects", "provenance")
            ),
            *(f"{key} = ['a', 'b']" for key in ("rendered_from", "placed_by")),
            "tool = 't'\nprofile = 'p'\nuser = 'u'\nreason = 'r'\nname = 'n'\ndocument = 'trusted'",
            "interactive = true\ngrantable = false\npriority = 3",
            f"where = [{', '.join(f'{{ path = {chr(34)}**.x{chr(34)}, {each} }}' for each in conditions)}]",
        ]
    )
    (policy,) = parse_policy(text, name="p.toml", tier="user")
    (own,) = parse_rights(tomllib.loads(text), tier="user", path=Path("c.toml")).rules
    assert own == policy
    assert {condition.operator for condition in own.where} == set(OPERATORS)


@pytest.mark.parametrize("key", ["interface", "interface_not", "subjects", "placed_by"])
def test_a_list_that_is_empty_is_a_mistake_in_both(key: str):
    text = f"[[rules]]\ndecision = 'deny'\n{key} = []\n"
    with pytest.raises(ValidationError, match=f"{key} of rule 1 in c.toml"):
        parse_rights(tomllib.loads(text), tier="user", path=Path("c.toml"))
    with pytest.raises(ValidationError, match=f"{key} of rule 1 in c.toml"):
        parse_policy(text, name="c.toml")
