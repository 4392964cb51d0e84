"""A worker in a process of its own, for the tests that need several, or need to kill one.

python -m tests.dispatch.queue_worker URL CONCURRENCY [hold]    say `ready` and take jobs

The mail tool writes its key into public.acts. With `hold`, it says `began RUN` and never ends.
"""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path

import psycopg
from tests.dispatch.queue_lab import opened
from tests.waiting import HANG_SECONDS

from pollux.core.tools import ToolContext
from pollux.engine.model import ModelRequest
from pollux.engine.system import SystemClock
from pollux.providers.scripted import Answer, ScriptedProvider, call, reply
from pollux.testing.dispatcher_suite import LabTool

MOST = 100_000
REPOSITORY = Path(__file__).parents[2]


class Workers:
    """The workers of a test, by number. None of them outlives it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._processes: list[Process] = []

    async def start(self, *, concurrency: int = 20, hold: bool = False) -> int:
        """One more, which takes jobs from now on."""
        words = [sys.executable, "-m", "tests.dispatch.queue_worker", self._url, str(concurrency)]
        words += ["hold"] if hold else []
        self._processes.append(
            await asyncio.create_subprocess_exec(*words, stdout=PIPE, stderr=DEVNULL, cwd=REPOSITORY)
        )
        number = len(self._processes) - 1
        assert await self.line_of(number) == "ready"
        return number

    async def line_of(self, number: int) -> str:
        """The next line it says."""
        out = self._processes[number].stdout
        assert out
        return (await asyncio.wait_for(out.readline(), HANG_SECONDS)).decode().strip()

    def send(self, number: int, what: signal.Signals) -> None:
        self._processes[number].send_signal(what)

    async def kill(self, number: int) -> None:
        if self._processes[number].returncode is None:
            self._processes[number].kill()
        await self._processes[number].communicate()

    async def kill_all(self) -> None:
        for number in range(len(self._processes)):
            await self.kill(number)


async def answer(request: ModelRequest) -> Answer:
    """Send a mail, then say so."""
    return reply("Sent.") if request.turns[-1].role == "tool" else call("send_mail")


def script() -> ScriptedProvider:
    return ScriptedProvider(*[answer] * MOST)


def mail(url: str) -> LabTool:
    """A side effect that a person is asked about, and that takes a key.

    Whether it holds is no value of the tool's: a worker with another tool would ask again.
    """

    async def send(context: ToolContext) -> str:
        if "hold" in sys.argv:
            print("began", context.run_id, flush=True)
            await asyncio.Event().wait()
        while not await asyncio.to_thread(_act, url, context.key):
            await asyncio.sleep(0.1)
        return "sent"

    return LabTool("send_mail", send, side_effect=True, repeat="keyed")


def _act(url: str, key: str) -> bool:
    try:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("INSERT INTO public.acts VALUES (%s) ON CONFLICT DO NOTHING", (key,))
    except psycopg.OperationalError:
        return False
    return True


async def main(url: str, concurrency: int) -> None:
    await opened(url, SystemClock(), script(), [mail(url)], concurrency=concurrency)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
