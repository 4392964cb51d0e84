"""openai-agents: `needs_approval`, the RunState as JSON in a file. Conversations are in a SQLiteSession."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from _peer import MODEL, Peer, add, main, send_email
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    RunState,
    SQLiteSession,
    function_tool,
)
from openai import AsyncOpenAI


class OnOpenaiAgents(Peer):
    async def open(self, base: str, folder: Path | None) -> None:
        client = AsyncOpenAI(api_key="bench", base_url=f"{base}/v1")
        model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
        tools = [function_tool(add), function_tool(send_email, needs_approval=True)]
        self.agent = Agent(name="bench", model=model, tools=tools)
        self.folder = folder

    async def ask(self) -> str:
        result = await Runner.run(self.agent, "mail", session=self.session("mail"))
        assert result.interruptions
        self.state.write_text(result.to_state().to_string())
        return "mail"

    async def approve(self, ticket: str) -> str:
        state = await RunState.from_string(self.agent, self.state.read_text())
        for question in state.get_interruptions():
            state.approve(question)
        # The yes is kept, too, before anything comes of it.
        self.state.write_text(state.to_string())
        return await self.go_on(state, ticket)

    async def resume(self, ticket: str) -> str:
        return await self.go_on(await RunState.from_string(self.agent, self.state.read_text()), ticket)

    async def go_on(self, state: RunState, ticket: str) -> str:
        result = await Runner.run(self.agent, state, session=self.session(ticket))
        self.state.write_text(result.to_state().to_string())
        return str(result.final_output)

    async def run(self, prompt: str) -> str:
        session = self.session(uuid.uuid4().hex)
        result = await Runner.run(self.agent, prompt, max_turns=500, session=session)
        if session:
            session.close()
        return str(result.final_output)

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        async for event in Runner.run_streamed(self.agent, prompt).stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                yield event.data.delta

    @property
    def state(self) -> Path:
        assert self.folder
        return self.folder / "state.json"

    def session(self, name: str) -> SQLiteSession | None:
        return SQLiteSession(name, self.folder / "sessions.db") if self.folder else None


if __name__ == "__main__":
    main(OnOpenaiAgents)
