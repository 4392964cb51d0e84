"""Rules that search the whole JSON of arguments are rewritten, and are never more permissive afterwards."""

from pathlib import Path
from random import Random
from typing import cast

import pytest
from tests.cli.machine import Machine

from pollux.core.canonical import normal
from pollux.core.conditions import Condition
from pollux.core.errors import ValidationError
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.policy import STRICTNESS, Facts, Mode, PolicyRequest, Rule, decide
from pollux.core.tools import ToolSpec
from pollux.engine import deprecated
from pollux.engine.patterns import is_match
from pollux.tools.policy.files import load_policy, parse_policy
from pollux.tools.policy.migrate import migrate
from pollux.tools.policy.patterns import allowing, denying

SPEC = ToolSpec("tool", "", {}, side_effect=True)
FACTS = Facts(user=UserId("ada"), interface="sdk", profile="default")
ALLOW_ALL = Rule("allow", tier="default")


def mode(rule: Rule, args: dict[str, JSON]) -> int:
    request = PolicyRequest(SPEC, cast("dict[str, JSON]", normal(args)), FACTS, frozenset({"x"}))
    return STRICTNESS[decide(request, (rule, ALLOW_ALL)[: 1 + (rule.decision == "deny")], (), match=is_match).mode]


# Patterns as people write them, and arguments that were written to get around them.

KEYS = ("to", "path", "a", "K")
WORDS = ("@rival", "docs/", "bob", "n", "t@x", "u0041", "5", "é", "K", ";", "\ufffd", "e\u0301")
ODD = ('"', "\\", "\n", "\t", "\x00", "\u212a", "\u037e", '"to":"@rival', " ", "€")
HEADS = ("", "", "", "", r"\{", "^", r"^\{", ",", r"\x00", "[{,]", ".*")
SPACES = ("", "", "", "", r"\s*", r"\s+", " ")
ANYTHING = ("", "", '[^"]*', '[^"]*?', ".*", ".*?", ".+", '[^"]+', r"\w+", ".")
TAILS = ("", "", '"', '"', r"\"", '"[,}]', r'"\}', '",', '"$', '".*', '",".*"b":"')
FLAGS = ("true", "false", "5", "null")
ENDS = ("", "[,}]", "}", ",", "$", r"\b")


def pattern_of(chance: Random) -> tuple[str, dict[str, JSON]]:
    """A pattern, and an argument that it may well find."""
    key = chance.choice(KEYS)
    start = f'{chance.choice(HEADS)}"{key}":{chance.choice(SPACES)}'
    if chance.random() < 0.2:
        return f"{start}{chance.choice(FLAGS)}{chance.choice(ENDS)}", {key: chance.choice([True, False])}
    word = chance.choice(WORDS) if chance.random() < 0.7 else ""
    around = [text_of(chance) if chance.random() < 0.4 else "" for _ in range(2)]
    return f'{start}"{chance.choice(ANYTHING)}{word}{chance.choice(TAILS)}', {key: around[0] + word + around[1]}


def text_of(chance: Random) -> str:
    return "".join(chance.choice(WORDS + ODD) for _ in range(chance.randrange(4)))


def value_of(chance: Random, depth: int = 0) -> JSON:
    match chance.randrange(10):
        case 0:
            return chance.choice([True, False, None, 5, 50, 5.5])
        case 1 if depth < 3:
            return [value_of(chance, depth + 1) for _ in range(chance.randrange(3))]
        case 2 | 3 if depth < 3:
            return args_of(chance, depth + 1)
        case _:
            return text_of(chance)


def args_of(chance: Random, depth: int = 0) -> dict[str, JSON]:
    count = chance.randrange(1, 4)
    return {chance.choice((*KEYS, *KEYS, "\u212a", text_of(chance))): value_of(chance, depth) for _ in range(count)}


def compared(count: int, *, seed: int) -> tuple[int, int]:
    """How many rules were rewritten and decide the same or something stricter, and how many of them spoke before."""
    chance, rewritten, spoke = Random(seed), 0, 0
    for _ in range(count):
        pattern, planted = pattern_of(chance)
        args = args_of(chance)
        match chance.randrange(3):
            case 0:
                args |= planted
            case 1:
                args[chance.choice(KEYS)] = planted if chance.random() < 0.5 else [planted]
            case _:
                pass
        conditions: list[tuple[Mode, Condition | None]] = [("deny", denying(pattern)), ("allow", allowing(pattern))]
        for decision, found in conditions:
            if found is None:
                continue
            before, after = Rule(decision, args=pattern, tier="user"), Rule(decision, where=(found,), tier="user")
            try:
                was = mode(before, args)
                is_right = mode(after, args) >= was
            except ValidationError:
                continue  # Two keys are the same once they are normalised: the engine refuses such a call.
            assert is_right, (decision, pattern, found, args)
            rewritten += 1
            spoke += was == STRICTNESS[decision]
    return rewritten, spoke


def test_a_rewritten_rule_is_never_more_permissive():
    rewritten, spoke = compared(2_000, seed=1)
    assert (rewritten > 400, spoke > 100) == (True, True)


@pytest.mark.soak
def test_a_rewritten_rule_is_never_more_permissive_in_very_many_cases():
    rewritten, spoke = compared(450_000, seed=2)
    assert (rewritten > 100_000, spoke > 20_000) == (True, True)


CASES: list[tuple[str, str, str]] = [
    ("deny", r'"to":"[^"]*@rival\.com"', """{ path = "**.to", matches = '^(?:[^"]*@rival\\.com)$' }"""),
    ("deny", '"to":"eve@x"', '{ path = "**.to", equals = "eve@x" }'),
    ("deny", '"path":"/etc/', '{ path = "**.path", prefix = "/etc/" }'),
    ("deny", '"recursive":true', '{ path = "**.recursive", equals = true }'),
    ("allow", '"to":".*@mine"', '{ path = "to", matches = "^(?:.*@mine)$" }'),
    ("allow", '"path":"docs/', '{ path = "path", prefix = "docs/" }'),
]


@pytest.mark.parametrize(("decision", "pattern", "written"), CASES)
def test_what_names_one_argument_becomes_a_condition_on_it(decision: str, pattern: str, written: str):
    text = f"[[rules]]\ndecision = '{decision}'\nargs = '{pattern}'  # why\r\n# the end\n"
    done = migrate(text, name="p.toml")
    assert done.text == f"[[rules]]\ndecision = '{decision}'\nwhere = [{written}]  # why\r\n# the end\n"
    assert done.left == ()
    assert parse_policy(done.text, name="p.toml")[0].where


LEFT: list[tuple[str, str, str]] = [
    ("deny", "args = '(?i)password'", "names no one argument"),
    ("deny", """args = '"to":".*rival'""", "also finds what stands in other arguments"),
    ("deny", """args = '"to":"[^"]*nine'""", "more than literal text"),
    ("allow", """args = '"to":"(a|b)"'""", "more than literal text"),
    ("allow", """args = '"to":"a","x":"b"'""", "names no one argument"),
    ("require_approval", """args = '"to":"a"'""", "neither more nor less"),
    ("deny", """args = '"to":"a"'\nwhere = { path = "x", equals = 1 }""", "has `where` already"),
    ("deny", "args = '''\n\"to\":\"a\"'''", "is not on a line of its own"),
    ("deny", "reason = '''\nargs = 1\n'''\n\"args\" = '''\"to\":\"a\"\n'''", ""),
]


@pytest.mark.parametrize(("decision", "more", "said"), LEFT)
def test_the_rest_stays_and_is_told_why_and_what_to_write(decision: str, more: str, said: str):
    text = f"[[rules]]\ndecision = '{decision}'\n{more}\n"
    done = migrate(text, name="p.toml")
    assert (done.text, done.rewritten) == (text, ())
    (left,) = done.left
    assert left.startswith("rule 1: ")
    assert said in left
    assert "rite" in left


def test_doors_become_interfaces_and_a_trick_with_a_wildcard_becomes_a_negation():
    text = (
        "[[rules]]\ndecision = 'deny'\ndoor = '[!rs]*'\n[[profiles.\"a.b\".rules]]\ndecision = 'deny'\ndoor = 'http'\n"
    )
    done = migrate(text, name="p.toml")
    assert 'interface_not = ["r*", "s*"]\n' in done.text
    assert 'interface = ["http"]\n' in done.text
    assert migrate(done.text, name="p.toml").rewritten == ()


def test_a_line_in_a_text_that_looks_like_a_rule_is_let_alone():
    text = "[[rules]]\ndecision = 'deny'\nreason = '''\nargs = '\"to\":\"a\"'\n[[rules]]\n'''\nargs = '\"to\":\"a\"'\n"
    done = migrate(text, name="p.toml")
    assert done.text == text
    assert "is not on a line of its own" in done.left[0]


def test_a_file_of_gemini_cli_has_nothing_to_rewrite():
    text = "[[rule]]\ntoolName = 'x'\ndecision = 'deny'\npriority = 1\nargsPattern = 'x'\n"
    assert migrate(text, name="p.toml").text == text


def test_old_rules_are_named_once_with_file_and_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    monkeypatch.setattr(deprecated, "_to", said.append)
    path = tmp_path / "p.toml"
    path.write_text("[[rules]]\ndecision = 'deny'\n[[rules]]\ndecision = 'deny'\nargs = 'x'\n")
    assert load_policy(path) == load_policy(path)
    assert said == [
        f"rule 2 in {path}: `args` searches all arguments at once and is deprecated. Run: pollux policy migrate {path}"
    ]


@pytest.mark.slow
def test_the_command_shows_the_difference_and_writes_it_only_when_it_is_told_to(tmp_path: Path):
    machine = Machine(tmp_path)
    file = machine.cwd / "pollux.toml"
    old = "# ours\n[[rules]]\ndecision = 'deny'\nargs = '\"to\":\"eve@x\"'  # never\n"
    file.write_text(old)
    file.chmod(0o640)
    link = machine.cwd / "link.toml"
    link.symlink_to("pollux.toml")

    warned = machine.run("runbook", "new", "a.atrb")
    assert f"rule 1 in {file}" in warned.stderr
    assert f"pollux policy migrate {file}" in machine.run("doctor", "--offline").stdout
    shown = machine.run("policy", "migrate", "link.toml")
    assert (shown.returncode, file.read_text()) == (0, old)
    assert '+where = [{ path = "**.to", equals = "eve@x" }]  # never\n' in shown.stdout
    written = machine.run("policy", "migrate", "link.toml", "--write")
    assert (written.returncode, written.stdout) == (0, "")
    assert file.read_text() == old.replace('args = \'"to":"eve@x"\'', 'where = [{ path = "**.to", equals = "eve@x" }]')
    assert (file.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)
    assert [path.name for path in machine.cwd.glob(".*")] == []
    assert machine.run("policy", "migrate", "nowhere.toml").returncode == 2
