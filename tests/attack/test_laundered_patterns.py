"""A rule of Gemini CLI that allows by a pattern cannot be satisfied by text in another argument."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.ids import UserId
from pollux.core.policy import Facts, PolicyRequest, decide
from pollux.core.tools import ToolSpec
from pollux.engine.patterns import is_match
from pollux.tools.policy.files import parse_policy
from pollux.tools.shell.judge import subjects

FACTS = Facts(user=UserId("ada"), interface="sdk", profile="default")


def decided(rule: str, tool: str, args: dict[str, Any], decision: str = "allow") -> tuple[str, str]:
    text = f"[[rule]]\ndecision = '{decision}'\npriority = 100\ntoolName = '{tool}'\n{rule}\n"
    name = "shell" if tool == "run_shell_command" else tool
    found = subjects(str(args["command"])) if name == "shell" else frozenset({"x"})
    request = PolicyRequest(ToolSpec(name, "", {}, side_effect=True), args, FACTS, found)
    answer = decide(request, parse_policy(text, name="g.toml"), (), match=is_match)
    return answer.mode, answer.reason


TO_BOB = """argsPattern = '"to":"bob@x'"""
DOCS = """argsPattern = '"file_path":"docs/'"""
GIT = """argsPattern = '"command":"git (status|log)'"""
REGEX = "commandRegex = 'git status'"
LAUNDERED: list[tuple[str, str, dict[str, Any]]] = [
    (TO_BOB, "mcp_mail_send", {"to": "eve@y", "cc": {"to": "bob@x"}}),
    (TO_BOB, "mcp_mail_send", {"to": "eve@y", "meta": [{"to": "bob@x"}]}),
    (TO_BOB, "mcp_mail_send", {"to": ["eve@y"], "x": {"to": "bob@x"}}),
    (TO_BOB, "mcp_mail_send", {"body": '"to":"bob@x"', "to": "eve@y"}),
    (TO_BOB, "mcp_mail_send", {"x": {"to": "bob@x"}}),
    ("""argsPattern = 'bob@x'""", "mcp_mail_send", {"to": "eve@y", "body": "bob@x"}),
    ("""argsPattern = '"to":".*bob@x"'""", "mcp_mail_send", {"to": "eve@y", "z": "bob@x"}),
    ("""argsPattern = '"to":"[^,]*bob@x"'""", "mcp_mail_send", {"to": "eve@y", "to2": "bob@x"}),
    ("""argsPattern = '\\\\?"to\\\\?":\\\\?"bob'""", "mcp_mail_send", {"body": '"to":"bob', "to": "eve@y"}),
    ("""argsPattern = '"to":"eve@z|bob@x'""", "mcp_mail_send", {"to": "eve@y", "body": "bob@x"}),
    (DOCS, "write_file", {"path": "src/x", "meta": {"path": "docs/"}}),
    (DOCS, "write_file", {"path": "src/x", "file_path": "docs/x"}),
    (GIT, "run_shell_command", {"command": "rm -rf x", "env": {"command": "git status"}}),
    (REGEX, "run_shell_command", {"command": "rm -rf x", "env": {"command": "git status"}}),
]


@pytest.mark.parametrize(("rule", "tool", "args"), LAUNDERED)
def test_text_elsewhere_does_not_allow(rule: str, tool: str, args: dict[str, Any]):
    assert decided(rule, tool, args)[0] == "require_approval"


@pytest.mark.parametrize(
    ("rule", "tool", "args"),
    [
        (TO_BOB, "mcp_mail_send", {"to": "bob@x", "body": "hello"}),
        ("""argsPattern = '"to":".*bob@x"'""", "mcp_mail_send", {"to": "bob@x"}),
        (DOCS, "write_file", {"path": "docs/a", "content": ""}),
        (GIT, "run_shell_command", {"command": "git log -3"}),
        (REGEX, "run_shell_command", {"command": "git status"}),
    ],
)
def test_the_argument_itself_does(rule: str, tool: str, args: dict[str, Any]):
    assert decided(rule, tool, args)[0] == "allow"


def test_a_pattern_that_names_no_argument_asks_and_says_why():
    assert decided("argsPattern = 'bob@x'", "mcp_mail_send", {"to": "bob@x"}) == (
        "require_approval",
        "argsPattern of g.toml#1 names no one argument, so text in any of them would satisfy it",
    )


@pytest.mark.parametrize("decision", ["deny", "ask_user"])
def test_rules_that_forbid_or_ask_still_look_everywhere(decision: str):
    expected = "deny" if decision == "deny" else "require_approval"
    assert decided("argsPattern = 'eve@y'", "my_own", {"x": [{"y": "eve@y"}]}, decision)[0] == expected


WORDS = st.sampled_from(['"to":"bob@x"', "bob@x", "to", '{"to":"bob@x"}', "git status", "docs/", '"', "\\"])
EXTRA = st.recursive(WORDS, lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner), max_leaves=4)


@given(
    st.sampled_from([TO_BOB, "argsPattern = 'bob@x'", """argsPattern = '"to":".*bob@x"'"""]),
    st.dictionaries(st.one_of(WORDS, st.text(max_size=3)).filter(lambda key: key != "to"), EXTRA, max_size=3),
)
def test_nothing_that_is_put_beside_an_argument_allows_the_call(rule: str, extra: dict[str, Any]):
    assert decided(rule, "mcp_mail_send", {"to": "eve@y", **extra})[0] == "require_approval"
