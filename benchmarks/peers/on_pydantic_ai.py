"""pydantic-ai: deferred tools, `requires_approval`. It keeps nothing itself: the messages are saved to a file."""

from collections.abc import AsyncIterator
from pathlib import Path

from _peer import MODEL, Peer, add, main, send_email
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter, Tool, UsageLimits
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider


class OnPydanticAi(Peer):
    async def open(self, base: str, folder: Path | None) -> None:
        model = GoogleModel(MODEL, provider=GoogleProvider(api_key="bench", base_url=base))
        tools = [Tool(add), Tool(send_email, requires_approval=True)]
        self.agent = Agent(model, tools=tools, output_type=[str, DeferredToolRequests])
        self.saved = folder / "messages.json" if folder else None
        self.limits = UsageLimits(request_limit=None)

    async def ask(self) -> str:
        result = await self.agent.run("mail")
        assert isinstance(result.output, DeferredToolRequests) and self.saved
        self.saved.write_bytes(result.all_messages_json())
        return result.output.approvals[0].tool_call_id

    async def approve(self, ticket: str) -> str:
        assert self.saved
        messages = ModelMessagesTypeAdapter.validate_json(self.saved.read_bytes())
        yes = DeferredToolResults(approvals={ticket: True})
        result = await self.agent.run(message_history=messages, deferred_tool_results=yes)
        self.saved.write_bytes(result.all_messages_json())
        return str(result.output)

    async def resume(self, ticket: str) -> str:
        # What was saved last still ends with the question.
        return await self.approve(ticket)

    async def run(self, prompt: str) -> str:
        result = await self.agent.run(prompt, usage_limits=self.limits)
        if self.saved:
            self.saved.write_bytes(result.all_messages_json())
        return str(result.output)

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        async with self.agent.run_stream(prompt) as result:
            async for text in result.stream_text(delta=True, debounce_by=None):
                yield text


if __name__ == "__main__":
    main(OnPydanticAi)
