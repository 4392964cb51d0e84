"""Skills: found, listed, taken up, and their files read beneath their own folder alone."""

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from pollux.core.errors import PolicyError, PolluxError, ToolError, ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.tools import Tool, ToolContext
from pollux.engine.gate import Toolbox
from pollux.tools.skills import (
    LARGEST_FILE,
    MOST_RESOURCES,
    Skill,
    load_skills,
    skill_dir,
    skill_tools,
    skills_prompt,
)

CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
SAMPLES = Path(__file__).parents[3] / "shared/samples/skills"
SECRET = "the canary sings"


def make(
    folder: Path, name: str = "greeter", *, description: str = "Greets.", more: str = "", body: str = "Say hi."
) -> Path:
    """A skill in a folder of its name."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}\n")
    return place


def load(*folders: Path) -> tuple[Skill, ...]:
    return load_skills(skill_dir(folder) for folder in folders)


async def read(skill: Skill, path: str) -> Any:
    return await _tool(skill, "read_skill_file").run(CONTEXT, {"name": skill.name, "path": path})


def _tool(skill: Skill, name: str) -> Tool:
    return Toolbox(skill_tools([skill]))[name]


def test_the_samples_load():
    if not SAMPLES.is_dir():
        pytest.skip("the shared samples are not here")
    skills = {skill.name: skill for skill in load(SAMPLES)}
    assert sorted(skills) == ["code-reviewer", "greeter", "mcp-builder", "playwright-cli"]
    assert skills["playwright-cli"].allowed_tools == ("Bash(playwright-cli:*)",)
    assert skills["mcp-builder"].license == "Complete terms in LICENSE.txt"
    assert skills["code-reviewer"].description.startswith("Use this skill to review code. It supports both local")
    assert skills["greeter"].body.startswith("You are a friendly greeter.")


def test_a_folder_is_a_skill_or_holds_skills(tmp_path: Path):
    one, two = make(tmp_path, "one"), make(tmp_path, "two")
    assert [skill.name for skill in load(tmp_path)] == ["one", "two"]
    assert [skill.name for skill in load(two, one)] == ["two", "one"]
    assert [skill.name for skill in load(tmp_path, one)] == ["one", "two"]


def test_every_field_is_read(tmp_path: Path):
    more = "license: MIT\ncompatibility: Needs git\nmetadata:\n  version: 1.10\n"
    more += "allowed-tools: Read, Bash(git add:*) Write\nunknown: ignored\n"
    [skill] = load(make(tmp_path, description="Use when: asked", more=more))
    assert (skill.description, skill.license, skill.compatibility) == ("Use when: asked", "MIT", "Needs git")
    assert (skill.metadata, skill.allowed_tools) == ({"version": "1.10"}, ("Read", "Bash(git add:*)", "Write"))
    assert (skill.location, skill.body) == (tmp_path / "greeter/SKILL.md", "Say hi.")


def test_allowed_tools_may_be_a_list(tmp_path: Path):
    [skill] = load(make(tmp_path, more="allowed-tools:\n  - Read\n  - Bash(git add:*)\n"))
    assert skill.allowed_tools == ("Read", "Bash(git add:*)")


def test_the_home_folder_may_be_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    make(tmp_path / "skills")
    assert [skill.name for skill in load_skills([skill_dir("~/skills")])] == ["greeter"]


def test_a_folder_of_another_name_is_worth_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    make(tmp_path).rename(tmp_path / "elsewhere")
    with caplog.at_level(logging.WARNING):
        assert len(load(tmp_path)) == 1
    assert caplog.messages == ["the skill 'greeter' lies in a folder of another name, 'elsewhere'"]


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("description: x", r"line 1: expected `name` to be 1 to 64 of a-z.*, which is not there"),
        ("description: x\nname: Big Name", r"line 3: expected `name` to be 1 to 64 of a-z.*, found 'Big Name'"),
        ("name: a--b\ndescription: x", "line 2: expected `name`"),
        ("name: -a\ndescription: x", "line 2: expected `name`"),
        ("name: ../up\ndescription: x", "line 2: expected `name`"),
        (f"name: {'a' * 65}\ndescription: x", "line 2: expected `name`"),
        ("name: [a]\ndescription: x", "line 2: expected `name`"),
        ("name: a", "line 1: expected `description` to say what the skill is for .*, which is not there"),
        ("name: a\ndescription: ' '", "line 3: expected `description` to say"),
        (f"name: a\ndescription: {'x' * 1025}", "line 3: expected `description` to be text of at most 1024"),
        (f"name: a\ndescription: x\ncompatibility: {'x' * 501}", "line 4: expected `compatibility` .* at most 500"),
        ("name: a\ndescription: x\nmetadata: text", "line 4: expected `metadata` to be fields of its own"),
        ("name: a\ndescription: x\nallowed-tools:\n  a: b", "line 4: expected `allowed-tools` to be names"),
        ("name: a\ndescription: x\nmetadata: [", "line 5: expected YAML"),
    ],
)
def test_a_broken_skill_is_refused_with_file_line_and_what_was_expected(tmp_path: Path, head: str, told: str):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/SKILL.md").write_text(f"---\n{head}\n---\nbody")
    with pytest.raises(ValidationError, match=rf"a/SKILL\.md, {told}"):
        load(tmp_path)


def test_a_file_that_is_no_text_or_too_large_is_refused(tmp_path: Path):
    path = make(tmp_path) / "SKILL.md"
    path.write_bytes(path.read_bytes() + b"caf\xe9")
    with pytest.raises(ValidationError, match=r"SKILL\.md, line 7: expected text in UTF-8"):
        load(tmp_path)
    path.write_bytes(b"x" * (LARGEST_FILE + 1))
    with pytest.raises(ValidationError, match=r"SKILL\.md, expected at most 1 MB, found 1\.0 MB\. Move"):
        load(tmp_path)


def test_two_skills_of_one_name_are_refused(tmp_path: Path):
    make(tmp_path / "a")
    make(tmp_path / "b")
    with pytest.raises(ValidationError, match=r"two skills are called 'greeter': .*a/greeter.* and .*b/greeter"):
        load(tmp_path / "a", tmp_path / "b")


def test_a_folder_without_skills_and_a_path_without_a_folder_are_refused(tmp_path: Path):
    with pytest.raises(ValidationError, match=r"holds no skill\. Expected a file SKILL\.md"):
        load(tmp_path)
    with pytest.raises(ValidationError, match=r"expected a folder with skills at .*none, found none"):
        load(tmp_path / "none")
    with pytest.raises(ValidationError, match="expected the path of a folder with skills, found 7"):
        skill_dir(7)  # pyright: ignore[reportArgumentType]


def test_links_that_stay_are_followed_and_those_that_leave_are_refused(tmp_path: Path):
    outside = make(tmp_path / "outside")
    (tmp_path / "in/real").mkdir(parents=True)
    (tmp_path / "in/real/SKILL.md").write_text((outside / "SKILL.md").read_text())
    (tmp_path / "in/latest").symlink_to("real")
    assert [skill.name for skill in load(tmp_path / "in")] == ["greeter"]
    (tmp_path / "in/nothing").symlink_to(tmp_path)
    assert len(load(tmp_path / "in")) == 1
    (tmp_path / "in/away").symlink_to(outside)
    with pytest.raises(ValidationError, match=r"in/away, a link that leads out of its folder\. Put a copy"):
        load(tmp_path / "in")


def test_a_skill_file_that_is_a_link_to_elsewhere_is_refused(tmp_path: Path):
    path = make(tmp_path / "in") / "SKILL.md"
    path.rename(tmp_path / "SKILL.md")
    path.symlink_to(tmp_path / "SKILL.md")
    with pytest.raises(ValidationError, match=r"greeter/SKILL\.md, a link that leads out of its folder"):
        load(tmp_path / "in")


def test_a_skill_file_that_is_no_file_is_refused(tmp_path: Path):
    (tmp_path / "a/SKILL.md").mkdir(parents=True)
    with pytest.raises(ValidationError, match=r"a/SKILL\.md, expected a regular file"):
        load(tmp_path)


def test_resources_are_the_files_beneath_without_hidden_ones_and_other_skills(tmp_path: Path):
    place = make(tmp_path, "outer")
    for name in ("run.py", "references/deep/a.md", ".git/config", "node_modules/x.js", ".hidden", "bad\nname"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("x")
    make(place, "inner")
    (place / "link").symlink_to("run.py")
    outer, inner = load(place)
    assert (outer.resources, inner.resources) == (("references/deep/a.md", "run.py"), ())


def test_a_list_of_resources_has_an_end(tmp_path: Path):
    place = make(tmp_path)
    for number in range(MOST_RESOURCES + 1):
        (place / f"{number}.md").touch()
    [skill] = load(place)
    assert (len(skill.resources), skill.is_cut) == (MOST_RESOURCES, True)


def test_the_prompt_lists_name_description_and_location_on_one_line_each(tmp_path: Path):
    make(tmp_path, description="|\n  Greets.\n  Twice.")
    prompt = skills_prompt(load(tmp_path))
    assert prompt.splitlines()[-1] == f"- greeter: Greets. Twice. ({tmp_path}/greeter/SKILL.md)"
    assert "`activate_skill`" in prompt


def test_without_skills_there_is_nothing_to_say_and_nothing_to_call():
    assert (skills_prompt(()), skill_tools(())) == ("", [])


async def test_a_skill_is_taken_up_by_name(tmp_path: Path):
    (make(tmp_path) / "words.md").write_text("hello")
    [skill] = load(tmp_path)
    assert await _tool(skill, "activate_skill").run(CONTEXT, {"name": "greeter"}) == {
        "name": "greeter",
        "instructions": "Say hi.",
        "resources": ["words.md"],
    }


def test_the_tools_have_no_side_effect_and_take_known_names_alone(tmp_path: Path):
    make(tmp_path)
    toolbox = Toolbox(skill_tools(load(tmp_path)))
    assert [tool.spec.default_approval for tool in toolbox.values()] == ["not_required"] * 2
    with pytest.raises(ValidationError, match="name: this value is not one of"):
        toolbox.prepare("activate_skill", {"name": "other"})


async def test_a_file_of_the_skill_is_read(tmp_path: Path):
    place = make(tmp_path)
    (place / "docs").mkdir()
    (place / "docs/grüße.md").write_text("Moin\r\n", newline="")
    (place / "link.md").symlink_to("docs/grüße.md")
    [skill] = load(tmp_path)
    for path in ("docs/grüße.md", "./docs/../docs/grüße.md", "link.md", str(place / "docs/grüße.md")):
        assert await read(skill, path) == {"content": "Moin\r\n"}


@pytest.mark.parametrize(
    "path",
    [
        "../canary",
        "../../canary",
        "docs/../../canary",
        "/etc/passwd",
        "{outside}/canary",
        "out-file",
        "out-dir/canary",
        "docs/up/canary",
        "magic",
        "/proc/self/root/etc/passwd",
        "../neighbour/SKILL.md",
        "sibling/SKILL.md",
        "docs",
        ".",
        "",
        "pipe",
        "a\0b",
        "x" * 5000,
        "~/canary",
        "\ud800",
        ".env",
    ],
)
async def test_nothing_else_is_read(tmp_path: Path, path: str):
    place = make(tmp_path / "skills")
    [skill] = load(place)
    make(tmp_path / "skills", "neighbour", body=SECRET)
    (tmp_path / "skills/canary").write_text(SECRET)
    (tmp_path / "canary").write_text(SECRET)
    (place / "docs").mkdir()
    (place / ".env").write_text(SECRET)
    os.mkfifo(place / "pipe")
    for link, target in {
        "out-file": tmp_path / "canary",
        "out-dir": tmp_path,
        "docs/up": "../..",
        "magic": f"/proc/self/cwd/{os.path.relpath(tmp_path / 'canary')}",
        "sibling": "../neighbour",
    }.items():
        (place / link).symlink_to(target)
    with pytest.raises(PolluxError) as caught:
        await read(skill, path.format(outside=tmp_path))
    assert isinstance(caught.value, (PolicyError, ToolError, ValidationError))
    assert SECRET not in str(caught.value)


async def test_a_missing_file_is_told_with_those_that_are_there(tmp_path: Path):
    (make(tmp_path) / "words.md").write_text("hello")
    [skill] = load(tmp_path)
    with pytest.raises(ToolError, match=r"has no file 'word\.md'; its files are: words\.md"):
        await read(skill, "word.md")


async def test_a_binary_file_is_named_as_what_it_is(tmp_path: Path):
    place = make(tmp_path)
    (place / "logo.png").write_bytes(b"\x89PNG\r\n")
    (place / "core").write_bytes(b"a\0b")
    [skill] = load(tmp_path)
    with pytest.raises(ToolError, match=r"found image/png of 6 bytes"):
        await read(skill, "logo.png")
    with pytest.raises(ToolError, match=r"found a binary file of 3 bytes"):
        await read(skill, "core")


async def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path):
    place = make(tmp_path)
    (place / "big.md").touch()
    os.truncate(place / "big.md", 100 << 20)
    [skill] = load(tmp_path)
    with pytest.raises(ToolError, match=r"the file has 104\.9 MB, and at most 1\.0 MB"):
        await read(skill, "big.md")


async def test_a_folder_that_became_a_link_or_vanished_is_noticed(tmp_path: Path):
    place = make(tmp_path / "skills")
    [skill] = load(place)
    place.rename(tmp_path / "moved")
    with pytest.raises(ToolError, match="is not there any more"):
        await read(skill, "SKILL.md")
    (tmp_path / "canary").write_text(SECRET)
    place.symlink_to(tmp_path)
    with pytest.raises(PolicyError, match="has become a link"):
        await read(skill, "canary")
