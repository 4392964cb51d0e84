"""A process of ours that runs commands, for tests that end it. Reads one job as a line, tells what it does."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pollux.tools.shell.sandbox import Box, run_boxed


async def run_all(job: dict[str, Any]) -> None:
    root = Path(job["root"])
    tasks = [
        asyncio.create_task(
            run_boxed(
                ["sh", "-c", text],
                sandbox=job["sandbox"],
                box=Box(root),
                cwd=root,
                env={"PATH": os.environ["PATH"], "MARK": mark, **job["env"]},
                timeout=job["timeout"],
                output_limit=10_000,
            )
        )
        for mark, text in job["commands"].items()
    ]
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, lambda: [task.cancel() for task in tasks])
    loop.add_signal_handler(signal.SIGUSR2, leave_a_copy_behind)
    say("began")
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    say("ended", *(type(end).__name__ if isinstance(end, BaseException) else str(end.exit_code) for end in ended))


def leave_a_copy_behind() -> None:
    """A fork has copies of all that we have open, also of what should tell others of our death."""
    if os.fork() == 0:
        # Until the test lets go of our input.
        while os.read(0, 1000):
            pass
        os._exit(0)
    say("copied")


def say(*words: str) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    asyncio.run(run_all(json.loads(sys.stdin.readline())))
    # Not gone before the test has looked around.
    sys.stdin.readline()
