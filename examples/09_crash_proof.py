"""Killed at the worst moment: the mail has gone out, and the process dies before anybody could write that down.

Run it: `python examples/09_crash_proof.py`. It starts itself a second time, and it is that process that is killed.
Afterwards the run goes on where it was, and the mail has been sent once.
"""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import chdir, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from pollux import Agent, ToolContext, tool


@tool(side_effect=True, repeat="keyed")
def send_mail(to: str, body: str, context: ToolContext) -> str:
    """Send an e-mail."""
    # A mail service that takes keys: what it has seen before it does not send again.
    with suppress(FileExistsError), open(f"{context.key}.mail", "x") as mail:
        mail.write(f"{to}: {body}\n")
    if "--die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    return "sent"


def mailer(session_id: str | None = None) -> Agent:
    return Agent("You write mails.", tools=[send_mail], on_approval="defer", session_id=session_id, store="crash.db")


async def ask() -> str:
    """Nobody answers yet: the question is in the journal, and the agent is closed."""
    async with mailer() as agent:
        result = await agent.send("Send an email to bob@example.com saying the report is ready")
        print(f"{result.reason}: {result.approvals[0].preview}")
    return agent.session_id


async def answer_and_die(session_id: str) -> None:
    """Another process says yes. The mail goes out, and the process is killed."""
    async with mailer(session_id) as agent:
        for question in await agent.approvals():
            await agent.answer(question, True)
        await agent.resume()


async def go_on(session_id: str) -> None:
    """A third one only knows the session's id."""
    async with mailer(session_id) as agent:
        result = await agent.resume()
        print(f"{result.reason}: {result.text}")


def main() -> None:
    program = Path(__file__).resolve()
    with TemporaryDirectory() as work, chdir(work):
        session = asyncio.run(ask())
        died = subprocess.run([sys.executable, program, "--die", session], check=False)
        print(f"the second process ended by {signal.Signals(-died.returncode).name}")
        asyncio.run(go_on(session))
        print(f"mails sent: {len(list(Path(work).glob('*.mail')))}")


if __name__ == "__main__":
    if "--die" in sys.argv:
        asyncio.run(answer_and_die(sys.argv[-1]))
    else:
        main()
