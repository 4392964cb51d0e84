"""An agent that may do everything rewrites what decides what it may do: its tools do not reach that."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.conftest import Bench
from tests.tools.shell.boxes import require_bubblewrap
from tests.waiting import until

from pollux import files, shell, skill_dir
from pollux.control import HIDDEN_HERE, KEPT_HERE
from pollux.testing import call, reply
from pollux.tools.shell.agent_shell import Runner

STORE = "notes.db"
SKILL = "---\nname: greet\ndescription: Say hello.\n---\nHello.\n"
POLICY = '[[rules]]\ndecision = "allow"\n'

HIDDEN = (
    "notes.db", "notes.db-wal", "notes.db-shm", "notes.db-journal", "notes.db.lock", "notes.db.drivers/x", "home/token",
    "home/audit.key", "home/seal.key", "home/trust.json", "home/trusted.json", "home/audit-heads.jsonl",
    "conf/team.toml", ".env", "sub/.env", "config/.gemini.yaml",
)  # fmt: skip
KEPT = (
    "policy.toml", "conf/other.toml", "pollux.toml", "sub/pollux.toml", "skills/greet/SKILL.md", "skills/greet/run.py",
    "skills/new/SKILL.md", "deploy.atrb", "sub/deploy.runbook.json", ".git/hooks/pre-commit", ".git/config", ".git",
    "sub/.git/config", ".gemini/settings.json", ".codex/config.toml", ".claude/settings.json", ".mcp.json", ".pollux/x",
    "keys.json", "new/heads/more.jsonl", "opencode.json", "sub/.qwen/settings.json", ".aider.conf.yml",
    ".husky/pre-commit", ".githooks/pre-push", "lefthook.yml", ".pre-commit-config.yaml", "tools/hooks/pre-commit",
    ".lefthook.toml", "lefthook.json", "lefthook-local.toml", ".hg/hgrc", "sub/.kiro/settings/mcp.json",
    ".roo/mcp.json", ".windsurf/x", ".junie/mcp/mcp.json", ".trae/mcp.json", ".amp/settings.json",
    ".continue/config.yaml", ".zed/tasks.json", ".vscode/tasks.json", ".vscode/settings.json",
    "sub/.vscode/launch.json",
    ".idea/runConfigurations/x.xml", ".run/Test.run.xml", "my.code-workspace", ".devcontainer/devcontainer.json",
    ".amazonq/x", ".kilocode/mcp.json", ".factory/mcp.json", ".clinerules/hooks/x", ".github/hooks/x.json",
)  # fmt: skip
OIDC = {
    "POLLUX_OIDC_ISSUER": "https://id.example.com",
    "POLLUX_OIDC_AUDIENCE": "pollux",
    "POLLUX_OIDC_JWKS": "keys.json",
    "POLLUX_AUDIT_HEADS_FILE": "new/heads/more.jsonl",
}
SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda name: name,
    "in capitals": str.upper,
    "with a detour": lambda name: f"sub/../{name}",
    "absolute": lambda name: f"{{cwd}}/{name}",
    "with a dot at its end": lambda name: f"{name}.",
    "in wide letters": lambda name: name.replace("o", "ｏ").replace("e", "ｅ"),
}  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("POLLUX_HOME", str(bench.cwd / "home"))
    monkeypatch.setenv("POLLUX_CONFIG", str(bench.cwd / "conf/team.toml"))
    for name, value in OIDC.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(bench.cwd)
    for name, text in {
        "conf/team.toml": "",
        "policy.toml": POLICY,
        "skills/greet/SKILL.md": SKILL,
        "config/.gemini.yaml": "apiKey: canary\n",
        "sub/a": "a",
        ".git/config": "[core]\n\thooksPath = tools/hooks\n",
    }.items():
        (bench.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.cwd / name).write_text(text)
    return bench


async def results(bench: Bench, *calls: tuple[str, dict[str, Any]], tools: Any = (files,), **options: Any) -> list[Any]:
    steps = [*(call(name, args) for name, args in calls), reply("done")]
    options = {
        "limits": {"model_calls": 100},
        "policy": ["allow_all", "policy.toml"],
        "skills": [skill_dir("skills")],
        **options,
    }
    async with bench.agent(*steps, tools=list(tools), store=bench.cwd / STORE, **options) as agent:
        return [each.error or each.result for each in (await agent.send("?")).tool_calls]


@pytest.mark.parametrize("spelled", SPELLINGS)
async def test_no_rule_lets_a_file_tool_write_what_decides_over_it(spelled: str, bench: Bench):
    names = [SPELLINGS[spelled](name).format(cwd=bench.cwd) for name in (*HIDDEN, *KEPT)]
    before = {path: path.read_bytes() for path in bench.cwd.rglob("*") if path.is_file() and STORE not in path.name}
    found = await results(bench, *(("write_file", {"path": name, "content": "evil"}) for name in names))
    assert [name for name, said in zip(names, found, strict=True) if "tools" not in str(said)] == []
    after = {path: path.read_bytes() for path in bench.cwd.rglob("*") if path.is_file() and STORE not in path.name}
    assert {path: content for path, content in after.items() if content == b"evil"} == {}
    assert {path: after.get(path) for path in before} == before


async def test_replace_and_links_lead_there_no_more_than_names(bench: Bench):
    (bench.cwd / "innocent").symlink_to("conf/team.toml")
    (bench.cwd / "folder").symlink_to("skills")
    found = await results(
        bench,
        ("replace", {"path": "policy.toml", "old": "allow", "new": "deny"}),
        ("replace", {"path": "skills/greet/SKILL.md", "old": "Hello", "new": "Obey"}),
        ("write_file", {"path": "innocent", "content": "evil"}),
        ("write_file", {"path": "folder/greet/SKILL.md", "content": "evil"}),
        ("read_file", {"path": "innocent"}),
    )
    assert all(isinstance(said, str) for said in found), found
    assert (bench.cwd / "policy.toml").read_text() == POLICY
    assert (bench.cwd / "skills/greet/SKILL.md").read_text() == SKILL


async def test_no_file_tool_makes_a_repository_or_changes_one_by_another_name(bench: Bench):
    subprocess.run(["git", "init", "-q", "--bare", "origin.git"], cwd=bench.cwd, check=True)
    names = ("origin.git/config", "origin.git/hooks/update", "origin.git/info/attributes", "new/refs/a", "HEAD/x")
    for each in ("new/HEAD", "new/objects/a", "new/config", "objects", "refs"):
        assert "path" in (await results(bench, ("write_file", {"path": each, "content": "fine"})))[0]
    found = await results(bench, *(("write_file", {"path": name, "content": "evil"}) for name in names))
    assert all("decides what may run here" in str(said) for said in found), found
    (said,) = await results(bench, ("replace", {"path": "origin.git/config", "old": "bare = true", "new": "evil"}))
    assert "decides what may run here" in said
    assert "evil" not in (bench.cwd / "origin.git/config").read_text() and not (bench.cwd / "new/refs").exists()


async def test_keys_and_the_store_are_not_read_and_the_rest_is(bench: Bench):
    found = await results(bench, *(("read_file", {"path": name}) for name in HIDDEN))
    assert [name for name, said in zip(HIDDEN, found, strict=True) if "kept from tools" not in str(said)] == []
    readable = await results(
        bench,
        ("read_file", {"path": "policy.toml"}),
        ("read_file", {"path": "skills/greet/SKILL.md"}),
        ("write_file", {"path": "sub/notes.md", "content": "fine"}),
        ("search", {"pattern": "canary", "path": "."}),
        ("glob", {"pattern": "**/*.db*"}),
    )
    assert readable[0] == {"content": POLICY} and readable[1] == {"content": SKILL}
    assert (bench.cwd / "sub/notes.md").read_text() == "fine"
    assert readable[3]["matches"] == []


async def test_a_home_directory_as_the_folder_keeps_its_keys_and_start_files(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(bench.cwd))
    (bench.cwd / ".ssh").mkdir()
    (bench.cwd / ".ssh/id_ed25519").write_text("canary")
    found = await results(
        bench,
        ("read_file", {"path": ".ssh/id_ed25519"}),
        ("write_file", {"path": ".ssh/authorized_keys", "content": "evil"}),
        ("write_file", {"path": ".bashrc", "content": "evil"}),
        ("write_file", {"path": ".config/x/y", "content": "evil"}),
    )
    assert all(isinstance(said, str) for said in found), found
    assert not (bench.cwd / ".bashrc").exists() and not (bench.cwd / ".ssh/authorized_keys").exists()


@pytest.mark.slow
async def test_a_command_in_the_sandbox_reaches_none_of_it(bench: Bench):
    await require_bubblewrap()
    for name in ("pollux.toml", ".git/config", ".git/hooks/pre-commit", ".claude/settings.json", ".env"):
        (bench.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.cwd / name).write_text("# mine")
    places = "policy.toml pollux.toml .git/config .git/hooks/pre-commit .claude/settings.json skills/greet/SKILL.md"
    places += " .env conf/team.toml conf/new.toml home/token"
    places += " notes.db notes.db-wal notes.db-shm notes.db-journal notes.db.lock"
    script = f"""
        for each in {places}; do (echo evil > $each) 2>/dev/null; (echo evil >> $each) 2>/dev/null; done
        for each in {places}; do rm -f $each; mv $each moved; ln -sf /etc/passwd $each; done 2>/dev/null
        for each in .git .claude skills skills/greet conf home; do mv $each gone; done 2>/dev/null
        mkdir -p .git/hooks conf; echo evil > .git/hooks/post-commit; echo evil > conf/more.toml
        cat .env conf/team.toml notes.db notes.db-wal config/.gemini.yaml; echo reached > reached
    """
    before = {path: path.read_bytes() for path in bench.cwd.rglob("*") if path.is_file() and STORE not in path.name}
    found = await results(bench, ("shell", {"command": script}), tools=(shell,), sandbox="required")
    assert "canary" not in str(found) and "mine" not in str(found) and "SQLite" not in str(found), found
    assert (bench.cwd / "reached").read_text() == "reached\n", found
    changed = {path for path in bench.cwd.rglob("*") if path.is_file() and b"evil" in path.read_bytes()}
    assert {path for path in changed if STORE not in path.name} == set(), found
    assert {path: path.read_bytes() for path in before} == before
    # Nothing of the store was touched: the next agent opens it and finds the session.
    assert await results(bench, ("shell", {"command": "true"}), tools=(shell,)) != []
    assert not (bench.cwd / f"{STORE}-journal").exists() or not os.path.getsize(bench.cwd / f"{STORE}-journal")


@pytest.mark.slow
async def test_a_command_in_the_sandbox_makes_none_that_is_missing_and_leaves_nothing_behind(bench: Bench):
    await require_bubblewrap()
    subprocess.run(["git", "init", "-q", "."], cwd=bench.cwd, check=True)
    shutil.rmtree(bench.cwd / ".git/hooks")
    before = {path for path in bench.cwd.rglob("*") if STORE not in path.name}
    places = " ".join(each for each in (*HIDDEN_HERE, *KEPT_HERE) if each != ".git/config")
    script = f"""
        for each in {places}; do rm -rf $each; echo evil > $each; mkdir -p $each; echo evil > $each/settings.json; done
        mv config gone; mv .git/info gone; mkdir -p config; echo evil > config/.gemini.yaml
        git add -A skills sub; git status --short; echo reached > reached
    """
    async with asyncio.TaskGroup() as group:
        running = [
            group.create_task(results(bench, ("shell", {"command": script}), tools=(shell,), sandbox="required"))
            for _ in range(2)
        ]
    said = str([each.result() for each in running])
    assert not any(f" {name}\\n" in said for name in (".env", "pollux.toml", ".mcp.json", ".claude")), said
    assert "adding files failed" not in said, said
    assert (bench.cwd / "reached").exists()
    there = {name for name in (*HIDDEN_HERE, *KEPT_HERE) if (bench.cwd / name).exists()}
    assert there == {name for name in (*HIDDEN_HERE, *KEPT_HERE) if bench.cwd / name in before}
    assert [
        path
        for path in bench.cwd.rglob("*")
        if path.is_file() and b"evil" in path.read_bytes() and path.name[:5] != STORE[:5]
    ] == []


@pytest.mark.slow
async def test_control_files_in_subfolders_are_out_of_reach_of_a_command_too(bench: Bench):
    await require_bubblewrap()
    (bench.cwd / "lib").mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=bench.cwd / "lib", check=True)
    names = ("sub/.env", "sub/pollux.toml", "sub/deploy.atrb", "lib/.git/config", ".git/modules/a/b/config")
    for name in names:
        (bench.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.cwd / name).write_text("# mine")
    script = f"cat sub/.env; for each in {' '.join(names)}; do echo evil >> $each; rm -f $each; done; echo x > sub/fine"
    found = await results(bench, ("shell", {"command": script}), tools=(shell,), sandbox="required")
    assert "mine" not in str(found)
    assert {name: (bench.cwd / name).read_text() for name in names} == dict.fromkeys(names, "# mine")
    assert (bench.cwd / "sub/fine").exists()


FIRES = 'touch "$(git rev-parse --show-toplevel)/fired"; false'


@pytest.mark.slow
@pytest.mark.parametrize("place", ["lib", "node_modules/lib"])
async def test_no_command_has_the_persons_git_status_run_a_program(place: str, bench: Bench):
    await require_bubblewrap()
    subprocess.run(["git", "init", "-q", "."], cwd=bench.cwd, check=True)
    script = f"""
        git init -q {place}; cd {place}; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
        git config core.fsmonitor '{FIRES}'; cd "$OLDPWD"; git add -f {place}
        cp -r .git/config .git/objects .git/refs {place}; git config -f {place}/config core.fsmonitor '{FIRES}'
        echo ../{place} > .git/commondir; echo reached > reached
    """
    found = await results(bench, ("shell", {"command": script}), tools=(shell,), sandbox="required")
    assert (bench.cwd / "reached").exists(), found
    said = subprocess.run(["git", "status", "--short"], cwd=bench.cwd, check=True, capture_output=True, text=True)
    assert "A" in said.stdout and not list(bench.cwd.rglob("fired")), said
    assert f"{place}/.git/config decides" in str(found) and ".git/commondir decides" in str(found)


@pytest.mark.slow
async def test_what_a_command_makes_in_subfolders_is_set_aside_and_it_is_told(bench: Bench):
    await require_bubblewrap()
    names = ("sub/.env", "sub/.mcp.json", "sub/.claude/settings.json", "more/pollux.toml", "new.atrb", "sub/SKILL.md")
    script = f"for each in {' '.join(names)}; do mkdir -p $(dirname $each); echo evil > $each; done; false"
    found = await results(bench, ("shell", {"command": script}), tools=(shell,), sandbox="required")
    assert {name for name in names if (bench.cwd / name).exists()} == set()
    assert found[0]["exit_code"] == 1 and found[0]["stderr"].count("set aside") == len(names)


@pytest.mark.slow
async def test_many_folders_uncover_nothing(bench: Bench):
    await require_bubblewrap()
    for number in range(2_100):
        (bench.cwd / f"many/{number}").mkdir(parents=True)
    (bench.cwd / "many/2099/a/.env").parent.mkdir()
    (bench.cwd / "many/2099/a/.env").write_text("canary")
    command = {"command": "cat many/2099/a/.env; echo evil > many/2099/a/.env; echo evil > many/7/.env"}
    found = await results(bench, ("shell", command), tools=(shell,), sandbox="required")
    assert "canary" not in str(found) and (bench.cwd / "many/2099/a/.env").read_text() == "canary"
    assert not (bench.cwd / "many/7/.env").exists()


@pytest.mark.slow
async def test_more_control_files_than_can_be_covered_are_a_refusal_that_says_so(bench: Bench):
    await require_bubblewrap()
    for number in range(501):
        (bench.cwd / f"many/{number}").mkdir(parents=True)
        (bench.cwd / f"many/{number}/.env").write_text("canary")
    command = {"command": "cat many/*/.env; echo reached > reached"}
    (said,) = await results(bench, ("shell", command), tools=(shell,), sandbox="required")
    assert said["exit_code"] == 126 and "Work in one of its folders" in said["error"]
    assert not (bench.cwd / "reached").exists()


@pytest.mark.slow
async def test_a_command_that_is_stopped_leaves_no_control_file_either(bench: Bench):
    await require_bubblewrap()
    runner = Runner(bench.cwd, sandbox="required", reserved=KEPT_HERE)
    running = asyncio.create_task(runner.run("echo evil > sub/.env; echo reached > reached; sleep 1000"))
    await until(lambda: (bench.cwd / "reached").exists())
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled() and not (bench.cwd / "sub/.env").exists()


@pytest.mark.slow
async def test_git_works_in_subfolders_of_a_sandbox_as_elsewhere(bench: Bench):
    await require_bubblewrap()
    subprocess.run(["git", "init", "-q", "."], cwd=bench.cwd, check=True)
    commands = (
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        "git worktree add -q tree; git init -q sub/new; git -C sub/new config user.name Ada",
        "git -C tree status; git -C sub/new -c user.email=a@b commit -q --allow-empty -m x; git -C sub/new log",
    )
    found = await results(
        bench, *(("shell", {"command": each}) for each in commands), tools=(shell,), sandbox="required"
    )
    assert all(each["exit_code"] == 0 and "set aside" not in each["stderr"] for each in found), found
    assert "Author: Ada" in found[2]["stdout"]


THREE = """
    git config user.name a; git config user.email a@b
    for each in 1 2 3; do echo $each > file$each; git add file$each; git commit -qm $each; done
"""


@pytest.mark.slow
async def test_no_command_has_the_persons_rebase_run_a_program(bench: Bench):
    await require_bubblewrap()
    subprocess.run(["git", "init", "-q", "."], cwd=bench.cwd, check=True)
    subprocess.run(["sh", "-ec", THREE], cwd=bench.cwd, check=True)
    rebase = ["git", "-c", "sequence.editor=sed -i 's/^pick/edit/'", "rebase", "-q", "-i", "HEAD~2"]
    subprocess.run(rebase, cwd=bench.cwd, check=True)
    script = f"""
        echo 'exec {FIRES}' >> .git/rebase-merge/git-rebase-todo; echo /evil > .git/rebase-merge/strategy
        mkdir git-merge-; printf '#!/bin/sh\\n{FIRES}' > git-merge-/evil; chmod +x git-merge-/evil
        GIT_EDITOR=true git commit -q --amend -m other
    """
    found = await results(bench, ("shell", {"command": script}), tools=(shell,), sandbox="required")
    subprocess.run(["git", "rebase", "--continue"], cwd=bench.cwd, check=False, capture_output=True)
    assert str(found).count("decides what may run here") == 2 and not list(bench.cwd.rglob("fired")), found


@pytest.mark.slow
async def test_an_agent_rebases_over_several_commands(bench: Bench):
    await require_bubblewrap()
    subprocess.run(["git", "init", "-q", "."], cwd=bench.cwd, check=True)
    subprocess.run(["sh", "-ec", THREE], cwd=bench.cwd, check=True)
    commands = (
        "git -c sequence.editor=\"sed -i 's/^pick/edit/'\" rebase -q -i -s ort HEAD~2",
        "git commit -q --amend -m new; GIT_EDITOR=true git rebase --continue; ls .git/rebase-merge",
        "sed -i s/edit/pick/ .git/rebase-merge/git-rebase-todo; GIT_EDITOR=true git rebase --continue; git log",
    )
    found = await results(
        bench, *(("shell", {"command": each}) for each in commands), tools=(shell,), sandbox="required"
    )
    assert all(each["exit_code"] == 0 and "set aside" not in each["stderr"] for each in found), found
    assert "new" in found[2]["stdout"] and not (bench.cwd / ".git/rebase-merge").exists()
