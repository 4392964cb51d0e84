"""A corpus of hostile command lines against rules that deny and rules that allow by a program's name: none runs."""

import shlex

import pytest
from tests.attack.command_lines import bare_lines, forbidden_lines

from pollux.core.errors import ValidationError
from pollux.core.ids import UserId
from pollux.core.policy import Facts, Mode, PolicyRequest, Rule, decide
from pollux.core.tools import ToolSpec
from pollux.tools.shell.judge import prefix_patterns, subjects

SHELL = ToolSpec("shell", "Run a command.", {"type": "object"}, side_effect=True)
ANYTHING = Rule("allow", tool="shell")


def rule(decision: Mode, prefix: str) -> Rule:
    return Rule(decision, tool="shell", subjects=prefix_patterns(prefix, decision), name=f"{decision} {prefix}")


def mode_of(command: str, *rules: Rule) -> Mode:
    facts = Facts(user=UserId("ada"), interface="sdk", profile="default")
    return decide(PolicyRequest(SHELL, {"command": command}, facts, subjects(command)), rules, ()).mode


FORBIDDEN = sorted(set(forbidden_lines()))
BARE = sorted(set(bare_lines()))
DENIED = (ANYTHING, rule("deny", "rm"), rule("deny", "curl"))


def test_no_line_that_runs_a_forbidden_program_gets_past_the_rule_that_denies_it():
    through = [line for line in FORBIDDEN if mode_of(line, *DENIED) != "deny"]
    print(f"{len(through)} of {len(FORBIDDEN)} lines got past a rule that denies")
    assert through == []
    assert len(FORBIDDEN) >= 500


def test_no_line_that_runs_code_is_allowed_by_the_name_of_its_program():
    through = [line for name, line in BARE if mode_of(line, *_bare_rules(name)) == "allow"]
    print(f"{len(through)} of {len(BARE)} lines ran under a rule that allows their program by its name")
    assert through == []
    assert len(BARE) >= 500


def test_rules_for_many_names_open_nothing_that_each_alone_does_not():
    rules = [rule for name in {name for name, _ in BARE} for rule in _bare_rules(name)]
    assert [line for _, line in BARE if mode_of(line, *rules) == "allow"] == []


def _bare_rules(name: str) -> list[Rule]:
    try:
        return [rule("allow", shlex.quote(name))]
    except ValidationError:
        return []


RUNNERS = """
pylint --init-hook='import os'
jest --config='{"globalSetup": "./x.js"}'
hyperfine 'rm x'
tsx x.ts
duckdb -c '.shell rm x'
clang-tidy -load ./x.so a.c
rubocop -r ./x.rb
mocha --require ./x.js
vitest --config x.ts
coverage run x.py
pre-commit run
mkdocs build
sphinx-build . out
nbconvert --execute x
""".strip().splitlines()


@pytest.mark.parametrize("line", RUNNERS)
def test_a_program_that_can_run_code_needs_its_full_command(line: str):
    words = shlex.split(line)
    assert mode_of(line, rule("allow", words[0])) == "require_approval"
    assert mode_of(line, rule("allow", line)) == "allow"
    assert mode_of(f"{line} more", rule("allow", line)) == "require_approval"


@pytest.mark.parametrize(
    "line",
    [
        'for f in *.py; do wc -l "$f"; done',
        "cd src && make",
        'echo "$HOME" | tee x',
        "ls | xargs grep x",
        "A=1 make test > log 2>&1",
        "bash build.sh",
        "git log | head -3",
        "test -f x || touch x",
        'if [ -n "$x" ]; then echo "$x"; fi',
        "find . -name '*.py' -exec wc -l {} +",
        "cat <<E > x\n$y\nE",
        "python -c 'print(1)' | sort",
    ],
)
def test_a_script_that_names_its_programs_is_no_more_than_it_says(line: str):
    assert mode_of(line, *DENIED) == "allow"
