"""Tools and profiles of the configuration, as `pollux run` and `pollux chat` have them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.cli.programs import Ended, Place

from pollux.emulator import Emulator

Run = Callable[..., Ended]
CONFIG = """\
[tools.hello]
use = "tests.cli.greeting:hello"

[profiles.brief]
instructions = "Be very brief."
tools = ["hello", "read_file"]
model = "gemini-2.5-flash"
"""


@pytest.fixture
def run(here: Place, tmp_path: Path) -> Run:
    config = tmp_path / "agents.toml"
    config.write_text(CONFIG)
    return partial(here.run, "--config", str(config), PYTHONPATH=str(Path(__file__).parents[2]))


def offered(emulator: Emulator) -> set[str]:
    body = emulator.requests[-1].body
    return {each["name"] for tools in body["tools"] for each in tools["functionDeclarations"]}


def test_a_profile_brings_its_instructions_its_model_and_its_tools(run: Run, emulator: Emulator):
    assert run("say hi", "--profile", "brief").code == 0
    sent = emulator.requests[-1]
    assert offered(emulator) == {"hello", "read_file"}
    assert "Be very brief." in str(sent.body["systemInstruction"]) and "gemini-2.5-flash" in sent.path


def test_without_a_profile_the_tools_of_the_configuration_are_offered_too(run: Run, emulator: Emulator):
    assert run("say hi").code == 0
    assert {"hello", "read_file", "shell"} <= offered(emulator)


@pytest.mark.parametrize("profile", [(), ("--profile", "brief")], ids=["no profile", "a profile"])
def test_how_often_a_model_is_tried_is_a_setting(
    here: Place, tmp_path: Path, emulator: Emulator, profile: tuple[str, ...]
):
    config = tmp_path / "once.toml"
    config.write_text("[models]\ntries = 1\n[profiles.brief]\n")
    ended = here.run("--config", str(config), "say hi", *profile, "--model", "gemini-3.8-flash--503")
    assert (ended.code, sum(each.method == "POST" for each in emulator.requests)) == (1, 1)


def test_an_unknown_profile_is_refused_with_the_known_ones(run: Run):
    ended = run("say hi", "--profile", "nosuch")
    assert ended.code == 2 and "no profile 'nosuch'. Known: brief" in ended.talk


@pytest.mark.parametrize("rule", ["nosuchtool", "sel:ls"])
def test_allow_refuses_a_tool_that_is_not_there(run: Run, rule: str):
    ended = run("say hi", "--allow", rule)
    assert ended.code == 2 and f"unknown tool '{rule.partition(':')[0]}'" in ended.talk and "read_file" in ended.talk


def test_allow_takes_every_tool_that_is_there(run: Run):
    assert run("say hi", "--allow", "hello", "--allow", "write_file:drafts/*", "--allow", "read_*").code == 0
