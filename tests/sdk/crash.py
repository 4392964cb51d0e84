"""A process that is killed right after a mail has gone out, before anybody could write down that it had."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from pollux import Agent, ToolContext, tool
from pollux.testing import call, scripted


def mail_tool(outbox: Path, *, deadly: bool = False):
    """A tool whose provider takes our key: the same mail is sent once, however often it is asked for."""

    @tool(side_effect=True, repeat="keyed")
    def mail(to: str, context: ToolContext) -> str:
        """Send a mail."""
        sent = outbox.read_text().splitlines() if outbox.exists() else []
        if context.key not in sent:
            with outbox.open("a") as file:
                file.write(context.key + "\n")
        if deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return "sent"

    return mail


def run_and_kill(cwd: Path, outbox: Path) -> str:
    """Start the process, let it be killed, and return its session's id."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.sdk.crash", str(cwd), str(outbox)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == -signal.SIGKILL, found.stderr
    return found.stdout.strip()


async def main(cwd: str, outbox: str) -> None:
    model = scripted(call("mail", {"to": "bob@example.com"}))
    tools = [mail_tool(Path(outbox), deadly=True)]
    async with Agent("Mail.", model=model, cwd=cwd, tools=tools, on_approval=lambda asked: True) as agent:
        sys.stdout.write(agent.session_id + "\n")
        sys.stdout.flush()
        await agent.send("Mail Bob")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
