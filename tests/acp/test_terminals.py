"""Commands as terminals of an agent."""

import os
from pathlib import Path

import pytest
from tests.tools.shell.living import living, new_mark
from tests.waiting import HANG_SECONDS, until

from pollux.acp import CommandTerminal, TerminalExit, TerminalOutput
from pollux.core.errors import ValidationError
from pollux.tools.shell.output import OnOutput
from pollux.tools.shell.process import ShellResult, run_process

PATH = os.environ["PATH"]


def terminal(*argv: str, limit: int | None = None) -> CommandTerminal:
    def run(on_output: OnOutput):
        env = {"PATH": PATH}
        return run_process(argv, cwd=Path("/"), env=env, timeout=HANG_SECONDS, output_limit=10**6, on_output=on_output)

    return CommandTerminal(run, output_byte_limit=limit)


async def test_a_command_runs_by_itself_and_its_output_stays():
    each = terminal("sh", "-c", "echo out; echo err >&2; exit 3")
    assert await each.wait() == TerminalExit(code=3)
    output = await each.output()
    assert (sorted(output.text.split()), output.is_truncated, output.exit) == (["err", "out"], False, TerminalExit(3))
    await each.release()


async def test_output_can_be_looked_at_while_it_runs():
    mark = new_mark()
    each = terminal("sh", "-c", f": {mark}; echo now; sleep 1000")

    async def has_said_so() -> bool:
        return (await each.output()).text == "now\n"

    await until(has_said_so)
    assert (await each.output()).exit is None
    await each.kill()
    assert living(mark) == {}
    assert await each.output() == TerminalOutput("now\n", False, TerminalExit(signal="SIGKILL"))


async def test_of_much_output_the_end_is_kept_in_whole_characters():
    each = terminal("printf", "aé" * 100, limit=4)
    await each.wait()
    assert await each.output() == TerminalOutput("aé", True, TerminalExit(0))


async def test_a_command_ended_by_a_signal_says_which():
    assert await terminal("sh", "-c", "kill -TERM $$").wait() == TerminalExit(signal="SIGTERM")


async def test_a_command_that_is_none_says_so_in_its_output():
    each = terminal("no-such-program")
    assert await each.wait() == TerminalExit(code=127)
    assert (await each.output()).text.startswith("no-such-program: not found")


async def test_what_is_refused_is_raised_where_somebody_waits():
    async def refused(on_output: OnOutput) -> ShellResult:
        raise ValidationError("no")

    each = CommandTerminal(refused)
    with pytest.raises(ValidationError):
        await each.wait()
    await each.release()


async def test_a_terminal_that_is_released_at_once_leaves_nobody():
    mark = new_mark()
    each = terminal("sh", "-c", f": {mark}; sleep 1000")
    await each.release()
    await until(lambda: not living(mark))
