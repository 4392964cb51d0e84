"""google-adk: `require_confirmation`, a resumable App, sessions in SQLite by DatabaseSessionService."""

import json
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from _peer import MODEL, Peer, add, main, send_email
from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App, ResumabilityConfig
from google.adk.models.google_llm import Gemini
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.genai import types

CONFIRMATION = "adk_request_confirmation"


class OnAdk(Peer):
    async def open(self, base: str, folder: Path | None) -> None:
        os.environ["GOOGLE_API_KEY"] = "bench"
        tools = [FunctionTool(add), FunctionTool(send_email, require_confirmation=True)]
        agent = Agent(name="bench", model=Gemini(model=MODEL, base_url=base), tools=tools)
        app = App(name="bench", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))
        self.sessions: Any = InMemorySessionService()
        if folder:
            from google.adk.sessions import DatabaseSessionService

            self.sessions = DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{folder}/adk.db")
        self.runner = Runner(app=app, session_service=self.sessions)

    async def ask(self) -> str:
        session = await self.new_session()
        async for event in self.events(session, said("mail")):
            for call in event.get_function_calls():
                if call.name == CONFIRMATION:
                    return json.dumps({"session": session, "call": call.id, "invocation": event.invocation_id})
        raise AssertionError("no confirmation was asked for")

    async def approve(self, ticket: str) -> str:
        waiting = json.loads(ticket)
        yes = types.FunctionResponse(id=waiting["call"], name=CONFIRMATION, response={"confirmed": True})
        message = types.Content(role="user", parts=[types.Part(function_response=yes)])
        return await self.text(self.events(waiting["session"], message, invocation_id=waiting["invocation"]))

    async def resume(self, ticket: str) -> str:
        waiting = json.loads(ticket)
        return await self.text(self.events(waiting["session"], None, invocation_id=waiting["invocation"]))

    async def run(self, prompt: str) -> str:
        return await self.text(self.events(await self.new_session(), said(prompt)))

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        async for event in self.events(await self.new_session(), said(prompt), run_config=config):
            if event.partial and event.content:
                for part in event.content.parts:
                    yield part.text or ""

    async def new_session(self) -> str:
        name = uuid.uuid4().hex
        await self.sessions.create_session(app_name="bench", user_id="u", session_id=name)
        return name

    def events(self, session: str, message: types.Content | None, **options: Any) -> AsyncIterator[Any]:
        options = {"run_config": RunConfig(max_llm_calls=500), **options}
        return self.runner.run_async(user_id="u", session_id=session, new_message=message, **options)

    async def text(self, events: AsyncIterator[Any]) -> str:
        text = ""
        async for event in events:
            if event.is_final_response() and event.content and event.content.parts:
                text = "".join(part.text or "" for part in event.content.parts)
        return text


def said(prompt: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=prompt)])


if __name__ == "__main__":
    main(OnAdk)
