"""What an accepted or always allowed runbook is given as code, by others who write in its folders: never unasked."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.lab import ADA, RunbookLab, agent, block, document, ended, script, waiting
from tests.runbooks.test_foreign_agents import answer, worker

from pollux.core.messages import Message, ToolCall
from pollux.core.run import Run
from pollux.core.tools import Informed
from pollux.engine.engine import Engine
from pollux.runbooks.opening import Opening
from pollux.runbooks.runtime import Runbooks


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[RunbookLab]:
    lab = RunbookLab(tmp_path)
    yield lab
    await lab.close()


def write(path: Path, text: str = "true") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


async def always(engine: Engine, lab: RunbookLab, runbooks: Runbooks, source: str) -> Run:
    """A document that nobody trusts, once its question was answered with `always`."""
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    await engine.resolve(run.approvals[0].id, "approved", by="ada", scope="always")
    return await ended(engine, run)


# "Always, for this document" is for what runs.


@pytest.mark.parametrize("kind", ["script", "terminal", "run"])
async def test_always_for_a_document_is_nothing_for_another_content_of_its_file(lab: RunbookLab, kind: str):
    loc = write(lab.work / "loc.sh")
    engine, runbooks = await lab.engine()
    source = document(block(kind, "run", code="sh loc.sh", **({"interpreter": "sh"} if kind == "script" else {})))
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert f"loc.sh is {loc} (sha256 " in run.approvals[0].preview and run.approvals[0].scopes[-1] == "document"
    await engine.resolve(run.approvals[0].id, "approved", by="ada", scope="always")
    assert (await ended(engine, run)).status == "completed"
    assert any("loc.sh" in grant.subject and "sha256 " in grant.subject for grant in await engine.queries.grants(ADA))
    again = await ended(engine, await lab.start(runbooks, source, trusted=False))
    assert again.status == "completed" and not again.approvals
    write(loc, "touch evil")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "loc.sh is " in run.approvals[0].preview and not (lab.work / "evil").exists()


async def test_always_for_a_document_is_nothing_for_another_program_on_the_path(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path / "good" / "mytool")
    monkeypatch.setenv("PATH", f"{tmp_path}/evil:{tmp_path}/good:/usr/bin:/bin")
    engine, runbooks = await lab.engine()
    source = document(script("run", "mytool"))
    assert (await always(engine, lab, runbooks, source)).status == "completed"
    write(tmp_path / "evil" / "mytool", "touch evil")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert f"mytool is {tmp_path}/evil/mytool" in run.approvals[0].preview


@pytest.mark.parametrize("what", ["agent", "server"])
async def test_always_for_a_document_is_nothing_for_another_agent_or_server(lab: RunbookLab, what: str):
    write(lab.work / "inner", "exit 1")
    block_ = worker("work", "servers")
    if what == "server":
        block_["props"]["mcpServers"] = [{"name": "notes", "command": "./inner", "args": [], "env": []}]
    else:
        block_ = agent("work", "x", source={"type": "acp", "command": "sh", "args": ["-c", "sh < inner"], "env": {}})
    engine, runbooks = await lab.engine()
    await always(engine, lab, runbooks, document(block_))
    write(lab.work / "inner", "touch evil")
    run = await waiting(engine, (await lab.start(runbooks, document(block_), trusted=False)).id)
    assert "inner is " in run.approvals[0].preview and "(sha256 " in run.approvals[0].preview
    assert not (lab.work / "evil").exists()


# Wherever others may write, the content counts.


@pytest.mark.parametrize("where", ["directory", "block", "workspace", "link", "shared"])
async def test_a_file_counts_by_its_content_wherever_others_may_write(lab: RunbookLab, tmp_path: Path, where: str):
    folders = {name: tmp_path / name for name in ("docs", "run", "space", "out", "shared")}
    for folder in folders.values():
        folder.mkdir()
    folders["shared"].chmod(0o777)
    (folders["run"] / "link.sh").symlink_to(folders["out"] / "tool.sh")
    place = {"directory": "run", "block": "out", "workspace": "space", "link": "out", "shared": "shared"}[where]
    tool, name = write(folders[place] / "tool.sh"), "link.sh" if where == "link" else str(folders[place] / "tool.sh")
    before = [block("directory", "there", path=str(folders["out"]))] if where == "block" else []
    source = document(*before, script("run", f"sh {name}"))
    path = folders["docs"] / "a.runbook.json"
    path.write_text(source)
    engine, runbooks = await lab.engine()

    async def start() -> Run:
        opening = Opening(source, "json", str(folders["run"]), str(folders["space"]), str(path))
        return await runbooks.start(opening, user=ADA)

    volume = _volume(path)
    runbooks.accept(volume, runbooks.programs(volume, directory=folders["run"], workspace=folders["space"]), by=ADA)
    assert (await ended(engine, await start())).status == "completed"
    write(tool, "touch evil")
    run = await waiting(engine, (await start()).id)
    assert "(sha256 " in run.approvals[0].preview and "accepted was" in run.approvals[0].preview


async def test_a_program_installed_elsewhere_may_be_updated(
    lab: RunbookLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tool = write(tmp_path / "installed" / "mytool")
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    engine, runbooks = await lab.engine()
    source = document(script("run", "mytool"))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    write(tool, "exit 0")
    assert (await ended(engine, await lab.start(runbooks, source, trusted=False))).status == "completed"


# Code that no literal word names.


async def test_a_file_that_a_variable_of_the_document_names_as_code_is_asked_about_when_it_changes(lab: RunbookLab):
    job = write(lab.work / "job")
    engine, runbooks = await lab.engine()
    source = document(block("env", "BASH_ENV", value="./job"), script("run", "bash -c true"))
    assert (await ended(engine, await lab.start(runbooks, source))).status == "completed"
    write(job, "touch evil")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "./job is " in run.approvals[0].preview and not (lab.work / "evil").exists()


HANDED = (
    "sh < job",
    "cat job | sh",
    "cat job | sh -s",
    "bash <(cat job)",
    'bash -c "$(cat job)"',
    'eval "$(cat job)"',
    "source <(cat job)",
    "$(cat job)",
    "f=job; sh $f",
    "f=job; sh ./$f",
    "f=jo; sh ${f}b",
    "sh ${1:-job}",
    "sh jo*",
    "for f in jo*; do sh $f; done",
    "for f in ./jo?; do . $f; done",
    "while read line; do $line; done < job",
    "go() { sh; }; go < job",
    "exec < job; sh",
    "sh -o errexit job",
    "bash --norc job",
    "alias go='sh job'",
    "find . -name jo\\* -exec sh {} \\;",
    "find . -name 'jo*' | xargs -n1 sh",
    "sh <<EOF\n. ./job\nEOF",
    "echo . ./job | sh",
    "awk -f job < /dev/null",
    "awk --file=job < /dev/null",
    "gawk -fjob < /dev/null || true",
    "sed -nf job /dev/null || true",
    "sed --file job /dev/null || true",
    "make -f job || true",
    "make -sfjob || true",
    "python3 < job || true",
    "python3 - < job || true",
    "python3 -c 'import os; os.system(\"sh job\")'",
    "python3 -c 'exec(open(\"job\").read())' || true",
    'perl -e \'do "./job"; system("sh", "job")\' || true',
    "timeout 9 sh < job",
    "sh 0< job",
    "sh <> job",
    "exec 3< job; sh /dev/fd/3",
    "xargs -a job sh -c || true",
    "cat job | xargs -I% sh -c %",
    "for f in $(ls); do sh $f; done",
    "files=$(find . -type f); for f in $files; do sh $f; done",
    "BASH_ENV=./job bash -c true",
    "export BASH_ENV=job; bash -c true",
    'awk "$(cat job)" < /dev/null || true',
    "tar --to-command='sh job' -xf /dev/null || true",
    "git -c alias.x='!sh job' x || true",
    "cd inner && cd deeper && sh job",
    "ed -s notes < job || true",
    "cat job | ed -s notes || true",
    "run-parts --regex=job inner/deeper || true",
    "ssh -F job -V || true",
    "ssh -Fjob -V || true",
    "scp -F job -V || true",
    "git -c include.path=$PWD/job status || true",
    "git -c include.path=job status || true",
    "git -c core.hooksPath=inner/deeper status || true",
    "curl -s file://$PWD/job | sh",
    "curl -s file://$(pwd)/job | sh",
    "cat $PWD/job | sh",
    "node job || true",
    "npx --no ./job || true",
    "python3 -m runpy job || true",
    "python3 -m cProfile job || true",
    "python3 -um pdb job < /dev/null || true",
    "ruby -r ./job -e 1 || true",
    "python3 -c'exec(open(\"job\").read())' || true",
    'perl -e\'do "./job"; system("sh", "job")\' || true',
    "env -C inner/deeper sh job",
    "env -Cinner/deeper sh job",
    "env --chdir=inner/deeper sh job",
    "env --chdir inner/deeper sh job",
    "CDPATH=inner; cd deeper; ./job",
    "export CDPATH=.:inner; cd deeper; sh job",
    "sh $'\\x6aob'",
    "sh $'\\152o\\u0062'",
    ". ./$'\\x6aob'",
    "./$'\\x6aob'",
    "grep 'no$' 'x' job; sh $'\\x6aob'",
    "/lib64/ld-linux-x86-64.so.2 /bin/sh job || true",
    "shopt -s extglob\nsh @(job|zz)",
    "shopt -s extglob\nsh !(zz|inner|job?*)",
    "shopt -s extglob\n. ./j@(ob|+(z))",
)


@pytest.mark.parametrize("code", HANDED)
async def test_a_changed_file_that_a_script_hands_over_as_code_is_asked_about(lab: RunbookLab, code: str):
    jobs = [lab.work / "job", lab.work / "inner" / "deeper" / "job"]
    for job in jobs:
        write(job).write_text("true\n")
    engine, runbooks = await lab.engine()
    source = document(script("run", code))
    assert (await ended(engine, await lab.start(runbooks, source))).status in ("completed", "failed")
    for job in jobs:
        job.write_text("true\ntouch evil\n")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "not the one that was accepted" in run.approvals[0].reason and "sha256 " in run.approvals[0].preview


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        ("env -C jd sh job", "jd/job"),
        ("env --chdir=jd sh job", "jd/job"),
        ("node jd/x", "jd/x.js"),
        ("npx --no ./jd", "jd/package.json"),
        ("python3 -m runpy jd", "jd/__main__.py"),
        ("/lib64/ld-linux-x86-64.so.2 /bin/sh jd/job", "jd/job"),
    ],
)
async def test_a_changed_file_that_an_agent_is_given_as_code_is_asked_about(lab: RunbookLab, argv: str, file: str):
    job = write(lab.work / file, "exit 1")
    engine, runbooks = await lab.engine()
    command, *args = argv.split()
    source = document(agent("work", "x", source={"type": "acp", "command": command, "args": args}))
    await always(engine, lab, runbooks, source)
    write(job, "touch evil")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert " is " in run.approvals[0].preview and "(sha256 " in run.approvals[0].preview


# The line of the interpreter is a command, too.


@pytest.mark.parametrize("kind", ["script", "terminal"])
@pytest.mark.parametrize(
    "line",
    [
        "sh job",
        "bash ./job",
        "bash {work}/job",
        "bash --norc job",
        "bash -c ./job",
        "bash -ec ./job",
        "python3 -mx",
        "bash --rcfile job -i",
        "bash --init-file=job -i",
        "python3 job",
        "python3 -u x.py",
        "python3 -m x",
        "node -r ./x.js",
        "node -r ./x",
        "perl -I. -Mx",
        "perl -Ix -My",
    ],
)
async def test_a_changed_file_in_the_line_of_an_interpreter_is_asked_about(lab: RunbookLab, kind: str, line: str):
    files = [lab.work / name for name in ("job", "x.py", "x.js", "x.pm", "x.rb", "x/y.pm")]
    for file in files:
        write(file).write_text("1;\n")
    engine, runbooks = await lab.engine()
    named = {("interpreter" if kind == "script" else "type"): line.format(work=lab.work)}
    source = document(block(kind, "run", code="true", **named))
    lab.accept(source)
    for file in files:
        file.write_text("2;\n")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "not the one that was accepted" in run.approvals[0].reason and "sha256 " in run.approvals[0].preview


LED_TO = (
    # What a script makes itself is made of something.
    "cp job x; sh x",
    "install -m755 job x && ./x",
    "ln -s $PWD/job x; ./x",
    "sed s/a/b/ job > /tmp/x.sh && bash /tmp/x.sh",
    "tee x < job; . ./x",
    "tar xf job && sh build/run.sh",
    # Programs that run others, whatever their options are called.
    "git bisect run ./run",
    "git bisect run sh job",
    "git rebase -x ./run HEAD",
    "tar -I ./run -xf x",
    "tar --checkpoint-action=exec=./run -cf x .",
    "rsync -e ./run a b",
    "ssh -o ProxyCommand=./run host",
    "sort --compress-program=./run x",
    "socat - exec:./run",
    "vim -c '!./run'",
    "mapfile -C '. ./job' -c 1 x < notes",
    "asdf exec sh job",
    "uv run code.py",
    "streamlit run code.py",
    "python3 -m pytest code.py",
    "python3 -m unittest code",
    "gnuplot job",
    "emacs --script job",
    "cmake -P job",
    "make -f - < job",
    'make --eval="$(cat job)"',
    "awk 'BEGIN { system(\"sh job\") }'",
    "sed '1e sh job' notes",
    # Modules that code names, and a shell's own word for where it stands.
    "python3 -c 'import code'",
    "python3 -c 'from code import x'",
    "python3 <<EOF\nimport sys, code\nEOF",
    "node -e \"require('./code')\"",
    "node --eval=\"require('./code')\"",
    "ruby -e 'require_relative \"code\"'",
    "sh ~+/job",
    "~+/job",
    "sh ~-/job",
)


@pytest.mark.parametrize("code", LED_TO)
async def test_a_changed_file_that_a_script_leads_to_is_asked_about(lab: RunbookLab, code: str):
    files = [write(lab.work / name) for name in ("job", "run", "code.py", "code.js", "code.rb")]
    files[0].chmod(0o644)
    engine, runbooks = await lab.engine()
    source = document(script("run", code))
    lab.accept(source)
    for file in files:
        file.write_text("touch evil\n")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "not the one that was accepted" in run.approvals[0].reason and "sha256 " in run.approvals[0].preview


async def test_a_module_that_appears_beside_a_script_is_asked_about(lab: RunbookLab):
    engine, runbooks = await lab.engine()
    source = document(block("script", "run", code="import json\nprint(json.dumps(1))", interpreter="python3"))
    lab.accept(source)
    assert (await ended(engine, await lab.start(runbooks, source, trusted=False))).status == "completed"
    (lab.work / "json.py").write_text("open('evil', 'w')\n")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "json.py is " in run.approvals[0].preview and not (lab.work / "evil").exists()


async def test_an_option_of_the_interpreter_may_give_a_script_more_patterns(lab: RunbookLab):
    job = write(lab.work / "job")
    engine, runbooks = await lab.engine()
    source = document(block("script", "run", code="sh @(job|zz)", interpreter="bash -O extglob"))
    lab.accept(source)
    write(job, "touch evil")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "accepted was" in run.approvals[0].preview and not (lab.work / "evil").exists()


async def test_what_an_interpreter_is_to_run_may_not_change_after_the_decision(lab: RunbookLab):
    job = write(lab.work / "job")
    engine, runbooks = await lab.engine()
    source = document(block("script", "run", code="true", interpreter="sh job"))
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert f"job is {job} (sha256 " in run.approvals[0].preview
    write(job, "touch evil")
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    assert (await ended(engine, run)).status == "failed" and not (lab.work / "evil").exists()


@pytest.mark.parametrize("line", ["bash", "bash -e", "bash -euo pipefail", "bash -ec", "sh", "python3 -u"])
async def test_plain_options_of_an_interpreter_ask_nothing(lab: RunbookLab, line: str):
    notes = write(lab.work / "notes.txt")
    engine, runbooks = await lab.engine()
    source = document(block("env", "NOTES", value="notes.txt"), block("script", "run", code="1", interpreter=line))
    lab.accept(source)
    notes.write_text("another\n")
    run = await ended(engine, await lab.start(runbooks, source, trusted=False))
    assert not run.approvals and "notes.txt is " not in json.dumps([each.preview for each in run.actions])


@pytest.mark.parametrize(
    ("code", "file"),
    [
        ("make", "GNUmakefile"),
        ("make -s all", "Makefile"),
        ("make -C inner", "inner/makefile"),
        ("npm test || true", "package.json"),
        ("python3 -m inner.tool", "inner/tool.py"),
        ("python3 -um inner", "inner/__main__.py"),
        ("node inner/x || true", "inner/x.js"),
        ("python3 -m runpy inner.x || true", "inner/x.py"),
        ("run-parts inner", "inner/new"),
        ("python3 -minner.x || true", "inner/x.py"),
        ("python3 -Bminner || true", "inner/__main__.py"),
        ("npx --no ./inner < /dev/null || true", "inner/package.json"),
        ("python3 inner", "inner/__main__.py"),
        ("for f in inner/*; do sh $f; done", "inner/new.sh"),
        ("sh inner/*.sh", "inner/new.sh"),
        ("d=inner; sh $d/new.sh", "inner/new.sh"),
        ('"$(pwd)"/inner/new.sh', "inner/new.sh"),
        ("find inner -type f -exec sh {} +", "inner/deep/new"),
    ],
)
async def test_a_new_file_that_a_script_would_run_is_asked_about(lab: RunbookLab, code: str, file: str):
    (lab.work / "inner").mkdir()
    engine, runbooks = await lab.engine()
    source = document(script("run", code))
    lab.accept(source)
    write(lab.work / file, "touch evil")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert "accepted was" in run.approvals[0].preview and not (lab.work / "evil").exists()


ORDINARY = (
    "cat notes.txt",
    "IFS=$'\\n'; cat notes.txt",
    "echo x > notes.txt",
    "echo x >> notes.txt",
    "sed -i s/a/b/ notes.txt",
    "grep x notes.txt | sort",
    "awk '{print $1}' notes.txt",
    "awk -F: -v x=1 '{print $x}' notes.txt | sort > out.txt",
    'while read line; do echo "$line"; done < notes.txt',
    'for f in *.txt; do wc -l "$f"; done',
    'name=$(cat notes.txt); echo "hello $name" > out.txt',
    "sh job notes.txt",
    "sh job < notes.txt",
    "python3 -c 'print(open(\"notes.txt\").read())'",
    "python3 -c 'import sys; print(sys.stdin.read())' < notes.txt",
    "python3 - <<'EOF'\nprint(open('notes.txt').read())\nEOF",
    "perl -ne 'print' notes.txt",
    "cp notes.txt out.txt && tar cf out.tar notes.txt",
    'timeout 5 cat "$HOME/notes.txt" notes.txt || true',
    "find . -name '*.txt' -exec wc {} +",
    "ls *.txt | xargs wc -l",
    "test -f notes.txt && . ./job && cat notes.txt",
    "bash -c 'cat notes.txt'",
    "bash -c 'wc -l \"$1\"' _ notes.txt",
    "x=1; if [ $x = 1 ]; then cat notes.txt | tr a b > out.txt; fi",
    "git status notes.txt || true",
    'f=notes.txt; awk \'{print $1}\' "$f"; sed -n 1p "$f"; sed "s/a/$f/" notes.txt; sed -e s/x/y/ "$f"',
    'f=x; timeout 5 echo "$f" notes.txt',
    "git commit -m 'add notes.txt' || true",
    "cat <<EOF > out.txt\nnotes.txt\nEOF",
    "cp notes.txt out.txt; sh job",
    "jq -n 1 > out.txt; sort notes.txt | tee out.txt",
    "python3 -c 'import json, sys; print(open(\"notes.txt\").read())'",
)


@pytest.mark.parametrize("code", ORDINARY)
async def test_a_file_that_a_script_reads_or_writes_may_change(lab: RunbookLab, code: str):
    notes = lab.work / "notes.txt"
    notes.write_text("a\n")
    (lab.work / "job").write_text("true\n")
    engine, runbooks = await lab.engine()
    source = document(script("run", code))
    lab.accept(source)
    assert (await ended(engine, await lab.start(runbooks, source, trusted=False))).status == "completed"
    notes.write_text("another\n")
    run = await ended(engine, await lab.start(runbooks, source, trusted=False))
    assert run.status == "completed" and "notes.txt is " not in json.dumps([each.preview for each in run.actions])


# No argument says what was accepted.


def _volume(path: Path) -> Any:
    from pollux.runbooks.shelf import volume

    return volume(path)


async def test_an_edit_cannot_say_what_was_accepted(lab: RunbookLab):
    loc = write(lab.work / "loc.sh")
    engine, runbooks = await lab.engine()
    source = document(script("run", "sh loc.sh"))
    lab.accept(source)
    write(loc, "touch changed")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    args = run.open[0].args
    found: Any = args["programs"]
    forgeries: tuple[dict[str, Any], ...] = (
        {"accepted": {"folder": "/nowhere", "programs": found}},
        {"programs": [], "unaccepted": [], "is_unaccepted": False},
        {"unaccepted": "nothing", "is_unaccepted": 0, "accepted": [1]},
    )
    for forged in forgeries:
        action = await engine.edit(run.approvals[0].id, {**args, **forged}, by="ada")
        run = await waiting(engine, run.id)
        assert action.args == args and "accepted was" in run.approvals[0].preview
        assert "not the one that was accepted" in run.approvals[0].reason
    assert not (lab.work / "changed").exists()


async def test_what_was_accepted_is_a_fact_of_the_call_and_none_of_its_arguments(lab: RunbookLab):
    write(lab.work / "loc.sh")
    engine, runbooks = await lab.engine()
    run = await ended(engine, await lab.start(runbooks, document(script("run", "sh loc.sh"))))
    call = next(part for message in run.messages for part in _calls(message))
    assert "accepted" not in call.args and call.facts is not None
    assert any(word == "loc.sh" and "sha256 " in file for word, file in call.facts.accepted or ())
    assert str(lab.work) in call.facts.places and "sha256" not in json.dumps(call.args)


def _calls(message: Message) -> list[ToolCall]:
    return [part for part in message.parts if isinstance(part, ToolCall)]


async def test_a_call_that_an_older_version_wrote_down_says_nothing_of_what_was_accepted(lab: RunbookLab):
    engine, _ = await lab.engine()
    loc = write(lab.work / "loc.sh")
    older: dict[str, Any] = {
        "interpreter": "bash",
        "code": "sh loc.sh",
        "directory": str(lab.work),
        "env": {},
        "accepted": {"folder": str(lab.work), "programs": [["loc.sh", str(loc)]]},
        "unaccepted": [],
        "is_unaccepted": False,
    }
    args = engine.toolbox.prepare("runbook_script", older)
    tool = engine.toolbox.informed("runbook_script", None)
    assert isinstance(tool, Informed) and "accepted" not in args
    (told,) = tool.unaccepted(args)
    assert told.startswith("unaccepted: loc.sh is ") and told.endswith("accepted was nothing of that name")


async def test_always_for_a_command_of_an_agent_is_nothing_for_another_content_of_its_file(lab: RunbookLab):
    loc = write(lab.work / "loc.sh", "touch one")
    engine, runbooks = await lab.engine()
    source = document(worker("work", "line sh loc.sh", "say done"))
    run = await waiting(engine, (await lab.start(runbooks, source)).id)
    assert f"loc.sh is {loc} (sha256 " in run.approvals[0].preview
    run = await ended(engine, await answer(engine, run, "approved", scope="always"))
    again = await ended(engine, await lab.start(runbooks, source, trusted=False))
    assert again.status == "completed" and (lab.work / "one").exists()
    write(loc, "touch two")
    run = await waiting(engine, (await lab.start(runbooks, source, trusted=False)).id)
    assert run.open[-1].tool == "agent_terminal" and not (lab.work / "two").exists()
