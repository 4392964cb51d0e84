"""Scripts: by which program, with what around them, and what comes of them."""

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.blocks.at_work import ID, Told, block, prepared, preview, run, scene, subjects
from tests.tools.shell.living import living, new_mark, sleepers
from tests.waiting import until

from pollux.core.errors import ToolError, ValidationError
from pollux.runbooks.blocks.script import Script

SCRIPT = Script()


def script(code: str, **props: Any):
    return block("script", **({"interpreter": "bash", "code": code} | props))


async def test_a_script_puts_out_and_ends(tmp_path: Path):
    result = await run(SCRIPT, script("echo out; echo err >&2; exit 3"), scene(tmp_path))
    output = SCRIPT.output(result)
    assert (output["exit_code"], output["stdout"], output["stderr"]) == (3, "out\n", "err\n")
    assert sorted(str(output["combined"]).split()) == ["err", "out"]
    assert not SCRIPT.succeeded(result)


async def test_the_combined_output_is_in_the_order_of_its_making(tmp_path: Path):
    told = Told()
    wait = "until [ -e {} ]; do sleep 0.02; done"
    code = f"echo 1; {wait.format('a')}; echo 2 >&2; {wait.format('b')}; echo 3"
    running = asyncio.create_task(run(SCRIPT, script(code), scene(tmp_path), told=told))
    await until(lambda: told.all("stdout") == "1\n")
    (tmp_path / "a").touch()
    await until(lambda: told.all("stderr") == "2\n")
    (tmp_path / "b").touch()
    assert SCRIPT.output(await running)["combined"] == "1\n2\n3\n"


async def test_what_is_put_out_is_told_at_once_by_stream(tmp_path: Path):
    told = Told()
    running = asyncio.create_task(
        run(
            SCRIPT,
            script("echo now; echo beside >&2; until [ -e go ]; do sleep 0.05; done"),
            scene(tmp_path),
            told=told,
        )
    )
    await until(lambda: (told.all("stdout"), told.all("stderr")) == ("now\n", "beside\n"))
    assert not running.done()
    (tmp_path / "go").touch()
    assert SCRIPT.succeeded(await running)


async def test_what_shall_not_be_seen_is_not_told_but_kept(tmp_path: Path):
    told = Told()
    result = await run(SCRIPT, script("echo hidden", outputVisible=False), scene(tmp_path), told=told)
    assert (told.pieces, result["stdout"]) == ([], "hidden\n")


@pytest.mark.parametrize(
    ("interpreter", "code"),
    [
        ("sh", "echo $((40+2))"),
        ("zsh", "print $((40+2))"),
        ("fish", "math 40+2"),
        ("python3", "print(40+2)"),
        ("node", "console.log(40+2)"),
        ("perl", "print 40+2, qq(\\n)"),
        ("bash -e", "echo 42; false; echo 43"),
        ("/bin/sh", "echo 42"),
        pytest.param(
            sys.executable,
            "print(42)",
            marks=pytest.mark.skipif(" " in sys.executable, reason="an interpreter's path cannot hold spaces"),
        ),
    ],
)
async def test_an_interpreter_is_given_the_code_as_it_takes_it(tmp_path: Path, interpreter: str, code: str):
    name = interpreter.split()[0]
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed (apt-get install {name.replace('node', 'nodejs')})")
    result = await run(SCRIPT, script(code, interpreter=interpreter), scene(tmp_path))
    assert result["stdout"] == "42\n"


@pytest.mark.parametrize("interpreter", ["awk", "./bash", "../bin/sh", "rm -rf"])
def test_an_unknown_interpreter_is_refused_with_those_that_are_known(interpreter: str):
    with pytest.raises(ValidationError, match="one of bash, sh, zsh"):
        prepared(SCRIPT, SCRIPT.call(script("x", interpreter=interpreter), scene()))


async def test_an_interpreter_that_is_not_installed_is_refused_with_those_that_are(tmp_path: Path):
    (tmp_path / "sh").symlink_to("/bin/sh")
    with pytest.raises(ToolError, match=r"bash is not installed here. Installed are: sh$"):
        await run(SCRIPT, script("echo"), scene(tmp_path, env={"PATH": str(tmp_path)}))


async def test_a_directory_that_is_gone_is_told(tmp_path: Path):
    with pytest.raises(ToolError, match="there is no directory"):
        await run(SCRIPT, script("echo"), scene(tmp_path / "gone"))


async def test_a_child_sees_what_the_runbook_has_set_and_none_of_our_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("GEMINI_API_KEY", "POLLUX_TOKEN", "AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "canary")
    result = await run(SCRIPT, script("env; pwd"), scene(tmp_path, env={"GREETING": "hello"}))
    assert "canary" not in result["stdout"]
    assert "GREETING=hello\n" in result["stdout"]
    assert result["stdout"].endswith(f"{tmp_path}\n")


async def test_a_script_finds_its_input_empty(tmp_path: Path):
    assert (await run(SCRIPT, script("cat; echo end"), scene(tmp_path)))["stdout"] == "end\n"


async def test_invalid_characters_are_replaced_and_long_output_is_cut_in_the_middle(tmp_path: Path):
    code = r"printf 'a\xffb\n'; head -c 3000000 /dev/zero | tr '\0' x; echo the end"
    told = Told()
    result = await run(SCRIPT, script(code), scene(tmp_path), told=told)
    assert result["stdout"].startswith("a\ufffdb\nxxx")
    assert "bytes left out]" in result["stdout"]
    assert result["stdout"].endswith("the end\n")
    assert len(result["stdout"]) < 1_100_000
    assert len(told.all()) <= 1024 * 1024


async def test_the_output_becomes_a_variable_without_the_space_around_it(tmp_path: Path):
    made = script("echo; echo '  two words '", outputVariable="words")
    before = scene(tmp_path)
    after = SCRIPT.after(before, made, await run(SCRIPT, made, before))
    assert after.variables["words"].value == "two words"
    assert after.variables["words"].sources == {ID}
    assert after.outputs[ID]["exit_code"] == 0


async def test_a_script_may_set_variables_of_its_own(tmp_path: Path):
    made = script(
        'echo "a=1=2" >> "$ATUIN_OUTPUT_VARS";'
        'printf "many<<EOF\\none\\ntwo\\nEOF\\nbad name=x\\n" >> "$ATUIN_OUTPUT_VARS"'
    )
    after = SCRIPT.after(scene(tmp_path), made, await run(SCRIPT, made, scene(tmp_path)))
    assert {name: variable.value for name, variable in after.variables.items()} == {"a": "1=2", "many": "one\ntwo"}


async def test_a_script_that_fails_sets_nothing(tmp_path: Path):
    made = script('echo a=1 >> "$ATUIN_OUTPUT_VARS"; echo out; false', outputVariable="out")
    after = SCRIPT.after(scene(tmp_path), made, await run(SCRIPT, made, scene(tmp_path)))
    assert (dict(after.variables), after.outputs[ID]["stdout"]) == ({}, "out\n")


@pytest.mark.parametrize(
    "instead",
    [
        'rm "$V"; mkfifo "$V"',
        'rm "$V"; ln -s /etc/passwd "$V"',
        'rm "$V"',
        'head -c 400000 /dev/zero > "$V"',
        'rm -r "${V%/*}"',
    ],
)
async def test_a_file_of_variables_that_is_none_any_more_is_told_and_harms_nobody(tmp_path: Path, instead: str):
    result = await run(SCRIPT, script(f'V=$ATUIN_OUTPUT_VARS; {instead}; echo "done"'), scene(tmp_path))
    assert (result["exit_code"], result["variables"]) == (0, {})
    assert "no variables were set" in result["note"]


async def test_a_failed_call_has_an_output_too():
    assert SCRIPT.output({"error": "it was rejected"}) == {
        "exit_code": None,
        "stdout": "",
        "stderr": "",
        "combined": "",
    }
    after = SCRIPT.after(scene(), script("x"), {"error": "it was rejected"})
    assert after.outputs[ID]["stdout"] == ""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
async def test_nothing_survives_a_cancelled_script(tmp_path: Path):
    mark = new_mark()
    made = script("trap '' TERM; sleep 1000 & setsid sleep 1000 & wait")
    running = asyncio.create_task(run(SCRIPT, made, scene(tmp_path, env={"MARK": mark})))
    await until(lambda: sleepers(mark) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert living(mark) == {}


async def test_a_time_out_ends_the_whole_tree(tmp_path: Path):
    mark = new_mark()
    made = script("setsid sleep 1000 & wait", timeoutSeconds=0.5)
    result = await run(SCRIPT, made, scene(tmp_path, env={"MARK": mark}))
    assert (result["exit_code"], result["error"]) == (124, "stopped: it took longer than 0.5 s")
    assert living(mark) == {}


def test_rules_see_the_command_as_the_shell_tool_shows_it(tmp_path: Path):
    assert subjects(SCRIPT, SCRIPT.call(script("git log -3"), scene(tmp_path))) == {"run:git log -3"}
    assert "within:rm -rf x" in subjects(SCRIPT, SCRIPT.call(script("cd y && rm -rf x"), scene()))
    in_zsh = subjects(SCRIPT, SCRIPT.call(script("rm -rf x", interpreter="zsh"), scene()))
    assert {"within:rm -rf x", "indirect:(zsh -c 'rm -rf x')"} <= in_zsh
    in_python = subjects(SCRIPT, SCRIPT.call(script("print(1)", interpreter="python3"), scene()))
    assert "indirect:(python3 -c 'print(1)')" in in_python


def test_leave_for_a_command_is_none_for_it_with_another_environment():
    plain, set_, other = (
        subjects(SCRIPT, SCRIPT.call(script("git log"), scene(env=env)))
        for env in ({}, {"PATH": "/here"}, {"PATH": "/there"})
    )
    assert plain < set_
    assert set_ - plain != other - plain


def test_whoever_is_asked_sees_what_runs_and_where_but_no_values():
    made = SCRIPT.call(script("make all"), scene("/srv", env={"TOKEN": "geheim"}))
    assert preview(SCRIPT, made) == "bash in /srv, with TOKEN set:\nmake all"


@pytest.mark.parametrize(
    ("props", "said"),
    [
        ({"code": 5}, "code must be text, found a number"),
        ({"outputVariable": "two words"}, "outputVariable must be a name of letters"),
        ({"timeoutSeconds": 0}, "timeoutSeconds must be a number of seconds above 0"),
    ],
)
def test_what_is_wrong_with_a_block_is_told_with_its_place(props: dict[str, Any], said: str):
    with pytest.raises(ValidationError, match=rf"^{said}.* \(script block 'A block', id {ID}, line 7\)$"):
        SCRIPT.call(block("script", **props), scene())


def test_code_that_no_program_could_be_given_is_refused():
    for code, words in (("x" * 200_000, "the code must"), ("a\0b", "code: expected text without NUL")):
        with pytest.raises(ValidationError, match=words):
            prepared(SCRIPT, SCRIPT.call(script(code), scene()))


async def test_no_file_of_variables_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await run(SCRIPT, script("echo"), scene(tmp_path))
    assert os.listdir(tmp_path) == []
