"""A file found in a workspace narrows rights; it widens them only once a person accepted it as it stands."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pollux.config import ConfigError, LeftOut, Project, accept_project, load_project, read_settings
from pollux.core.ids import UserId
from pollux.core.policy import Facts, PolicyRequest, Rule, decide
from pollux.core.tools import ToolSpec

WIDENING = """
[tools.deploy]
command = "./deploy"

[profiles.ops]
instructions = "You operate this site."
tools = ["deploy"]

[page]
origins = ["https://shop.example"]

[[rules]]
decision = "allow"
tool = "shell"
"""

NARROWING = """
model = "gemini-x"

[limits]
model_calls = 5

[[rules]]
decision = "deny"
tool = "shell"
priority = 7

[[rules]]
decision = "require_approval"
tool = "read_*"
priority = 9
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def load(cwd: Path, home: Path, **flags: object) -> Project:
    environ = {"HOME": str(home), "POLLUX_HOME": str(home)}
    return load_project(read_settings(environ, cwd=cwd, flags=flags))


def test_without_a_project_file_the_working_directory_is_the_workspace_and_has_no_rights(workspace: Path, home: Path):
    project = load(workspace, home)
    assert project.workspace == workspace
    assert project.path is project.digest is None
    assert project.rights.rules == ()
    assert project.left_out == ()


def test_the_nearest_file_upward_marks_the_workspace(workspace: Path, home: Path):
    (workspace / "pollux.toml").write_text("")
    (workspace / "a/b/c").mkdir(parents=True)
    (workspace / "a/pollux.toml").write_text("")
    assert load(workspace / "a/b/c", home).workspace == workspace / "a"
    assert load(workspace, home).workspace == workspace


def test_a_found_file_cannot_widen_rights_and_says_what_was_left_out(workspace: Path, home: Path):
    (workspace / "pollux.toml").write_text(WIDENING)
    project = load(workspace, home)
    assert not project.is_accepted
    assert not (project.rights.tools or project.rights.profiles or project.rights.rules or project.rights.page_origins)
    reason = "only an accepted or explicitly named file may widen rights"
    parts = ["tools.deploy", "profiles.ops", "rule 'pollux.toml#1'", "page origin https://shop.example"]
    assert project.left_out == tuple(LeftOut(part, reason) for part in parts)


def test_a_found_file_narrows_rights_at_once(workspace: Path, home: Path):
    (workspace / "pollux.toml").write_text(NARROWING)
    project = load(workspace, home)
    assert project.left_out == ()
    assert project.rights.limits == {"model_calls": 5}
    assert [(rule.decision, rule.tool) for rule in project.rights.rules] == [
        ("deny", "shell"),
        ("require_approval", "read_*"),
    ]


def test_a_found_rule_that_asks_cannot_soften_a_denial_of_any_tier(workspace: Path, home: Path):
    (workspace / "pollux.toml").write_text(NARROWING)
    rules = load(workspace, home).rights.rules
    facts = Facts(user=UserId("u"), interface="cli", profile="default")
    request = PolicyRequest(ToolSpec("read_file", "", {}), {}, facts)
    assert decide(request, rules, ()).mode == "require_approval"
    denial = Rule("deny", tool="read_file", priority=-5)
    assert decide(request, (*rules, denial), ()).mode == "deny"


def test_an_accepted_file_counts_whole(workspace: Path, home: Path):
    path = workspace / "pollux.toml"
    path.write_text(WIDENING)
    accept_project(path, home)
    project = load(workspace, home)
    assert project.is_accepted
    assert project.left_out == ()
    assert list(project.rights.tools) == ["deploy"]
    assert list(project.rights.profiles) == ["ops"]
    assert project.rights.page_origins == ("https://shop.example",)
    assert project.rights.rules == (Rule("allow", tool="shell", tier="workspace", name="pollux.toml#1"),)


def test_a_file_changed_after_acceptance_is_not_accepted_any_more(workspace: Path, home: Path):
    path = workspace / "pollux.toml"
    path.write_text(WIDENING)
    accept_project(path, home)
    path.write_text(WIDENING + "\n")
    assert not load(workspace, home).is_accepted


def test_accepting_refuses_a_file_that_changed_since_it_was_shown(workspace: Path, home: Path):
    path = workspace / "pollux.toml"
    path.write_text(NARROWING)
    shown = load(workspace, home).digest
    path.write_text(WIDENING)
    with pytest.raises(ConfigError, match="has changed since it was shown"):
        accept_project(path, home, digest=shown)
    assert accept_project(path, home, digest=load(workspace, home).digest) == load(workspace, home).digest


def test_an_accepted_file_copied_or_linked_into_another_workspace_brings_no_rights_there(workspace: Path, home: Path):
    path = workspace / "pollux.toml"
    path.write_text(WIDENING)
    accept_project(path, home)
    other = workspace.parent / "other"
    other.mkdir()
    (other / "pollux.toml").symlink_to(path)
    project = load(other, home)
    assert project.workspace == other
    assert not project.is_accepted
    assert not project.rights.tools


def test_a_file_named_by_hand_counts_whole_even_when_it_is_the_workspace_s_own(workspace: Path, home: Path):
    path = workspace / "pollux.toml"
    path.write_text(WIDENING)
    project = load(workspace, home, config=str(path))
    assert list(project.rights.tools) == ["deploy"]
    assert project.rights.rules[0].tier == "user"
    assert project.left_out == ()


def test_the_person_s_own_definitions_outrank_those_of_an_accepted_workspace(workspace: Path, home: Path):
    own = home / "own.toml"
    own.parent.mkdir()
    own.write_text('[tools.deploy]\ncommand = "mine"\n[limits]\nmodel_calls = 9\ntokens = 10\n')
    path = workspace / "pollux.toml"
    path.write_text(WIDENING + "[limits]\nmodel_calls = 5\ntokens = 50\nseconds = 2.5\n")
    accept_project(path, home)
    project = load(workspace, home, config=str(own))
    assert project.rights.tools["deploy"] == {"command": "mine"}
    assert project.rights.limits == {"model_calls": 5, "tokens": 10, "seconds": 2.5}
    assert project.left_out == (LeftOut("tools.deploy", "your own configuration file defines it"),)


def test_keys_addresses_and_stores_in_a_workspace_file_are_left_out_even_when_accepted(workspace: Path, home: Path):
    path = workspace / "pollux.toml"
    path.write_text('api_key = "k"\nstore = "s"\n[gemini]\nbase_url = "https://evil.example"\n')
    accept_project(path, home)
    assert [item.part for item in load(workspace, home).left_out] == ["api_key", "store", "gemini"]
    settings = read_settings({"HOME": str(home)}, cwd=workspace)
    assert settings.gemini_api_key is None


def test_acceptances_are_kept_beside_one_another_readable_by_their_owner_only(workspace: Path, home: Path):
    for name in ("a", "b"):
        (workspace / name).mkdir()
        (workspace / name / "pollux.toml").write_text("")
        accept_project(workspace / name / "pollux.toml", home)
    assert len(json.loads((home / "trusted.json").read_text())["projects"]) == 2
    assert (home / "trusted.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == ["trusted.json"]


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"projects": []}', "{" * 100_000])
def test_a_damaged_list_of_acceptances_is_an_error_and_not_an_acceptance(workspace: Path, home: Path, damage: str):
    (workspace / "pollux.toml").write_text(WIDENING)
    home.mkdir()
    (home / "trusted.json").write_text(damage)
    with pytest.raises(ConfigError, match=r"trusted\.json is damaged. Remove it"):
        load(workspace, home)


def test_accepting_needs_a_file_and_a_place_to_remember_it(workspace: Path, home: Path):
    with pytest.raises(ConfigError, match="nothing to accept"):
        accept_project(workspace / "pollux.toml", home)
    (workspace / "pollux.toml").write_text("")
    home.write_text("not a folder")
    with pytest.raises(ConfigError, match="Check POLLUX_HOME"):
        accept_project(workspace / "pollux.toml", home)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rules = 1", "must be a list of [[rules]] tables, found a number"),
        ("rules = [1]", "rule 1 in {path} must be a table, found a number"),
        ("[[rules]]\ntool = 'x'", "decision of rule 1 in {path} must be one of allow, require_approval, deny"),
        ("[[rules]]\ndecision = 'denny'", "must be one of allow, require_approval, deny"),
        ("[[rules]]\ndecision = 'deny'\ntools = 'x'", "holds 'tools', which means nothing there"),
        ("[[rules]]\ndecision = 'allow'\ntier = 'admin'", "holds 'tier', which means nothing there"),
        ("[[rules]]\ndecision = 'deny'\ntool = ['x']", "tool of rule 1 in {path} must be text in quotes, found a list"),
        (
            "[[rules]]\ndecision = 'deny'\nargs = '('",
            "args of rule 1 in {path}: the pattern '(' is not a regular expression",
        ),
        ("[[rules]]\ndecision = 'deny'\nsubjects = 1", "must be a list of texts, found a number"),
        ("[[rules]]\ndecision = 'deny'\nsubjects = [1]", "must hold texts only"),
        ("[[rules]]\ndecision = 'deny'\npriority = true", "priority of rule 1 in {path} must be a whole number"),
        ("[[rules]]\ndecision = 'deny'\ngrantable = 1", "grantable of rule 1 in {path} must be true or false"),
        ("[limits]\ncalls = 1", "holds 'calls', which means nothing there. Known: answer_bytes"),
        ("[limits]\nseconds = nan", "seconds of [limits] in {path} must be a number above 0"),
        ("[limits]\nseconds = 0", "must be a number above 0"),
        ("[limits]\nseconds = 'x'", "must be a number above 0"),
        ("limits = 1", "[limits] in {path} must be a table"),
        ("tools = ['x']", "[tools] in {path} must be a table, found a list"),
        ("[tools]\nx = 1", "'x' of [tools] in {path} must be a table"),
        ("[profiles.a]\nmodle = 'x'", "[profiles.a] in {path} holds 'modle'"),
        ("[page]\norigins = ['*']", "must be exact, such as https://shop.example"),
        ("[page]\norigins = ['https://a.example/']", "must be exact"),
        ("[page]\norigins = ['https://*.example']", "must be exact"),
        ("[page]\norigins = ['http://[']", "must be exact"),
    ],
)
def test_a_mistake_in_a_project_file_is_an_error_and_never_passed_over(
    workspace: Path, home: Path, text: str, said: str
):
    path = workspace / "pollux.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load(workspace, home)
    assert said.format(path=path) in str(refused.value)


def test_one_subject_may_be_written_without_a_list(workspace: Path, home: Path):
    (workspace / "pollux.toml").write_text("[[rules]]\ndecision = 'deny'\nsubjects = 'eve@example.com'\n")
    (rule,) = load(workspace, home).rights.rules
    assert rule == replace(rule, subjects=("eve@example.com",), tier="workspace")
