"""`pollux setup`: a template where there was nothing, three words for how things stand, and nothing overwritten."""

import os
import stat
from pathlib import Path

import pytest
import yaml
from tests.cli.machine import Machine

KEY = "canary-key-0001"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def file_of(machine: Machine) -> Path:
    return machine.cwd / "config" / ".gemini.yaml"


def test_a_new_folder_gets_a_template_for_its_owner_alone(machine: Machine):
    told = machine.told("setup", "--json")
    assert (told["plugin"], told["status"], told["created"]) == ("gemini-agent", "needs-config", True)
    assert told["file"] == str(file_of(machine))
    assert stat.S_IMODE(file_of(machine).stat().st_mode) == 0o600
    assert yaml.safe_load(file_of(machine).read_text()) == {"apiKey": "<your-gemini-api-key>"}


def test_every_key_of_the_template_is_read(machine: Machine):
    machine.run("setup")
    written = file_of(machine).read_text().replace("# model:", "model:").replace("# systemPrompt:", "systemPrompt:")
    file_of(machine).write_text(written.replace("<your-gemini-api-key>", KEY))
    assert machine.told("setup", "--json")["status"] == "configured"
    assert set(yaml.safe_load(written)) == {"apiKey", "model", "systemPrompt"}


def test_the_status_is_a_line_that_says_what_to_do(machine: Machine):
    done = machine.run("setup", "gemini-agent")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("needs-config: ") and "apiKey" in done.stdout and "GEMINI_API_KEY" in done.stdout


def test_what_is_there_is_left_as_it_is(machine: Machine):
    machine.run("setup")
    file_of(machine).write_text(f"apiKey: {KEY}\n")
    done = machine.run("setup")
    assert done.returncode == 0 and done.stdout.startswith("configured: ")
    assert file_of(machine).read_text() == f"apiKey: {KEY}\n"
    assert KEY not in done.stdout


@pytest.mark.parametrize(
    ("key", "status"), [(KEY, "configured"), ("<your key>", "needs-config"), ("  ", "needs-config")]
)
def test_a_key_from_elsewhere_counts_unless_it_is_a_placeholder(tmp_path: Path, key: str, status: str):
    assert Machine(tmp_path, GEMINI_API_KEY=key).told("setup", "--json")["status"] == status


def test_a_key_that_others_may_read_is_mentioned(machine: Machine):
    machine.run("setup")
    file_of(machine).write_text(f"apiKey: {KEY}\n")
    file_of(machine).chmod(0o644)
    assert "chmod 600" in machine.told("setup", "--json")["message"]


def test_the_file_belongs_to_the_workspace_and_not_to_a_folder_in_it(machine: Machine):
    (machine.cwd / "pollux.toml").touch()
    below = machine.cwd / "below"
    below.mkdir()
    root, machine.cwd = machine.cwd, below
    machine.run("setup")
    assert (root / "config" / ".gemini.yaml").exists() and not (below / "config").exists()


@pytest.mark.parametrize("content", ["- a\n- list\n", "apiKey: [", "apiKey: 7\n", "model: nonsense\n"])
def test_a_file_that_cannot_be_used_is_an_error_that_says_why(machine: Machine, content: str):
    file_of(machine).parent.mkdir()
    file_of(machine).write_text(content)
    told = machine.told("setup", "--json", code=1)
    assert told["status"] == "error" and ".gemini.yaml" in told["message"]
    assert file_of(machine).read_text() == content


def test_a_folder_that_cannot_be_made_is_an_error(machine: Machine):
    (machine.cwd / "config").touch()
    done = machine.run("setup")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("error: ")


def test_a_link_that_leads_nowhere_is_not_written_through(machine: Machine):
    machine.environ["GEMINI_API_KEY"] = KEY
    file_of(machine).parent.mkdir()
    file_of(machine).symlink_to(machine.home / "elsewhere")
    assert machine.told("setup", "--json")["created"] is False
    assert not (machine.home / "elsewhere").exists()


def test_a_folder_whose_name_is_no_text_is_told_all_the_same(machine: Machine):
    machine.cwd = Path(os.fsdecode(os.fsencode(machine.cwd) + b"/\xff"))
    machine.cwd.mkdir()
    assert machine.told("setup", "--json")["file"] == str(file_of(machine))
    assert "\\udcff" in machine.run("setup").stdout


@pytest.mark.parametrize(("provider", "name"), [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")])
def test_other_providers_get_a_template_in_the_folder_s_environment_file(machine: Machine, provider: str, name: str):
    told = machine.told("setup", provider, "--json")
    assert (told["status"], told["file"], told["created"]) == ("needs-config", str(machine.cwd / ".env"), True)
    assert name in told["message"] and stat.S_IMODE((machine.cwd / ".env").stat().st_mode) == 0o600
    (machine.cwd / ".env").write_text(f"{name}={KEY}\n")
    assert machine.told("setup", provider, "--json")["status"] == "configured"


def test_ollama_needs_nothing(machine: Machine):
    assert machine.told("setup", "ollama", "--json")["status"] == "configured"


@pytest.mark.parametrize(("provider", "line"), [("gemini", "/config/.gemini.yaml"), ("openai", "/.env")])
def test_in_a_repository_the_file_is_added_to_gitignore_once(machine: Machine, provider: str, line: str):
    (machine.cwd / ".git").mkdir()
    (machine.cwd / ".gitignore").write_text("*.pyc")
    for _ in range(2):
        machine.run("setup", provider)
    assert (machine.cwd / ".gitignore").read_text() == f"*.pyc\n{line}\n"


def test_a_folder_without_a_repository_gets_no_gitignore(machine: Machine):
    machine.run("setup")
    assert not (machine.cwd / ".gitignore").exists()


def test_the_key_may_be_spelled_as_errors_spell_it(machine: Machine):
    machine.run("setup")
    file_of(machine).write_text(f"api_key: {KEY}\n")
    assert machine.told("setup", "--json")["status"] == "configured"
