"""Attempts to get past the rules: none of them runs. And ordinary work under the same kind of rules: all of it runs."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from pollux.core.ids import UserId
from pollux.core.policy import Facts, Mode, PolicyRequest, Rule, decide
from pollux.core.tools import ToolSpec
from pollux.tools.shell.judge import prefix_patterns, subjects
from pollux.tools.shell.parse import Simple, parse

COMMANDS = Path(__file__).parent / "commands"
SHELL = ToolSpec("shell", "Run a command.", {"type": "object"}, side_effect=True)
ANYTHING = Rule("allow", tool="shell")


def mode_of(command: str, *rules: Rule) -> Mode:
    return decide(request_for(command), rules, ()).mode


def request_for(command: str) -> PolicyRequest:
    seen = subjects(command)
    facts = Facts(user=UserId("ada"), interface="sdk", profile="default")
    return PolicyRequest(SHELL, {"command": command}, facts, seen)


def rule(decision: Mode, prefix: str) -> Rule:
    return Rule(decision, tool="shell", subjects=prefix_patterns(prefix, decision), name=f"{decision} {prefix}")


def listed(name: str) -> Iterator[tuple[str, str]]:
    """A prefix, and a command for it: indented below the line that names the prefix."""
    prefix = ""
    for line in (COMMANDS / name).read_text().split("\n"):
        if line.startswith("    "):
            yield prefix, line[4:].replace("␤", "\n")
        elif line.endswith(":"):
            prefix = line[:-1]


# Nobody could see these in a file.
INVISIBLE = (
    "ls\r\nrm x", "ls\u2028rm x", "ls\x85rm x", "ls\x0brm x", "ls\x0crm x", "ls\0; rm x", "ls\xa0x",
    "l\u200bs", "ls\u200b", "\u202els", "ls \u2066x", "ls\x1b[2K", "ls \x08\x08rm", "\ufeffls", "ls \ud800",
    "ls \x7f", "ls\u3000x",
)  # fmt: skip
ATTEMPTS = [*listed("attempts.txt"), *(("ls", command) for command in INVISIBLE)]
EVASIONS = list(listed("evasions.txt"))
BENIGN = list(listed("benign.txt"))
LENDERS = (COMMANDS / "lenders.txt").read_text().partition("\n\n")[2].splitlines()


@pytest.mark.parametrize(("prefix", "command"), ATTEMPTS)
def test_an_attempt_to_get_past_an_allowed_prefix_does_not_run(prefix: str, command: str):
    assert mode_of(command, rule("allow", prefix)) == "require_approval"


def test_a_rule_opens_no_more_in_the_company_of_others():
    rules = [rule("allow", prefix) for prefix in {prefix for prefix, _ in ATTEMPTS}]
    for request in [request_for(command) for _, command in ATTEMPTS]:
        is_opened = any(decide(request, [one], ()).mode == "allow" for one in rules)
        assert (decide(request, rules, ()).mode == "allow") == is_opened, request.args


@pytest.mark.parametrize(("prefix", "command"), EVASIONS)
def test_what_is_forbidden_stays_so_however_it_is_written(prefix: str, command: str):
    assert mode_of(command, ANYTHING, rule("deny", prefix)) == "deny"
    assert mode_of(command, ANYTHING, rule("require_approval", prefix)) == "require_approval"


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("rm", "ls rm"),
        ("rm", "echo 'rm x'"),
        ("rm", "git commit -m 'rm x'"),
        ("rm", "grep rm x"),
        ("rm", "rmdir x"),
        ("rm", "ls /bin/rm"),
        ("rm", "timeout 5 grep rm x"),
        ("rm -rf", "rm x"),
        ("git push", "git log push"),
        ("git push", "git pull"),
        ("python", "ls python"),
    ],
)
def test_what_only_looks_like_the_forbidden_is_not(prefix: str, command: str):
    assert mode_of(command, ANYTHING, rule("deny", prefix)) == "allow"


def _shells(levels: int) -> str:
    command = "rm -rf x"
    for _ in range(levels):
        command = shlex.join(["sh", "-c", command])
    return command


# Beyond each of the limits to what is read of a command.
BEYOND = {
    "commands": "true;" * 300 + "rm -rf x",
    "commands, one of them first": "rm -rf x;" + "true;" * 300,
    "bytes": f"echo {'a' * 32_768}; rm -rf x",
    "special characters": "echo " + "'a' " * 600 + "; rm -rf x",
    "scripts within scripts": _shells(8),
    "launchers": "env " * 12 + "rm -rf x",
    "words that may be the command": "env " + "-u A " * 300 + "rm -rf x",
    "scripts of one shell": "sh " + "a " * 40 + "-c 'rm -rf x'",
    "what the grammar reads": "case x in a) ;;& esac <<<<( ; rm -rf x",
}


@pytest.mark.parametrize("command", BEYOND.values(), ids=BEYOND)
def test_what_is_padded_beyond_a_limit_is_no_less_forbidden(command: str):
    for prefix in ("rm", "git push"):
        assert mode_of(command, ANYTHING, rule("deny", prefix)) == "deny"
        assert mode_of(command, ANYTHING, rule("require_approval", prefix)) == "require_approval"
    assert mode_of(command, ANYTHING) == "require_approval"


@pytest.mark.parametrize(("prefix", "command"), BENIGN)
def test_ordinary_work_runs_under_its_rule_and_under_no_other(prefix: str, command: str):
    assert mode_of(command, rule("allow", prefix)) == "allow"
    assert mode_of(command, rule("allow", f"{prefix}x")) == "require_approval"
    assert mode_of(command) == "require_approval"


def test_leave_for_a_program_by_its_bare_name_does_not_lend_its_rights():
    # Scripts are never allowed by a prefix; `time` is a word of the shell, and no rule can allow it.
    assert [line for line in LENDERS if not isinstance(parse(line), Simple)] == ["time /bin/sh"]
    silent = [line for line in LENDERS if mode_of(line, *_bare_rule(line)) == "allow"]
    print(f"{len(silent)} of {len(LENDERS)} commands of programs that lend their rights ran without a question")
    assert silent == []


def _bare_rule(line: str) -> list[Rule]:
    program = shlex.split(line)[0]
    return [] if program == "time" else [rule("allow", program)]


def test_there_are_enough_of_them():
    assert len(set(ATTEMPTS)) >= 200
    assert len(set(EVASIONS)) >= 60
    assert len(set(BENIGN)) >= 60
    assert len({shlex.split(line)[0] for line in LENDERS}) >= 300
