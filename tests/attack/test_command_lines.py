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


STEERED = """
BASH_ENV=<(echo rm victim) bash -c true
echo "rm victim" > s.sh; BASH_ENV=s.sh bash -c true
ENV=./s.sh sh -i -c true
env BASH_ENV=s.sh bash -c true
env -i BASH_ENV=s.sh bash -c true
env -S 'BASH_ENV=s.sh bash -c true'
nice env BASH_ENV=s.sh bash -c true
sudo BASH_ENV=s.sh bash -c true
systemd-run --setenv=LD_PRELOAD=./s.so ls
docker run -eLD_PRELOAD=./s.so image ls
time BASH_ENV=s.sh bash -c true
export BASH_ENV=s.sh; bash -c true
export "BASH_ENV=s.sh"; bash -c true
export BASH_E{N,X}V=s.sh; bash -c true
export BASH_ENV; : ${BASH_ENV:=s.sh}; bash -c true
set -a; for BASH_ENV in s.sh; do bash -c true; done
set -a; : ${BASH_ENV=s.sh}; bash -c true
set -a; read BASH_ENV < names; bash -c true
set -a; printf -v BASH_ENV s.sh; bash -c true
set -a; declare -n r=BASH_ENV; r=s.sh; bash -c true
declare -x BASH_ENV[0]=s.sh; bash -c true
{ BASH_ENV=s.sh; bash -c true; }
A=1 PATH=.:$PATH ls
GIT_EXTERNAL_DIFF=./s.sh git diff
PYTHONPATH=. python x.py
NODE_OPTIONS='--require ./s.js' node x.js
sh -c 'BASH_ENV=s.sh bash -c true'
bash_env=1; ld_preload=./s.so ls
""".strip().splitlines()


@pytest.mark.parametrize("line", STEERED)
def test_a_variable_that_changes_what_programs_run_hides_what_a_command_runs(line: str):
    assert mode_of(line, *DENIED) == "deny"
    assert mode_of(line, ANYTHING, rule("require_approval", "rm")) == "require_approval"


@pytest.mark.parametrize(
    "line",
    [
        "A=1 make test",
        "env A=1 make test",
        "export A=1; make test",
        'export A="$x"; make test',
        'while IFS= read -r each; do echo "$each"; done < names',
        "PYTHONUNBUFFERED=1 python x.py",
        "GIT_AUTHOR_NAME=Ada GIT_COMMITTER_DATE=2026-01-01 git commit -m x",
        "unset PYTHONPATH; python x.py",
        'echo "$PATH" "${HOME:-none}"',
        "read -r answer < names",
        "printf '%s' PATH",
        "grep PATH= x",
        "make CC=gcc",
    ],
)
def test_other_variables_hide_nothing(line: str):
    assert mode_of(line, *DENIED) == "allow"
