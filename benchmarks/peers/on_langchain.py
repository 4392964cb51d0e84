"""langchain on langgraph: HumanInTheLoopMiddleware, AsyncSqliteSaver, every step written before the next begins."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from _peer import MODEL, Peer, add, main, send_email
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_google_genai import ChatGoogleGenerativeAI
from langgraph.types import Command

YES = Command(resume={"decisions": [{"type": "approve"}]})


class OnLangchain(Peer):
    async def open(self, base: str, folder: Path | None) -> None:
        model = ChatGoogleGenerativeAI(model=MODEL, api_key="bench", base_url=base)
        gate = HumanInTheLoopMiddleware(interrupt_on={"send_email": True})
        self.options: dict[str, Any] = {}
        saver = None
        if folder:
            import aiosqlite
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

            saver = AsyncSqliteSaver(await aiosqlite.connect(folder / "langgraph.db"))
            await saver.setup()
            self.options = {"durability": "sync"}
        self.graph = create_agent(model, [add, send_email], middleware=[gate], checkpointer=saver)

    async def ask(self) -> str:
        thread = uuid.uuid4().hex
        result = await self.graph.ainvoke(said("mail"), config(thread), **self.options)
        assert result["__interrupt__"]
        return thread

    async def approve(self, ticket: str) -> str:
        return await self.text(YES, ticket)

    async def resume(self, ticket: str) -> str:
        # No input: go on from the last checkpoint. It has the yes, or it still has the question.
        state = await self.graph.aget_state(config(ticket))
        return await self.text(YES if state.interrupts else None, ticket)

    async def run(self, prompt: str) -> str:
        return await self.text(said(prompt), uuid.uuid4().hex)

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        async for chunk, _ in self.graph.astream(said(prompt), config("t"), stream_mode="messages", **self.options):
            yield str(chunk.text)

    async def text(self, given: Any, thread: str) -> str:
        result = await self.graph.ainvoke(given, config(thread), **self.options)
        return str(result["messages"][-1].text)


def said(prompt: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}]}


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}, "recursion_limit": 1000}


if __name__ == "__main__":
    main(OnLangchain)
