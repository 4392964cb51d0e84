"""Rules written in Python about commands, by the words that they begin with."""

from typing import Any

import pytest
from tests.sdk.conftest import Bench

from pollux import Rule, ValidationError, shell
from pollux.core import policy
from pollux.testing import call, reply


async def error_of(bench: Bench, command: str, *rules: Rule) -> str | None:
    steps = [call("shell", {"command": command}), reply("ok")]
    async with bench.agent(*steps, tools=[shell(timeout=20)], policy=rules) as agent:
        return (await agent.send("?")).tool_calls[0].error


async def test_a_rule_in_python_names_commands_as_a_file_does(bench: Bench):
    allowed = Rule("allow", commands=["echo", "git status"])
    assert await error_of(bench, "echo hello", allowed) is None
    denied = await error_of(bench, "echo hello; touch x", allowed)
    assert denied and "nobody to ask" in denied
    forbidden = Rule("deny", commands="rm", reason="a person does this", priority=1)
    denied = await error_of(bench, "echo x && rm y", Rule("allow", tool="shell"), forbidden)
    assert denied and "a person does this" in denied


def test_such_a_rule_is_one_about_the_shell(bench: Bench):
    rule = Rule("allow", commands=["git status"])
    assert isinstance(rule, policy.Rule) and rule.tool == "shell" and rule.subjects
    assert rule.subjects[0] == "run:git status"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"commands": ["ls"], "tool": "search"}, "about the tool 'shell', found 'search'"),
        ({"commands": ["ls"], "subjects": ("x",)}, "commands or subjects, not both"),
        ({"commands": []}, "expected commands to be texts"),
        ({"commands": [7]}, "expected commands to be texts"),
        ({"commands": ["ls; rm"]}, "plain words"),
    ],
)
def test_commands_that_cannot_be_read_are_refused(options: dict[str, Any], words: str):
    with pytest.raises(ValidationError, match=words):
        Rule("allow", **options)
