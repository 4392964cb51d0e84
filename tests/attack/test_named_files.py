"""What a setting, an option or git's configuration names is written by no tool of an agent, missing or not."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.conftest import Bench
from tests.tools.shell.boxes import require_bubblewrap
from tests.waiting import HANG_SECONDS

from pollux import files, shell
from pollux.cli.answer import CliAgent
from pollux.config import read_settings
from pollux.config.table import FILES, SETTINGS
from pollux.control import control_of
from pollux.core.errors import PolicyError
from pollux.runbooks.agents.known import AGENTS
from pollux.testing import call, reply
from pollux.tools.files.guard import AGENTS as THEIR_FILES

OIDC = {"POLLUX_OIDC_ISSUER": "https://id.example.com", "POLLUX_OIDC_AUDIENCE": "pollux"}
TEXTS = {"system_prompt", "host", "oidc_audience", "google_client_id"}
"""Settings of kind `text`, of which none is the name of a file."""

READ_BY = {
    "gemini": ".gemini", "gemini-cli": ".gemini", "@google/gemini-cli": ".gemini",
    **dict.fromkeys((each for each in AGENTS if "claude" in each), ".claude"),
    **dict.fromkeys((each for each in AGENTS if "codex" in each), ".codex"),
    **dict.fromkeys(("opencode", "opencode-ai"), "opencode.json"),
    **dict.fromkeys((each for each in AGENTS if "qwen" in each), ".qwen"),
    "copilot": ".copilot", "@github/copilot": ".copilot", "cursor-agent": ".cursor", "goose": ".goose",
    **dict.fromkeys(("aider", "aider-chat"), ".aider.conf.yml"),
    **dict.fromkeys(("crush", "@charmland/crush"), "crush.json"),
    **dict.fromkeys(("auggie", "@augmentcode/auggie"), ".augment"),
}  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("POLLUX_HOME", str(tmp_path / "person/pollux"))
    monkeypatch.chdir(bench.cwd)
    subprocess.run(["git", "init", "-q", "."], check=True)
    return bench


async def result(bench: Bench, tool: str, tools: Any, **args: Any) -> Any:
    steps = [call(tool, args), reply("done")]
    sandbox = "required" if tools is shell else "off"
    async with bench.agent(*steps, tools=[tools], policy="allow_all", sandbox=sandbox) as agent:
        (done,) = (await agent.send("?")).tool_calls
        return done.error or done.result


async def is_written(bench: Bench, name: str) -> bool:
    """Whether the file tool writes this file. What it says otherwise is that the file decides."""
    said = await result(bench, "write_file", files, path=name, content="evil")
    is_refused = "decides what may run here" in str(said) or "kept from tools" in str(said)
    assert is_refused != (bench.cwd / name).exists(), said
    return not is_refused


@pytest.mark.parametrize("name", [each.name for each in SETTINGS if each.kind in ("path", "place", "store")])
def test_every_setting_that_names_a_file_keeps_it_from_tools(name: str, tmp_path: Path):
    setting = next(each for each in SETTINGS if each.name == name)
    (tmp_path / "named").mkdir() if name == "home" else None
    (tmp_path / "named").touch() if name == "config" else None
    environ = {"HOME": "/nowhere", **OIDC, setting.env[0]: str(tmp_path / "named")}
    with pytest.raises(PolicyError):
        control_of(read_settings(environ, cwd=tmp_path), tmp_path).root_at(tmp_path).write("named", b"evil")


def test_no_other_setting_names_a_file():
    assert {each.name for each in SETTINGS if each.kind == "text"} == TEXTS
    assert set(FILES) == {each.name for each in SETTINGS if each.kind in ("path", "place")} - {"home"}


def test_what_each_known_agent_reads_in_its_folder_is_kept():
    assert READ_BY.keys() == AGENTS.keys()
    assert set(READ_BY.values()) <= set(THEIR_FILES)


def test_the_keys_of_an_issuer_may_be_an_address(tmp_path: Path):
    environ = {"HOME": "/nowhere", **OIDC, "POLLUX_OIDC_JWKS": "https://id.example.com/keys"}
    settings = read_settings(environ, cwd=tmp_path)
    assert settings.oidc_jwks == environ["POLLUX_OIDC_JWKS"] and control_of(settings, tmp_path).missing == (
        settings.config,
    )


def test_the_file_of_a_system_prompt_is_written_by_no_tool(bench: Bench):
    settings = read_settings(os.environ, cwd=bench.cwd)
    agent = CliAgent("", settings=settings, obeyed=Path("prompt.md"), cwd=bench.cwd, model="gemini-x")
    with pytest.raises(PolicyError):
        vars(agent)["_setup"].workspace.root.write("prompt.md", b"evil")


@pytest.mark.parametrize("name", ["bin/agent", "agent.py", "missing/tool"])
async def test_the_program_of_a_configured_agent_is_written_by_no_tool(name: str, bench: Bench):
    (bench.cwd / "bin").mkdir()
    for each in ("bin/agent", "agent.py", "other.py"):
        (bench.cwd / each).write_text("mine")
    config = bench.cwd.parent / "person.toml"
    config.write_text("""
        [runbooks.agents]
        one = {command = "bin/agent", args = ["--acp"]}
        two = {command = "python3", args = ["-u", "agent.py", "--tool=missing/tool", "https://example.com/x"]}
        """)
    settings = read_settings({**os.environ, "POLLUX_CONFIG": str(config)}, cwd=bench.cwd)
    control = control_of(settings, bench.cwd)
    with pytest.raises(PolicyError):
        control.root_at(bench.cwd).write(name, b"evil")
    control.root_at(bench.cwd).write("other.py", b"new")
    await require_bubblewrap()
    await control.runner_at(bench.cwd, "required").run(f"mkdir -p missing; echo evil > {name}; touch reached")
    assert (bench.cwd / "reached").exists()
    assert not (bench.cwd / name).is_file() or (bench.cwd / name).read_text() == "mine"


async def test_a_link_to_the_program_of_a_configured_agent_is_replaced_by_no_tool(bench: Bench):
    """As in an environment of Python, whose interpreter is elsewhere."""
    link = bench.cwd / "env/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to("/bin/true")
    config = bench.cwd.parent / "person.toml"
    config.write_text('[runbooks.agents]\none = {command = "env/bin/python"}')
    settings = read_settings({**os.environ, "POLLUX_CONFIG": str(config)}, cwd=bench.cwd)
    control = control_of(settings, bench.cwd)
    with pytest.raises(PolicyError, match=r"decides what may run here|kept from tools"):
        control.root_at(bench.cwd).write("env/bin/python", b"evil")
    await require_bubblewrap()
    said = await control.runner_at(bench.cwd, "required").run(
        "ln -sf evil env/bin/python; while :; do :; done", timeout=HANG_SECONDS
    )
    assert said.reason == "stopped: env/bin/python was replaced while the command was at work"


HOOKED = {
    "set by the person": ("git config core.hooksPath tools/hooks", "tools/hooks/pre-commit"),
    "in capitals, quoted": ("""printf '[CORE]HOOKSPATH="tools/my hooks" # mine' >> .git/config""", "tools/my hooks/x"),
    "behind a comment that seems to go on": (
        r"""printf '[core]\n# mine \\\nhooksPath = tools/hooks\n' >> .git/config""",
        "tools/hooks/x",
    ),
    "behind a value that seems to go on": (
        r"""printf '[user]\nname = x\\\\\n[core]hooksPath = tools/hooks\n' >> .git/config""",
        "tools/hooks/x",
    ),
    "over two lines": (r"""printf '[core]\nhooksPath = tools/\\\nhooks\n' >> .git/config""", "tools/hooks/x"),
    "behind a return": (r"""printf '[core]\n\r hooksPath = tools/hooks\n' >> .git/config""", "tools/hooks/x"),
    "in a file that says its encoding": (
        r"""git config include.path ../shared; printf '\xef\xbb\xbf[core]hooksPath = tools/hooks\n' > shared""",
        "tools/hooks/x",
    ),
    "by an absolute path": ('git config core.hooksPath "$PWD/tools/hooks"', "tools/hooks/pre-commit"),
    "in an included file": (
        "git config include.path ../shared; git config -f shared core.hooksPath tools/hooks",
        "tools/hooks/pre-commit",
    ),
    "in a file included under a condition": (
        'git config includeIf."onbranch:main".path ../shared; git config -f shared core.hooksPath tools/hooks',
        "tools/hooks/pre-commit",
    ),
    "of a worktree": (
        "git config extensions.worktreeConfig true; git config --worktree core.hooksPath tools/hooks",
        "tools/hooks/pre-commit",
    ),
    "for all of the person's repositories": (
        "mkdir -p ~; git config --global core.hooksPath tools/hooks",
        "tools/hooks/pre-commit",
    ),
    "of a repository in a subfolder": (
        "git init -q sub; git -C sub config core.hooksPath tools/hooks",
        "sub/tools/hooks/pre-commit",
    ),
    "of a linked worktree": (
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git worktree add -q tree; "
        "git config core.hooksPath tools/hooks",
        "tree/tools/hooks/pre-commit",
    ),
    "in the folder itself": ("git config core.hooksPath .", "pre-commit"),
    "a file that configuration includes": ("git config include.path ../shared", "shared"),
    "in a subfolder itself": ("git init -q sub; git -C sub config core.hooksPath .", "sub/pre-commit"),
    "by a link": ("mkdir tools; ln -s tools here; git config core.hooksPath here/hooks", "tools/hooks/pre-commit"),
}


@pytest.mark.parametrize("how", HOOKED)
async def test_hooks_elsewhere_are_not_written(how: str, bench: Bench):
    setup, name = HOOKED[how]
    (bench.cwd / "sub").mkdir(exist_ok=True)
    subprocess.run(["bash", "-ec", setup], check=True)
    read = subprocess.run(["git", "config", "core.hooksPath"], capture_output=True, text=True, check=False).stdout
    assert not name.startswith("tools/hooks/x") or read == "tools/hooks\n"
    assert await is_written(bench, "tree/other" if name.startswith("tree/") else "tools/other")
    assert await is_written(bench, "sub/other")
    assert not await is_written(bench, name)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOOKED)
async def test_no_command_in_the_sandbox_writes_a_hook_elsewhere_there_or_missing(how: str, bench: Bench):
    await require_bubblewrap()
    setup, name = HOOKED[how]
    (bench.cwd / "sub").mkdir(exist_ok=True)
    subprocess.run(["bash", "-ec", setup], check=True)
    command = f"""mkdir -p "$(dirname '{name}')"; echo evil > '{name}'; mkdir -p tools; echo fine > tools/other"""
    said = await result(bench, "shell", shell, command=command)
    assert not (bench.cwd / name).exists() and (bench.cwd / "tools/other").exists(), said
    (bench.cwd / name).parent.mkdir(parents=True, exist_ok=True)
    (bench.cwd / name).write_text("# mine")
    await result(bench, "shell", shell, command=command)
    assert (bench.cwd / name).read_text() == "# mine"


@pytest.mark.slow
async def test_the_persons_next_commit_runs_nothing_that_a_command_wrote(bench: Bench):
    await require_bubblewrap()
    subprocess.run(["git", "config", "core.hooksPath", ".husky"], check=True)
    script = "mkdir -p .husky; printf '#!/bin/sh\\ntouch fired\\n' > .husky/pre-commit; chmod +x .husky/pre-commit"
    said = await result(bench, "shell", shell, command=script)
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]
    subprocess.run(commit, check=True)
    assert not (bench.cwd / "fired").exists() and ".husky decides" in str(said)


@pytest.mark.slow
async def test_a_missing_file_that_a_setting_names_is_made_by_no_command(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    await require_bubblewrap()
    places = {"POLLUX_OIDC_JWKS": "keys.json", "POLLUX_AUDIT_HEADS_FILE": "far/away/heads.jsonl"}
    for name, value in (OIDC | places).items():
        monkeypatch.setenv(name, value)
    script = "rm -rf keys.json far; mv far gone; mkdir -p far/away\n"
    script += "echo evil > keys.json; echo evil > far/away/heads.jsonl"
    said = await result(bench, "shell", shell, command=script)
    assert not any((bench.cwd / each).exists() for each in (*places.values(), "far")), said
