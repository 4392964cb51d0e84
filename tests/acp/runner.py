"""A process of ours that talks with agents, for tests that end it or measure it. Reads one job as a line.

A job is the agents' commands by mark, and a time-out. It says `began`, how each conversation ended, and, where they
were held one after the other, how many KiB each took.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from tests.acp.talking import ALL, Notes

from pollux.acp import AgentCommand, AgentFailed, Terminal, Update, converse
from pollux.acp.messages import load_models


class Forgetful(Notes):
    """Keeps nothing: what is measured is what Pollux keeps."""

    async def update(self, update: Update) -> None:
        pass

    async def terminal(
        self,
        command: str,
        args: tuple[str, ...],
        env: Mapping[str, str],
        cwd: str | None,
        output_byte_limit: int | None,
    ) -> Terminal:
        raise FileNotFoundError(command)


async def talk_all(job: dict[str, Any]) -> None:
    await load_models()
    if job["one_by_one"]:
        say("began")
        for mark, argv in job["agents"].items():
            Path("/proc/self/clear_refs").write_text("5")  # The peak begins again at what is used now.
            before = memory("VmRSS")
            say(await talk(argv, mark, job["timeout"]), memory("VmHWM") - before)
        return
    tasks = [asyncio.create_task(talk(argv, mark, job["timeout"])) for mark, argv in job["agents"].items()]
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: [task.cancel() for task in tasks])
    say("began")
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    say("ended", *(type(end).__name__ if isinstance(end, BaseException) else end for end in ended))


async def talk(argv: list[str], mark: str, timeout: float | None) -> str:
    command = AgentCommand(tuple(argv), {"MARK": mark}, "/")
    try:
        answer = await converse(command, prompt="hi", client=Forgetful(), capabilities=ALL, timeout=timeout)
    except AgentFailed as failed:
        return failed.kind
    return answer.stop_reason


def memory(what: str) -> int:
    """In KiB: VmRSS is what is used now, VmHWM the peak."""
    return int(Path("/proc/self/status").read_text().split(f"{what}:")[1].split()[0])


def say(*words: Any) -> None:
    print(json.dumps(words), flush=True)


def main() -> NoReturn:
    asyncio.run(talk_all(json.loads(sys.stdin.readline())))
    # Not gone before the test has looked around.
    sys.stdin.readline()
    sys.exit()


if __name__ == "__main__":
    main()
