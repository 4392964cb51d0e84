"""What a person accepted is pinned by hash in a file of their own, and counts for nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.runbooks.documents.parts import agent, document

from pollux.core.errors import ValidationError
from pollux.runbooks.trust import Pin, Trust, always_asks


def test_nothing_is_trusted_in_the_beginning(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "home")
    assert not trust.is_trusted("runbook", "d1") and trust.list() == ()
    assert not (tmp_path / "home").exists()


def test_what_was_pinned_is_trusted_for_its_kind_and_content_only(tmp_path: Path) -> None:
    trust = Trust(tmp_path)
    pin = trust.pin("runbook", "d1", what="Deploy", by="ada", at=5.0)
    assert pin == Pin("runbook", "d1", "Deploy", 5.0, "ada", scripts=()) and Trust(tmp_path).list() == (pin,)
    assert trust.is_trusted("runbook", "d1")
    assert not trust.is_trusted("runbook", "d")


def test_accepting_once_more_changes_nothing(tmp_path: Path) -> None:
    trust = Trust(tmp_path)
    first = trust.pin("runbook", "d1", what="gemini --acp", by="ada", at=5.0)
    assert trust.pin("runbook", "d1", what="other", by="bob", at=9.0) == first
    assert trust.list() == (first,)


def test_what_is_unpinned_is_asked_about_again(tmp_path: Path) -> None:
    trust = Trust(tmp_path)
    kept = trust.pin("runbook", "abc1", what="a", by="ada", at=1.0)
    gone = trust.pin("runbook", "abd2", what="b", by="ada", at=2.0)
    assert trust.unpin("") == () == trust.unpin("x")
    assert trust.unpin("abd") == (gone,)
    assert trust.list() == (kept,)


def test_the_file_is_the_persons_own(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "home")
    trust.pin("runbook", "d1", what="x", by="ada")
    file = tmp_path / "home" / "trust.json"
    assert file.stat().st_mode & 0o777 == 0o600 and (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    file.chmod(0o622)
    with pytest.raises(ValidationError, match="written by others"):
        trust.is_trusted("runbook", "d1")


def test_a_link_in_its_place_counts_for_nothing(tmp_path: Path) -> None:
    Trust(tmp_path / "other").pin("runbook", "d1", what="x", by="ada")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "trust.json").symlink_to(tmp_path / "other" / "trust.json")
    with pytest.raises(ValidationError, match="cannot be read"):
        Trust(tmp_path / "home").is_trusted("runbook", "d1")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"pins": 5}', '{"pins": [{"kind": "all", "digest": "d"}]}', "9" * 9999]
)
def test_a_damaged_file_is_refused_and_never_overwritten(tmp_path: Path, content: str) -> None:
    file = tmp_path / "trust.json"
    file.write_text(content)
    file.chmod(0o600)
    for attempt in (lambda: Trust(tmp_path).is_trusted("runbook", "d"), lambda: pin_one(tmp_path)):
        with pytest.raises(ValidationError, match="damaged"):
            attempt()
    assert file.read_text() == content


def pin_one(home: Path) -> bool:
    return bool(Trust(home).pin("runbook", "d", what="x", by="ada"))


def test_several_processes_that_pin_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from pollux.runbooks.trust import Trust\n"
        "for n in range(10): Trust(Path(sys.argv[1])).pin('runbook', f'{sys.argv[2]}-{n}', what='x', by='ada')"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(n)]) for n in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert len(Trust(tmp_path).list()) == 30
    assert sorted(os.listdir(tmp_path)) == ["trust.json", "trust.lock"]
    assert json.loads((tmp_path / "trust.json").read_text())["version"] == 1


# Digests


def test_a_documents_digest_covers_its_content() -> None:
    one, same = document(agent(prompt="a")), document(agent(prompt="a"))
    assert one.digest == same.digest != document(agent(prompt="b")).digest


# Agents with their own questions switched off


@pytest.mark.parametrize(
    "command",
    [
        "claude-agent-acp --dangerously-skip-permissions",
        "x --dangerously-whatever=1",
        "gemini --acp --yolo",
        "gemini --acp -y",
        "npx -y @google/gemini-cli -y",
        "npx @google/gemini-cli --approval-mode=yolo",
        "gemini --approval-mode yolo",
        "copilot --acp --allow-all-tools",
        "codex --ask-for-approval never",
        "codex -a never",
        "codex -c approval_policy=never",
        'codex -c approval_policy="never"',
        "codex --config=sandbox_mode=danger-full-access",
        "claude --permission-mode bypassPermissions",
        "cursor-agent -f acp",
        "aider --yes-always",
    ],
)
def test_a_command_that_switches_its_questions_off_is_always_asked_about(command: str) -> None:
    assert "questions" in always_asks(command.split())


@pytest.mark.parametrize(
    "argv",
    [
        ("gemini", "--yolo=true"),
        ("gemini", "--approvalMode", "yolo"),
        ("gemini", "-ys"),
        ("codex", '--config=approval_policy="never"'),
        ("codex", "-c", 'approval_policy = "never"'),
        ("codex", "-capproval_policy=never"),
        ("codex", "-anever"),
        ("codex", "-sdanger-full-access"),
        ("copilot", "--allow-all-tools=true"),
        ("claude", "--allow-dangerously-skip-permissions"),
        ("other", "--dangerously_skip"),
        ("aider", "--yes"),
        ("uvx", "aider-chat", "--yes"),
        ("uvx", "aider-chat==0.86", "--yes"),
        ("env", "npx", "cursor-agent@latest", "--force"),
        ("npx", "cursor-agent", "--force"),
        ("sh", "-c", "gemini\t--yolo;true"),
        ("sh", "-c", 'gemini "--yolo"'),
        ("sh", "-c", "codex --sandbox danger-full-access exec"),
    ],
)
def test_it_is_found_in_every_form_that_those_programs_take(argv: tuple[str, ...]) -> None:
    assert "questions" in always_asks(argv)


def test_it_is_found_inside_a_shells_argument_too() -> None:
    assert always_asks(["sh", "-c", "exec claude --dangerously-skip-permissions"])
    assert always_asks(["env", "A=b", "gemini", "-y"])


@pytest.mark.parametrize(
    "command",
    [
        "gemini --acp",
        "claude-agent-acp",
        "npx -y @google/gemini-cli --acp",
        "codex-acp -c model=o3",
        "opencode acp",
        "agent -c model=never -s read-only -a untrusted --yes --force -yaml x",
        "",
    ],
)
def test_an_ordinary_command_is_asked_about_once(command: str) -> None:
    assert always_asks(command.split()) == ""
