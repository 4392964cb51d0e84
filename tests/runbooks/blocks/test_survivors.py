"""No process of a block outlives us, however we end. `-s` prints the figures."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.tools.shell.living import living, new_mark, sleepers
from tests.waiting import until

REPOSITORY = Path(__file__).parents[3]

CODE = "trap '' TERM HUP INT; sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000 &' &); wait"
US = """
import asyncio, sys
from tests.runbooks.blocks.at_work import block, run, scene
from pollux.runbooks.blocks.script import Script
from pollux.runbooks.blocks.terminal import Terminal

async def main(mark, code, folder):
    there = scene(folder, env={"MARK": mark})
    script, terminal = block("script", code=code), block("run", code=code)
    await asyncio.gather(run(Script(), script, there), run(Terminal(), terminal, there))

asyncio.run(main(*sys.argv[1:]))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans"),
]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT], ids=lambda how: how.name)
async def test_nothing_of_a_script_or_a_terminal_survives_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
):
    # The folders of variables that nobody is left to remove.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    mark = new_mark()
    words = [sys.executable, "-c", US, mark, CODE, str(tmp_path)]
    with subprocess.Popen(words, cwd=REPOSITORY, stderr=subprocess.DEVNULL) as us:
        try:
            await until(lambda: sleepers(mark) == 8)
            began = time.monotonic()
            us.send_signal(how)
            await until(lambda: not living(mark))
        finally:
            us.kill()
    print(f"{how.name}: 8 sleepers gone after {time.monotonic() - began:.2f} s")
