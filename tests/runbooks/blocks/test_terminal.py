"""Terminals: what a program shows there, that it ends by itself, and that nothing of it stays."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.blocks.at_work import ID, Told, block, prepared, preview, run, scene, subjects
from tests.tools.shell.living import living, new_mark, sleepers
from tests.waiting import until

from pollux.core.errors import ToolError, ValidationError
from pollux.runbooks.blocks.terminal import Terminal

TERMINAL = Terminal()


def terminal(code: str, **props: Any):
    return block("run", code=code, **props)


async def test_a_program_writes_as_for_a_person_on_a_terminal_of_the_size_that_the_block_says(tmp_path: Path):
    code = "[ -t 1 ] && [ -t 2 ] && echo a terminal; stty size < /dev/fd/1; echo $TERM >&2"
    result = await run(TERMINAL, terminal(code, terminalRows=12, cols=99), scene(tmp_path))
    assert result["output"] == "a terminal\r\n12 99\r\nxterm-256color\r\n"
    assert TERMINAL.output(result) == {"output": result["output"], "byte_count": 35, "cancelled": False}
    assert TERMINAL.succeeded(result)


async def test_a_program_that_asks_for_input_or_a_password_ends_at_once(tmp_path: Path):
    result = await run(TERMINAL, terminal("cat; read -s x < /dev/tty; echo $?"), scene(tmp_path))
    assert "No such device" in result["output"]
    assert result["output"].endswith("1\r\n")


async def test_a_command_that_fails_has_not_succeeded(tmp_path: Path):
    result = await run(TERMINAL, terminal("exit 4"), scene(tmp_path))
    assert (result["exit_code"], TERMINAL.succeeded(result)) == (4, False)


async def test_a_program_that_is_killed_says_by_which_signal(tmp_path: Path):
    assert (await run(TERMINAL, terminal("kill -9 $$"), scene(tmp_path)))["exit_code"] == 137


async def test_what_it_shows_is_told_at_once(tmp_path: Path):
    told = Told()
    made = terminal("echo now; until [ -e go ]; do sleep 0.05; done")
    running = asyncio.create_task(run(TERMINAL, made, scene(tmp_path), told=told))
    await until(lambda: told.all() == "now\r\n")
    assert not running.done()
    (tmp_path / "go").touch()
    await running


async def test_it_sets_variables_also_when_it_fails(tmp_path: Path):
    made = terminal('echo a=1 >> "$ATUIN_OUTPUT_VARS"; false')
    after = TERMINAL.after(scene(tmp_path), made, await run(TERMINAL, made, scene(tmp_path)))
    assert (after.variables["a"].value, after.variables["a"].sources) == ("1", {ID})


async def test_all_that_it_showed_is_counted_and_the_middle_left_out(tmp_path: Path):
    code = "head -c 3000000 /dev/zero | tr '\\0' x; printf end"
    result = await run(TERMINAL, terminal(code), scene(tmp_path))
    assert result["byte_count"] == 3_000_003
    assert result["output"].endswith("xend")
    assert "bytes left out]" in result["output"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
async def test_nothing_survives_a_cancelled_terminal(tmp_path: Path):
    mark = new_mark()
    made = terminal("trap '' TERM HUP; sleep 1000 & setsid sleep 1000 & wait")
    running = asyncio.create_task(run(TERMINAL, made, scene(tmp_path, env={"MARK": mark})))
    await until(lambda: sleepers(mark) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert living(mark) == {}


async def test_a_time_out_ends_the_whole_tree(tmp_path: Path):
    mark = new_mark()
    for seconds in (0.5, 5, 50):
        made = terminal("echo before; setsid sleep 1000 & wait", timeoutSeconds=seconds)
        result = await run(TERMINAL, made, scene(tmp_path, env={"MARK": mark}))
        # On a slow machine the time may be over before anything is said.
        if result["output"]:
            break
    assert (result["exit_code"], result["cancelled"], result["output"]) == (124, True, "before\r\n")
    assert living(mark) == {}


async def test_many_at_once_leave_no_file_open(tmp_path: Path):
    await run(TERMINAL, terminal("echo x"), scene(tmp_path))  # What is opened once and kept is open now.
    before = len(list(Path("/proc/self/fd").iterdir()))
    await asyncio.gather(*(run(TERMINAL, terminal("echo x"), scene(tmp_path)) for _ in range(8)))
    await until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before)


async def test_a_shell_that_is_not_installed_is_told(tmp_path: Path):
    with pytest.raises(ToolError, match="ksh is not installed here"):
        await run(TERMINAL, terminal("x", type="ksh"), scene(tmp_path, env={"PATH": "/nowhere"}))


def test_the_shell_is_the_blocks_own_or_the_users():
    assert Terminal(shell="/usr/bin/zsh").call(terminal("x"), scene()).args["shell"] == "/usr/bin/zsh"
    assert Terminal(shell="/usr/bin/zsh").call(terminal("x", type="bash"), scene()).args["shell"] == "bash"
    assert Terminal(shell="/usr/bin/nu").call(terminal("x"), scene()).args["shell"] == "bash"
    with pytest.raises(ValidationError, match="must be one of"):
        prepared(TERMINAL, TERMINAL.call(terminal("x", type="vim"), scene()))


def test_a_terminal_is_judged_and_shown_like_a_script():
    call = TERMINAL.call(terminal("git log -3"), scene("/srv"))
    assert subjects(TERMINAL, call) == {"run:git log -3"}
    assert preview(TERMINAL, call) == "bash, on a terminal, in /srv:\ngit log -3"
