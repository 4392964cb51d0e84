"""What an accepted runbook starts, and what its agents ask: the same program, for the same document alone."""

import json
import os
import shlex
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.lab import ADA, RunbookLab, agent, block, document, ended, script, waiting
from tests.runbooks.test_foreign_agents import EVERYTHING, WORKER, answer, worker
from tests.waiting import until

from pollux.core.policy import Grant
from pollux.core.run import Run
from pollux.runbooks.agents.known import AGENTS, unknown_settings
from pollux.runbooks.agents.program import started_by
from pollux.runbooks.located import differences
from pollux.runbooks.opening import Opening
from pollux.runbooks.settings import AgentEntry
from pollux.tools.shell.steering import steers

SOURCE: dict[str, Any] = {"type": "acp", "command": "myagent", "args": [], "env": {}}


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[RunbookLab]:
    lab = RunbookLab(tmp_path)
    yield lab
    await lab.close()


def program(folder: Path, name: str = "myagent", *, note: str = "") -> Path:
    """A program that is the worker, and that leaves a mark where it starts."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n# {note}\ntouch started-{note or folder.name}\nexec {shlex.join(WORKER)}\n")
    path.chmod(0o755)
    return path


def on_path(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"]))


async def test_another_program_on_the_path_is_asked_about_and_named(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program(tmp_path / "good")
    program(tmp_path / "evil")
    on_path(monkeypatch, tmp_path / "good")
    engine, runbooks = await lab.engine()
    source = document(agent("work", "say hello", source=SOURCE))
    lab.accept(source)
    over = await ended(engine, await lab.start(runbooks, source, trusted=False))
    assert over.status == "completed" and (lab.work / "started-good").exists()
    on_path(monkeypatch, tmp_path / "evil", tmp_path / "good")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    question = run.approvals[0]
    assert "not the one that was accepted" in question.reason and question.scopes == ()
    assert f"myagent is {tmp_path}/evil/myagent; accepted was {tmp_path}/good/myagent" in question.preview
    assert not (lab.work / "started-evil").exists()


@pytest.mark.parametrize(
    "argv",
    [
        ("env", "myagent"),
        ("env", "-S", "myagent --flag"),
        ("nice", "-n", "1", "myagent"),
        ("sh", "-c", "exec myagent"),
        ("sh", "-c", 'cd /;"myagent"&&true'),
        ("env", "sh", "-c", "PLACE=`myagent`"),
        ("timeout", "--signal=9", "5", "nice", "myagent"),
    ],
    ids=" ".join,
)
def test_a_program_behind_a_launcher_is_pinned_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
):
    accepted, other = program(tmp_path / "accepted"), program(tmp_path / "other")
    on_path(monkeypatch, tmp_path / "accepted")
    pinned = started_by(argv, env={}, directory=str(tmp_path), places=(str(tmp_path / "none"),))
    assert ("myagent", str(accepted)) in pinned and not differences(pinned, pinned)
    on_path(monkeypatch, tmp_path / "other", tmp_path / "accepted")
    found = started_by(argv, env={}, directory=str(tmp_path), places=(str(tmp_path / "none"),))
    assert differences(found, pinned) == [f"myagent is {other}; accepted was {accepted}"]


async def test_a_program_that_changes_between_the_question_and_the_answer_is_not_started(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program(tmp_path / "good")
    program(tmp_path / "evil")
    on_path(monkeypatch, tmp_path / "good")
    engine, runbooks = await lab.engine()
    run = await waiting(
        engine, (await lab.start(runbooks, document(agent("work", "say x", source=SOURCE)), trusted=False)).id
    )
    on_path(monkeypatch, tmp_path / "evil")
    run = await ended(engine, await engine.resolve(run.approvals[0].id, "approved", by="ada"))
    assert run.ending is not None and "its program changed" in run.ending.message
    assert not list(lab.work.glob("started-*"))


@pytest.mark.parametrize(
    ("command", "args"), [("./agent", []), ("sh", ["agent"]), ("sh", ["-c", ". ./agent", "./agent"])]
)
async def test_a_file_beside_the_document_that_changes_is_asked_about(lab: RunbookLab, command: str, args: list[str]):
    program(lab.work, "agent", note="one")
    engine, runbooks = await lab.engine()
    source = document(agent("work", "say hello", source={**SOURCE, "command": command, "args": args}))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    program(lab.work, "agent", note="two")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "agent (sha256 " in run.approvals[0].preview and "accepted was" in run.approvals[0].preview
    assert not (lab.work / "started-two").exists()


async def test_another_interpreter_of_the_same_script_is_asked_about(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    script = program(tmp_path / "good")
    script.write_text(script.read_text().replace("#!/bin/sh", "#!/usr/bin/env myshell"))
    for name in ("shells", "evil"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "myshell").symlink_to("/bin/sh" if name == "shells" else "/bin/bash")
    on_path(monkeypatch, tmp_path / "shells", tmp_path / "good")
    engine, runbooks = await lab.engine()
    source = document(agent("work", "say hello", source=SOURCE))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    on_path(monkeypatch, tmp_path / "evil", tmp_path / "good")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "myshell is " in run.approvals[0].preview


async def test_the_same_text_in_another_folder_is_another_document(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = document(worker("work", "say hello"))
    lab.accept(source)
    clone = lab.path / "clone"
    clone.mkdir()
    opening = Opening(source, "json", str(clone), path=str(clone / "a.runbook.json"), is_trusted=True)
    run = await waiting(engine, (await runbooks.start(opening, user=ADA)).id)
    assert run.open[0].tool == "runbook_acp" and run.document is not None and not run.document.is_trusted


# Programs of scripts.


def tool(folder: Path, name: str = "mytool") -> Path:
    """A program that leaves a mark where it runs."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\ntouch ran-{folder.name}\n")
    path.chmod(0o755)
    return path


SCRIPTS = (
    "mytool < /dev/null",
    "true && mytool | cat",
    "env A=1 nice -n 1 mytool",
    "sh -c 'exec mytool'",
    "eval mytool",
    "run=mytool; $run",
    'go() { "mytool"; }; go',
    "echo $(mytool)",
    "for each in 1; do mytool; done",
    "echo mytool | sh",
    "python3 -c 'import os; os.system(\"mytool\")'",
)


@pytest.mark.parametrize("code", SCRIPTS)
@pytest.mark.parametrize("kind", ["script", "terminal"])
async def test_another_program_of_a_trusted_script_is_asked_about_and_named(
    kind: str, code: str, lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for folder in ("good", "evil"):
        tool(tmp_path / folder)
    on_path(monkeypatch, tmp_path / "good")
    engine, runbooks = await lab.engine()
    source = document(block(kind, "run", code=code, **({"interpreter": "bash"} if kind == "script" else {})))
    lab.accept(source)
    over = await ended(engine, await lab.start(runbooks, source, trusted=False))
    assert over.status == "completed" and (lab.work / "ran-good").exists()
    on_path(monkeypatch, tmp_path / "evil", tmp_path / "good")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    question = run.approvals[0]
    assert "not the one that was accepted" in question.reason and question.scopes == ()
    assert f"mytool is {tmp_path}/evil/mytool; accepted was {tmp_path}/good/mytool" in question.preview
    assert not (lab.work / "ran-evil").exists()


CHANGED = (
    ("./mytool", "mytool"),
    ("sh mytool", "mytool"),
    ("bash -o pipefail mytool", "mytool"),
    ("bash <<'EOF'\n./mytool\nEOF", "mytool"),
    ("$HOME/work/mytool", "mytool"),
    (". ./mytool", "mytool"),
    ("cd inner; ./mytool", "inner/mytool"),
    ("cd inner && python3 mytool", "inner/mytool"),
    ('export PATH="$PWD/inner:$PATH"; mytool', "inner/mytool"),
    ("PATH=./inner:$PATH mytool", "inner/mytool"),
)


@pytest.mark.parametrize(("code", "changed"), CHANGED)
async def test_a_changed_file_of_a_trusted_script_is_asked_about(
    code: str, changed: str, lab: RunbookLab, monkeypatch: pytest.MonkeyPatch
):
    for folder in (lab.work, lab.work / "inner"):
        tool(folder).write_text("#!/bin/true\n")
    engine, runbooks = await lab.engine()
    source = document(script("run", code))
    monkeypatch.setenv("HOME", str(lab.path))
    lab.accept(source)
    assert (await ended(engine, await lab.start(runbooks, source, trusted=False))).status == "completed"
    (lab.work / changed).write_text("#!/bin/true\n# evil")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "(sha256 " in run.approvals[0].preview and "accepted was" in run.approvals[0].preview


async def test_another_interpreter_of_a_script_is_asked_about(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    on_path(monkeypatch)
    engine, runbooks = await lab.engine()
    source = document(script("run", "true"))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    tool(tmp_path / "evil", "bash")
    on_path(monkeypatch, tmp_path / "evil")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert f"bash is {tmp_path}/evil/bash; accepted was a program of the system" in run.approvals[0].preview


async def test_a_program_of_a_script_that_comes_up_where_there_was_none_is_asked_about(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    on_path(monkeypatch, tmp_path / "new")
    engine, runbooks = await lab.engine()
    source = document(script("run", "mytool || true"))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    tool(tmp_path / "new")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "accepted was nothing of that name" in run.approvals[0].preview


@pytest.mark.parametrize("interpreter", ["bash", "python3"])
async def test_a_script_that_makes_up_what_it_runs_asks_about_another_place_of_the_path(
    interpreter: str, lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    codes = {"bash": "$(echo my)tool || true", "python3": "import os; os.system('my' + 'tool')"}
    on_path(monkeypatch, tmp_path / "good")
    engine, runbooks = await lab.engine()
    source = document(block("script", "run", interpreter=interpreter, code=codes[interpreter]))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    # Fewer places, and those in another order, lead to nothing that nobody accepted.
    on_path(monkeypatch)
    assert (await ended(engine, await lab.start(runbooks, source, trusted=False))).status == "completed"
    tool(tmp_path / "evil")
    on_path(monkeypatch, tmp_path / "evil", tmp_path / "good")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert f"PATH is {tmp_path}/evil" in run.approvals[0].preview and not (lab.work / "ran-evil").exists()


async def test_programs_of_the_system_and_words_that_are_none_are_not_asked_about(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tool(tmp_path / "own")
    on_path(monkeypatch)
    engine, runbooks = await lab.engine()
    source = document(script("run", "echo {{ var.word }}; ls > /dev/null\n# mytool"))
    lab.accept(source)
    # A variable that names a program is text here, and what the system brings is the system's on every PATH.
    monkeypatch.setenv("PATH", os.pathsep.join(["/bin", "/usr/bin", str(tmp_path / "own")]))
    run = await lab.start(runbooks, source, trusted=False, variables={"word": "mytool cat"})
    assert (await ended(engine, run)).status == "completed"


async def test_a_script_that_is_too_long_to_be_read_runs_until_a_word_of_it_means_another_program(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for folder in ("good", "evil"):
        tool(tmp_path / folder)
    on_path(monkeypatch, tmp_path / "good")
    engine, runbooks = await lab.engine()
    source = document(script("run", "true;" * 1_001 + "mytool"))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    on_path(monkeypatch, tmp_path / "evil", tmp_path / "good")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert f"mytool is {tmp_path}/evil/mytool" in run.approvals[0].preview


async def test_a_program_that_changes_after_the_decision_is_not_run(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tool(tmp_path / "good")
    tool(tmp_path / "evil")
    on_path(monkeypatch, tmp_path / "good")
    engine, runbooks = await lab.engine()
    run = await waiting(engine, (await lab.start(runbooks, document(script("run", "mytool")), trusted=False)).id)
    on_path(monkeypatch, tmp_path / "evil")
    run = await ended(engine, await engine.resolve(run.approvals[0].id, "approved", by="ada"))
    assert run.ending is not None and "a program changed after the decision" in run.ending.message
    assert not list(lab.work.glob("ran-*"))


async def test_what_was_accepted_before_scripts_were_pinned_asks_for_what_is_not_the_systems(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tool(tmp_path / "good")
    on_path(monkeypatch, tmp_path / "good")
    engine, runbooks = await lab.engine()
    plain, other = document(script("run", "true; ls")), document(script("run", "mytool"))
    for source in (plain, other):
        lab.accept(source)
    file = lab.home / "trust.json"
    told = json.loads(file.read_text())
    for pin in told["pins"]:
        del pin["scripts"]
    file.write_text(json.dumps(told))
    assert (await ended(engine, await lab.start(runbooks, plain, trusted=False))).status == "completed"
    run = await waiting(engine, (await lab.start(runbooks, other, trusted=False)).id)
    assert "accepted was nothing of that name" in run.approvals[0].preview
    lab.accept(other)
    run = await ended(engine, await lab.start(runbooks, other, trusted=False))
    assert run.status == "completed" and (lab.work / "ran-good").exists()


async def test_a_variable_that_the_document_sets_decides_which_program_is_pinned(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tool(lab.work / "inner")
    on_path(monkeypatch)
    engine, runbooks = await lab.engine()
    source = document(block("env", "PATH", value=f"{lab.work}/inner:/usr/bin:/bin"), script("run", "mytool"))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    assert (lab.work / "ran-inner").exists()
    tool(lab.work / "inner").write_text("#!/bin/sh\ntouch ran-evil\n")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "(sha256 " in run.approvals[0].preview and not (lab.work / "ran-evil").exists()


# Switches that nobody listed.


@pytest.mark.parametrize(
    ("command", "env"),
    [
        ("claude --allowed-tools Bash", {}),
        ("claude-agent-acp --allowedTools=Bash(*)", {}),
        ("claude --settings {}", {}),
        ("claude --mcp-config x.json", {}),
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}),
        ("claude", {"NODE_OPTIONS": "--require=/tmp/x.js"}),
        ("claude", {"ANTHROPIC_BASE_URL": "http://evil.example"}),
        ("opencode acp", {"OPENCODE_PERMISSION": '{"*":"allow"}'}),
        ("opencode acp", {"OPENCODE_CONFIG_CONTENT": "{}"}),
        ("opencode acp", {"OPENCODE_CONFIG": "/tmp/x"}),
        ("opencode acp --agent build", {}),
        ("gemini --acp --allowed-tools run_shell_command", {}),
        ("gemini --acp --policy x", {}),
        ("gemini --acp --model --yolo", {}),
        ("gemini --acp", {"GEMINI_CLI_TRUST_WORKSPACE": "true"}),
        ("gemini --acp", {"HOME": "/tmp/evil"}),
        ("gemini --acp", {"path": "/tmp/evil"}),
        ("codex-acp -c approvals=off", {}),
        ("codex-acp -c model_provider=mine", {}),
        ("codex-acp --config=shell_environment_policy.inherit=all", {}),
        ("codex-acp", {"CODEX_HOME": "/tmp/evil"}),
        ("qwen --acp --auto", {}),
        ("cursor-agent --anything acp", {}),
        ("npx -y @google/gemini-cli@latest --acp --include-directories /", {}),
        ("npx --node-options=--require=/tmp/x @google/gemini-cli --acp", {}),
        ("npm exec @zed-industries/claude-code-acp -- --add-dir /", {}),
        ("env GEMINI_SYSTEM_MD=x gemini --acp", {}),
        ("sh -c 'exec gemini --acp'", {}),
        ("/opt/tools/gemini --acp --whatever", {}),
        ("env npx @google/gemini-cli@0.1.0 --allowed-tools x", {}),
        ("sh -c 'npx @google/gemini-cli@latest --allowed-tools run_shell_command'", {}),
        ("bun x opencode-ai@1.0 acp", {"OPENCODE_PERMISSION": '{"*":"allow"}'}),
        ("uvx aider-chat --yes", {}),
        ("uvx aider-chat==0.86 --yes", {}),
        ("pipx run aider-chat[browser] --yes", {}),
        ("uv tool run --from aider-chat aider --yes", {}),
        ("node ./node_modules/@google/gemini-cli/dist/index.js --yolo", {}),
        ("deno run npm:@google/gemini-cli@1 --acp --policy x", {}),
    ],
)
def test_what_a_known_agent_is_given_beyond_its_table_is_found(command: str, env: dict[str, str]):
    assert unknown_settings(shlex.split(command), env)


@pytest.mark.parametrize(
    ("command", "env"),
    [
        ("gemini --acp", {"NO_BROWSER": "1", "GEMINI_API_KEY": "k", "LC_ALL": "C"}),
        ("gemini --experimental-acp -m gemini-3.8-flash", {}),
        ("npx -y @google/gemini-cli@0.61 --acp --model=gemini-3.8-flash", {}),
        ("npm exec @zed-industries/claude-code-acp", {"ANTHROPIC_API_KEY": "k"}),
        ("claude-agent-acp", {}),
        ("codex-acp -c model=o3 -c model_reasoning_effort=high", {}),
        ("opencode acp", {}),
        ("bun x opencode-ai@1.0 acp", {}),
        ("python agent.py --whatever", {"ANY": "1"}),
        ("", {}),
    ],
)
def test_what_is_known_to_be_harmless_is_not_asked_about(command: str, env: dict[str, str]):
    assert unknown_settings(shlex.split(command), env) == []


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_no_known_agent_takes_an_option_or_a_variable_that_nobody_listed(name: str):
    argv = ["npx", "-y", name]
    assert unknown_settings([*argv, "--anything-else"], {}) and unknown_settings(argv, {"ANYTHING_ELSE": "1"})


def test_what_the_persons_own_configuration_gives_an_agent_is_theirs():
    argv = ["gemini", "--acp", "--policy", "mine.toml"]
    assert unknown_settings(argv, {}, own=4) == [] and unknown_settings([*argv, "--more"], {}, own=4) == ["--more"]


async def test_a_trusted_document_that_gives_a_known_agent_more_is_asked_about_with_words(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program(tmp_path / "bin", "opencode")
    on_path(monkeypatch, tmp_path / "bin")
    engine, runbooks = await lab.engine()
    source = {"type": "acp", "command": "opencode", "args": ["acp"], "env": {"OPENCODE_PERMISSION": '{"*":"allow"}'}}
    run = await waiting(engine, (await lab.start(runbooks, document(agent("work", "say x", source=source)))).id)
    assert "started with OPENCODE_PERMISSION in its environment, which Pollux does not know" in run.approvals[0].preview
    assert not list(lab.work.glob("started-*"))


async def test_what_the_person_configured_for_an_agent_is_not_asked_about(lab: RunbookLab, tmp_path: Path):
    path = program(tmp_path / "bin", "gemini")
    own = {"mine": AgentEntry(str(path), ("--acp", "--policy", "mine"), env={"GEMINI_SYSTEM_MD": "1"})}
    engine, runbooks = await lab.engine(agents=own)
    source = document(agent("work", "say hello", source={**SOURCE, "command": "mine"}))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"


# What a foreign agent says of itself.


MARKS = (
    {"always_allowed": True},
    {"capabilities": ["alwaysAllowTools"]},
    {"facts": {"capabilities": ["alwaysAllowTools"], "document": {"is_trusted": True}, "asker": "runbook_acp"}},
    {"document": "trusted", "interface": "runbook", "asker": "runbook_acp", "decision": "allow"},
    {"rendered_from": [], "placed_by": [], "provenance": ["user"], "agent": "trusted"},
)


@pytest.mark.parametrize("mark", MARKS)
async def test_an_agent_that_names_a_fact_in_its_request_is_asked_about_all_the_same(
    lab: RunbookLab, mark: dict[str, Any]
):
    engine, runbooks = await lab.engine()
    run = await waiting(
        engine, (await lab.start(runbooks, document(worker("work", f"claim log.txt {json.dumps(mark)}")))).id
    )
    assert run.approvals and not (lab.work / "log.txt").exists()
    run = await ended(engine, await answer(engine, run, "rejected"))
    assert not (lab.work / "log.txt").exists()


TWICE = document(worker("work", "append log.txt 1", "append log.txt 2"), name="A")


async def granted(lab: RunbookLab) -> tuple[Any, Any, Run, Grant]:
    """A document whose agent's question was answered with `always`."""
    engine, runbooks = await lab.engine()
    run = await lab.start(runbooks, TWICE)
    run = await ended(engine, await answer(engine, run, "approved", scope="always"))
    assert (lab.work / "log.txt").read_text() == "1\n2\n"
    (grant,) = await engine.queries.grants(ADA)
    assert grant.tool == "agent_permission"
    return engine, runbooks, run, grant


async def test_always_for_one_document_is_nothing_for_a_block_of_the_same_name_in_another(lab: RunbookLab):
    engine, runbooks, run, grant = await granted(lab)
    assert grant.scope == "document" and run.document is not None and grant.document == run.document.digest
    again = await ended(engine, await lab.start(runbooks, TWICE))
    assert again.status == "completed" and (lab.work / "log.txt").read_text() == "1\n2\n1\n2\n"
    source = document(worker("work", "append log.txt 3"), name="B")
    other = await waiting(engine, (await lab.start(runbooks, source)).id)
    assert other.approvals and "3" not in (lab.work / "log.txt").read_text()


async def test_always_for_a_document_is_nothing_for_a_copy_of_it_in_another_folder(lab: RunbookLab):
    engine, runbooks, _, _ = await granted(lab)
    clone = lab.path / "clone"
    clone.mkdir()
    lab.accept(TWICE, folder=clone)
    opening = Opening(TWICE, "json", str(clone), path=str(clone / "a.runbook.json"))
    run = await waiting(engine, (await runbooks.start(opening, user=ADA)).id)
    while run.open[0].tool == "runbook_acp" and not run.open[0].started:
        run = await answer(engine, run, "approved")
        run = await waiting(engine, run.id)
    assert run.approvals and not (clone / "log.txt").exists()


async def test_an_agent_beneath_a_part_that_nobody_trusts_may_not_do_everything(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    free = {**EVERYTHING, "alwaysAllowTools": True}
    (lab.work / "part.runbook.json").write_text(document(worker("work", "append log.txt x", capabilities=free)))
    outer = document({**agent("part", ""), "type": "sub-runbook", "props": {"runbookPath": "part.runbook.json"}})
    run = await waiting(engine, (await lab.start(runbooks, outer)).id)
    assert run.open[0].tool == "runbook_acp" and "alwaysAllowTools" in run.approvals[0].preview
    assert not (lab.work / "log.txt").exists()


async def test_another_mcp_server_is_asked_about(lab: RunbookLab):
    server: dict[str, Any] = {"name": "notes", "command": "./server", "args": [], "env": []}
    program(lab.work, "server", note="one")
    engine, runbooks = await lab.engine()
    source = document(worker("work", "servers", mcpServers=[server]))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    program(lab.work, "server", note="two")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "./server is " in run.approvals[0].preview


async def test_always_for_a_document_is_nothing_where_another_document_runs_it(lab: RunbookLab):
    engine, runbooks, _, _ = await granted(lab)
    (lab.work / "test.runbook.json").write_text(TWICE)
    outer = document(block("sub-runbook", "part", runbookPath="test.runbook.json"), name="Outer")
    await lab.start(runbooks, outer)
    (question,) = await until(lambda: engine.queries.approvals(ADA, limit=5))
    assert question.run.document is not None and question.run.document.is_trusted
    assert (lab.work / "log.txt").read_text() == "1\n2\n"


@pytest.mark.parametrize(
    "name",
    """
    PATH bash_env LD_PRELOAD GIT_SSH_COMMAND NODE_OPTIONS PS4 CDPATH MANPAGER PYENV_HOOK_PATH RBENV_HOOK_PATH ASDF_DIR
    MISE_CONFIG_FILE VOLTA_HOME NVM_DIR CLOUDSDK_PYTHON CONFIG_SITE GIO_EXTRA_MODULES PYTEST_PLUGINS ASAN_OPTIONS RHOME
    ELIXIR_ERL_OPTIONS GUNICORN_CMD_ARGS MPLBACKEND PLTCOLLECTS HELM_DATA_HOME CONTAINERS_CONF TERRAGRUNT_TFPATH
    VAGRANT_VAGRANTFILE GDAL_DRIVER_PATH MSBUILDSDKSPATH ASPNETCORE_HOSTINGSTARTUPASSEMBLIES AWKLIBPATH XONSHRC
    HTTPIE_CONFIG_DIR EMACSPATH HADOOP_CLASSPATH SPARK_HOME DJANGO_SETTINGS_MODULE PRE_COMMIT_HOME SBCL_HOME
    NVIM_APPNAME CODEX_HOME CLAUDE_CONFIG_DIR POLLUX_HOME POLLUX_CONFIG OTHER_HOME OTHER_PATH OTHER_CONFIG
    OTHER_OPTS OTHER_FLAGS
    OTHERRC OTHER_STARTUP_FILE OTHER_PRELOAD OTHER_COMMAND OTHER_HOOKS OTHER_PLUGINS
    """.split(),
)
def test_a_variable_that_changes_what_programs_run_is_known(name: str):
    assert steers(name) and ("STARTUP" in name or not steers(f"MY_{name}_X"))


@pytest.mark.parametrize(
    "name",
    """
    REGION GOOGLE_CLOUD_PROJECT PGHOST TF_VAR_size NODE_ENV AWS_REGION GREETING STACK_NAME MIX_ENV DATABASE_URL PORT SRC
    BUILD_SRC LOG_LEVEL LOG_FILE USER_ID VERSION API_KEY SPARK_MASTER DJANGO_DEBUG HOMEPAGE PATHS_SEEN CONFIGURED
    """.split(),
)
def test_a_variable_that_is_mere_data_is_not_asked_about(name: str):
    assert not steers(name)
