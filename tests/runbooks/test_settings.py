"""Agents are known by name: those that ship, those of registry files, and those that a person adds."""

import json
from pathlib import Path

import pytest
from tests.runbooks.documents.parts import document, sample, uuid

from pollux.config import ConfigError, accept_project, load_project, read_settings
from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents import AgentCapabilities, agent_of
from pollux.runbooks.settings import DEFAULT_AGENTS, AgentEntry, AgentSettings, agent_settings, registry_of, resolve


def told(folder: Path, own: str = "", project: str = "", *, accepted: bool = False) -> AgentSettings:
    config = folder / "config.toml"
    config.write_text(own)
    if project:
        (folder / "pollux.toml").write_text(project)
    if accepted:
        accept_project(folder / "pollux.toml", folder / "home")
    environ = {"HOME": str(folder), "POLLUX_HOME": str(folder / "home"), "POLLUX_CONFIG": str(config)}
    return agent_settings(load_project(read_settings(environ, cwd=folder)).rights)


def test_three_agents_are_known_from_the_start() -> None:
    assert {name: " ".join(entry.argv) for name, entry in DEFAULT_AGENTS.items()} == {
        "gemini": "gemini --acp",
        "claude": "claude-agent-acp",
        "codex": "codex-acp",
    }
    assert all(entry.description for entry in DEFAULT_AGENTS.values())


@pytest.mark.parametrize(
    ("command", "args", "argv"),
    [
        ("gemini", (), ("gemini", "--acp")),
        ("claude", ("-x",), ("claude-agent-acp", "-x")),
        ("./gemini", (), ("./gemini",)),
        ("/usr/bin/claude", ("-x",), ("/usr/bin/claude", "-x")),
        ("my-agent", ("acp",), ("my-agent", "acp")),
    ],
)
def test_a_bare_name_of_the_registry_means_that_agent(
    command: str, args: tuple[str, ...], argv: tuple[str, ...]
) -> None:
    assert resolve(command, args, DEFAULT_AGENTS) == argv


def test_nothing_written_means_the_defaults(tmp_path: Path) -> None:
    settings = told(tmp_path)
    assert settings == AgentSettings()
    assert (settings.default_timeout, settings.default_capabilities) == (300, AgentCapabilities(read_files=True))


def test_a_person_adds_agents_and_changes_what_new_blocks_begin_with(tmp_path: Path) -> None:
    settings = told(
        tmp_path,
        """
        [runbooks]
        default_timeout = 60
        default_capabilities = ["readFiles", "writeFiles"]
        [runbooks.agents.mine]
        command = "my-agent"
        args = ["--acp"]
        description = "Mine"
        [runbooks.agents.gemini]
        command = "/opt/gemini"
        """,
    )
    assert settings.agents["mine"] == AgentEntry("my-agent", ("--acp",), "Mine")
    assert settings.agents["gemini"].argv == ("/opt/gemini",) and "codex" in settings.agents
    block = settings.new_agent(id=uuid(1), name="N", source={"type": "acp", "command": "mine"}, prompt="P")
    agent = agent_of(document(block).blocks[0])
    assert (agent.timeout_seconds, agent.capabilities) == (60, AgentCapabilities(read_files=True, write_files=True))


def test_the_defaults_are_for_new_blocks_only() -> None:
    old = {"id": uuid(1), "type": "agent", "props": {"source": {"type": "internal"}}}
    agent = agent_of(document(old).blocks[0])
    assert agent.timeout_seconds is None and agent.capabilities == AgentCapabilities()


PROJECT = '[runbooks.agents.theirs]\ncommand = "./evil"\n[runbooks.agents.gemini]\ncommand = "./evil"\n'


def test_a_folder_adds_no_agents_until_a_person_accepted_it(tmp_path: Path) -> None:
    assert told(tmp_path, project=PROJECT).agents == DEFAULT_AGENTS
    own = '[runbooks.agents.gemini]\ncommand = "own"\n'
    agents = told(tmp_path, own, project=PROJECT, accepted=True).agents
    assert (agents["theirs"].command, agents["gemini"].command) == ("./evil", "own")


@pytest.mark.parametrize(
    "table",
    [
        "agent = 1",
        "default_timeout = 0",
        'default_timeout = "5"',
        'default_capabilities = ["everything"]',
        "agents = 5",
        "agents.x = {}",
        "agents.x = {command = 5}",
        'agents.x = {command = "a", args = [1]}',
        'agents.x = {command = "a", description = 1}',
        'agents.x = {command = "a", cmd = "b"}',
        'agents."a/b" = {command = "a"}',
        "registries = [1]",
    ],
)
def test_a_mistake_in_the_table_is_told_with_its_place(tmp_path: Path, table: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml"):
        told(tmp_path, f"[runbooks]\n{table}\n")


@pytest.mark.parametrize("name", ["gemini", "qwen-code", "claude-code-acp", "codex-acp", "opencode"])
def test_files_of_the_acp_registry_are_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    [(key, entry)] = registry_of(json.loads(sample(f"acp-registry/{name}.json"))).items()
    expected = {
        "gemini": "npx -y @google/gemini-cli@0.27.3 --experimental-acp",
        "qwen-code": "npx -y @qwen-code/qwen-code@0.9.1 --acp --experimental-skills",
        "claude-code-acp": "npx -y @zed-industries/claude-code-acp@0.16.0",
        "codex-acp": "codex-acp",
        "opencode": "opencode acp",
    }
    assert key == name and " ".join(entry.argv) == expected[name] and entry.description


def test_a_registry_file_is_named_in_the_configuration(tmp_path: Path) -> None:
    one = {"id": "one", "name": "One", "distribution": {"uvx": {"package": "one@1", "env": {"A": "b"}}}}
    (tmp_path / "registry.json").write_text(json.dumps({"version": "1.0.0", "agents": [one], "extensions": []}))
    agents = told(tmp_path, '[runbooks]\nregistries = ["registry.json"]\n').agents
    assert agents["one"] == AgentEntry("uvx", ("one@1",), "One", {"A": "b"})


def test_an_agent_that_has_nothing_for_this_machine_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Plan9")
    target = {"linux-x86_64": {"archive": "https://x.example/a.tgz", "cmd": "./a"}}
    assert registry_of({"id": "a", "distribution": {"binary": target}}) == {}


@pytest.mark.parametrize(
    "document",
    [
        5,
        [5],
        {"agents": 5},
        {"id": "A/B"},
        {"id": "a"},
        {"id": "a", "distribution": {"npx": {}}},
        {"id": "a", "distribution": {"npx": {"package": "p", "args": "x"}}},
    ],
)
def test_a_registry_that_is_none_is_refused(document: JSON) -> None:
    with pytest.raises(ValidationError):
        registry_of(document)


def test_a_registry_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"nowhere\.json"):
        told(tmp_path, '[runbooks]\nregistries = ["nowhere.json"]\n')
