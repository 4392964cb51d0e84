"""Profiles from configuration files: completed, bounded, and refused with their place where they are wrong."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from pollux.config import ConfigError, accept_project, load_project, read_settings
from pollux.config.profiles import profiles_of, tools_named
from pollux.config.rights import Rights
from pollux.core.ids import UserId
from pollux.core.policy import Facts, PolicyRequest, Rule, decide
from pollux.core.profile import DEFAULT_MODEL, Limits, Profile
from pollux.core.tools import ToolSpec

FULL = """
[profiles.support]
instructions = "You answer customers."
model = "claude-sonnet-x"
tools = ["weather", "demo_mail"]
on_reject = "fail"
thinking = "shown"
max_output_tokens = 2000
priority = -5
persona = true
limits = { model_calls = 6, tokens = 50_000, seconds = 90.5, approval_seconds = 600, compress_at = 8000 }
output_schema = { type = "object", properties = { answer = { type = "string" } } }
extra = { temperature = 0.2, stop = ["END"], reasoning = { enabled = true } }

[[profiles.support.rules]]
decision = "deny"
tool = "demo_mail"
subjects = ["*@rival.example"]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "own.toml"


def rights(config: Path, text: str) -> Rights:
    config.write_text(text)
    home = str(config.parent / "home")
    settings = read_settings({"HOME": home, "POLLUX_HOME": home}, cwd=config.parent, flags={"config": str(config)})
    return load_project(settings).rights


def profiles(config: Path, text: str, **changes: Any) -> dict[str, Profile]:
    given: dict[str, Any] = {
        "model": DEFAULT_MODEL, "defaults": Limits(model_calls=3), "tools": ["demo_mail"], "known": ["weather"],
        **changes,
    }  # fmt: skip
    return profiles_of(rights(config, text), **given)


def test_without_a_word_there_is_a_default_profile(config: Path):
    assert profiles(config, "", model="gpt-x") == {
        "default": Profile(model="gpt-x", tools=("demo_mail",), limits=Limits(model_calls=3), persona=True)
    }


def test_everything_a_profile_says_is_in_it(config: Path):
    found = profiles(config, FULL)
    assert list(found) == ["default", "support"]
    assert found["support"] == Profile(
        "support",
        instructions="You answer customers.",
        model="claude-sonnet-x",
        tools=("weather", "demo_mail"),
        rules=(
            Rule(
                "deny", "demo_mail", subjects=("*@rival.example",), profile="support", tier="user",
                name="own.toml#support.1",
            ),
        ),
        limits=Limits(model_calls=6, tokens=50_000, seconds=90.5, approval_seconds=600, compress_at=8000),
        on_reject="fail",
        thinking="shown",
        max_output_tokens=2000,
        priority=-5,
        persona=True,
        output_schema={"type": "object", "properties": {"answer": {"type": "string"}}},
        extra={"temperature": 0.2, "stop": ["END"], "reasoning": {"enabled": True}},
    )  # fmt: skip


def test_every_member_of_a_profile_can_be_written(config: Path):
    [written] = rights(config, FULL).profiles.values()
    assert {*written.table, "rules", "name"} == {field.name for field in fields(Profile)}


def test_what_a_profile_leaves_open_is_filled_in(config: Path):
    found = profiles(config, "[profiles.quiet]\n")["quiet"]
    assert found == Profile("quiet", limits=Limits(model_calls=3))


def test_a_default_profile_that_names_no_tools_keeps_them_and_others_have_none(config: Path):
    found = profiles(config, "[profiles.default]\ninstructions = 'Be brief.'\n[profiles.other]\n")
    assert (found["default"].instructions, found["default"].tools) == ("Be brief.", ("demo_mail",))
    assert found["other"].tools == ()


def test_a_default_profile_that_names_its_tools_has_these_alone(config: Path):
    assert profiles(config, "[profiles.default]\ntools = 'weather'\n")["default"].tools == ("weather",)
    assert profiles(config, "[profiles.default]\ntools = []\n")["default"].tools == ()


def test_a_profile_says_whether_it_has_a_persona(config: Path):
    found = profiles(config, "[profiles.default]\npersona = false\n[profiles.other]\n")
    assert (found["default"].persona, found["other"].persona) == (False, False)
    with pytest.raises(ConfigError, match=r"persona of .* must be true or false, found text"):
        profiles(config, "[profiles.default]\npersona = 'no'\n")


def test_limits_are_the_caller_s_then_the_profile_s_and_never_above_the_file_s(config: Path):
    found = profiles(
        config,
        """
        [limits]
        model_calls = 5
        tokens = 1000

        [profiles.small]
        limits = { model_calls = 2, seconds = 10 }

        [profiles.large]
        limits = { model_calls = 50, tokens = 500 }
        """,
    )
    assert found["default"].limits == Limits(model_calls=3, tokens=1000)
    assert found["small"].limits == Limits(model_calls=2, tokens=1000, seconds=10)
    assert found["large"].limits == Limits(model_calls=5, tokens=500)


def test_the_limits_of_one_answer_are_a_profile_s_too_and_never_above_the_file_s(config: Path):
    text = "[limits]\ntries = 3\n[profiles.patient]\nlimits = { tries = 9, retry_seconds = 0.5, answer_bytes = 100 }\n"
    found = profiles(config, text, defaults=Limits(tries=2, idle_seconds=9))
    assert found["default"].limits == Limits(tries=2, idle_seconds=9)
    assert found["patient"].limits == Limits(tries=3, idle_seconds=9, retry_seconds=0.5, answer_bytes=100)


@pytest.mark.parametrize(
    "limit", ["tries = 1.5", "tries = 0", "answer_bytes = 0.5", "idle_seconds = -1", "tries = '2'"]
)
def test_a_limit_of_an_answer_that_is_none_is_refused_with_its_place(config: Path, limit: str):
    name = limit.partition(" ")[0]
    with pytest.raises(
        ConfigError, match=rf"{name} of limits of \[profiles.x\] in .* must be a (whole )?number above 0"
    ):
        profiles(config, f"[profiles.x]\nlimits = {{ {limit} }}\n")


def test_the_rules_of_a_profile_speak_in_that_profile_alone(config: Path):
    found = profiles(config, FULL)["support"]
    spec = ToolSpec("demo_mail", "Send.", {}, side_effect=True)
    facts = Facts(user=UserId("ada"), interface="http", profile="support")
    request = PolicyRequest(spec, {}, facts, frozenset({"eve@rival.example"}))
    assert decide(request, found.rules, ()).mode == "deny"
    assert decide(replace(request, facts=replace(facts, profile="default")), found.rules, ()).mode == "require_approval"


def test_a_rule_may_name_its_own_profile(config: Path):
    text = "[[profiles.ops.rules]]\ndecision = 'deny'\nprofile = '{}'\n"
    assert profiles(config, text.format("op*"))["ops"].rules[0].profile == "op*"
    with pytest.raises(ConfigError, match="so that the rule would never apply"):
        profiles(config, text.format("default"))


def test_the_rules_of_an_accepted_workspace_stay_in_its_tier(tmp_path: Path):
    (tmp_path / "pollux.toml").write_text(FULL)
    home = tmp_path / "home"
    settings = read_settings({"HOME": str(home), "POLLUX_HOME": str(home)}, cwd=tmp_path)
    assert load_project(settings).rights.profiles == {}
    accept_project(tmp_path / "pollux.toml", home)
    found = profiles_of(
        load_project(settings).rights, model=DEFAULT_MODEL, defaults=Limits(), tools=[], known=["weather", "demo_mail"]
    )
    assert [rule.tier for rule in found["support"].rules] == ["workspace"]


def test_the_tools_that_profiles_name_are_known_before_any_is_loaded(config: Path):
    found = rights(config, "[profiles.a]\ntools = ['x', 'y']\n[profiles.b]\ntools = 'y'\n[profiles.c]\n")
    assert tools_named(found) == {"x", "y"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("instructions = 7", "instructions of {place} must be text in quotes, found a number"),
        ("model = 'llama'", "model of {place}: model 'llama' has no known form. Use one of: gemini-"),
        ("model = 7", "model of {place} must be text in quotes, found a number"),
        ("tools = ['wether']", "tools of {place} names 'wether', but there is no such tool. Known: demo_mail, wea"),
        ("tools = ['weather', 'weather']", "tools of {place} names 'weather' twice"),
        ("tools = 7", "tools of {place} must be a list of texts, found a number"),
        ("tools = [7]", "tools of {place} must hold texts only"),
        ("on_reject = 'ignore'", "on_reject of {place} must be one of answer, fail"),
        ("on_reject = ['fail']", "on_reject of {place} must be one of answer, fail"),
        ("thinking = true", "thinking of {place} must be one of off, default, shown"),
        ("max_output_tokens = 0", "max_output_tokens of {place} must be a whole number above 0"),
        ("max_output_tokens = 1.5", "max_output_tokens of {place} must be a whole number above 0"),
        ("max_output_tokens = true", "max_output_tokens of {place} must be a whole number above 0"),
        ("priority = 1001", "priority of {place} must be a whole number from -1000 to 1000"),
        ("priority = true", "priority of {place} must be a whole number from -1000 to 1000"),
        ("limits = 7", "limits of {place} must be a table, found a number"),
        ("limits = { calls = 1 }", "limits of {place} holds 'calls', which means nothing there. Known: answer_bytes"),
        ("limits = { model_calls = 2.5 }", "model_calls of limits of {place} must be a whole number above 0"),
        ("limits = { tokens = inf }", "tokens of limits of {place} must be a whole number above 0"),
        ("limits = { seconds = inf }", "seconds of limits of {place} must be a number above 0 and at most 1000"),
        ("limits = { seconds = nan }", "seconds of limits of {place} must be a number above 0"),
        ("limits = { seconds = true }", "seconds of limits of {place} must be a number above 0"),
        ("limits = { compress_at = 0 }", "compress_at of limits of {place} must be a whole number above 0"),
        ("limits = { approval_seconds = 9999999999999 }", "approval_seconds of limits of {place} must be a number"),
        ("output_schema = 'object'", "output_schema of {place} must be a table, found text"),
        ("output_schema = { type = 7 }", "output_schema of {place}: the schema is not JSON Schema"),
        ("extra = 7", "extra of {place} must be a table, found a number"),
        ("extra = { since = 2027-01-08 }", "since of extra of {place} must be text, a number, true or false"),
        ("extra = { a = [nan] }", "a of extra of {place} must be a finite number"),
        ("extra = { seed = 99999999999999999999 }", "seed of extra of {place} must be a finite number that fits"),
        ("extra = { a = " + "[" * 40 + "]" * 40 + " }", "must not be nested deeper than 32 levels"),
        ("name = 'other'", "{place} holds 'name', which means nothing there"),
        ("rules = 7", "profiles.ops.rules in {path} must be a list of [[profiles.ops.rules]] tables"),
        ("rules = [{ decision = 'maybe' }]", "decision of rule 1 of [profiles.ops] in {path} must be one of allow"),
        ("rules = [{ decision = ['deny'] }]", "decision of rule 1 of [profiles.ops] in {path} must be one of allow"),
        ("rules = [{ decision = 'deny', tier = 'admin' }]", "holds 'tier', which means nothing there"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_its_place(config: Path, text: str, said: str):
    place = f"[profiles.ops] in {config}"
    with pytest.raises(ConfigError) as refused:
        profiles(config, f"[profiles.ops]\n{text}\n")
    assert said.format(place=place, path=config) in str(refused.value)


@pytest.mark.parametrize("name", ["'a b'", "'*'", "'sdk:x'", "''", "'[a]'", "-x", f"'{'x' * 65}'"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(config: Path, name: str):
    with pytest.raises(ConfigError, match="a profile's name is up to 64 letters, digits"):
        profiles(config, f"[profiles.{name}]\n")


@pytest.mark.parametrize("bound", ["tokens = inf", "model_calls = 0.5", "seconds = 1e30", "tokens = true"])
def test_a_bound_for_everybody_is_a_number_that_can_be_kept(config: Path, bound: str):
    with pytest.raises(ConfigError, match=r"of \[limits\] in .* must be a (whole )?number above 0 and at most"):
        rights(config, f"[limits]\n{bound}\n")
