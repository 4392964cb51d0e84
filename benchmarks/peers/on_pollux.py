"""Pollux: `on_approval="defer"`, the journal in SQLite. `send_email` says nothing of `repeat`, so it is `once`.

The variant `checkable` puts the action's key into the mail and can look for it afterwards.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

from _peer import JOB, MODEL, Peer, add, deliver, main, outbox, send_email

from pollux import Agent, PolluxError, Reconciled, Result, ToolContext, tool


def send_keyed_email(to: str, body: str, context: ToolContext) -> str:
    """Send an e-mail."""
    deliver(f"{to}: {body} ({context.key})")
    return "sent"


async def look(context: ToolContext, args: dict[str, object]) -> Reconciled:
    if outbox().exists() and context.key in outbox().read_text():
        return Reconciled("done", "sent")
    return Reconciled("not_done")


class OnPollux(Peer):
    async def open(self, base: str, folder: Path | None) -> None:
        os.environ |= {"GEMINI_API_KEY": "bench", "GOOGLE_GEMINI_BASE_URL": base}
        self.store = str(folder / "pollux.db") if folder else "memory"
        self.tools = [tool(add), tool(side_effect=True)(send_email)]
        if JOB.get("variant") == "checkable":
            checkable = tool(name="send_email", side_effect=True, repeat="checkable", reconcile=look)
            self.tools[1] = checkable(send_keyed_email)

    def agent(self, session_id: str | None = None) -> Agent:
        limits = {"model_calls": 1000}
        return Agent(
            model=MODEL, tools=self.tools, on_approval="defer", store=self.store, session_id=session_id, limits=limits
        )

    async def ask(self) -> str:
        async with self.agent() as agent:
            await agent.send("mail")
            return agent.session_id

    async def approve(self, ticket: str) -> str:
        async with self.agent(ticket) as agent:
            for question in await agent.approvals():
                await agent.answer(question, True)
            return await ended(agent)

    async def resume(self, ticket: str) -> str:
        async with self.agent(ticket) as agent:
            return await ended(agent)

    async def run(self, prompt: str) -> str:
        async with self.agent() as agent:
            return (await agent.send(prompt)).text

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        async with self.agent() as agent:
            async for event in agent.send_stream(prompt):
                if event.type == "content":
                    yield event.text


async def ended(agent: Agent) -> str:
    try:
        result: Result[None] = await agent.resume()
    except PolluxError as problem:
        return f"{problem.code}: {problem}"
    return result.text


if __name__ == "__main__":
    main(OnPollux)
