"""agno: `requires_confirmation`, runs in SqliteDb, written after every batch of tools.

The variant `record` adds `@approval`: the question is a record of its own in the database, and is answered there.
"""

import json
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from _peer import JOB, MODEL, Peer, add, main, send_email
from agno.agent import Agent
from agno.approval import approval
from agno.models.google import Gemini
from agno.tools import tool


class OnAgno(Peer):
    async def open(self, base: str, folder: Path | None) -> None:
        kept: dict[str, Any] = {}
        if folder:
            from agno.db.sqlite import SqliteDb

            kept = {"db": SqliteDb(db_file=f"{folder}/agno.db"), "checkpoint": "tool-batch"}
        model = Gemini(id=MODEL, api_key="bench", client_params={"http_options": {"base_url": base}})
        gated = tool(requires_confirmation=True)(send_email)
        self.record = JOB.get("variant") == "record"
        self.agent = Agent(model=model, tools=[add, approval(gated) if self.record else gated], telemetry=False, **kept)

    async def ask(self) -> str:
        session = uuid.uuid4().hex
        run = await self.agent.arun("mail", session_id=session)
        assert run.is_paused
        return json.dumps({"session": session, "run": run.run_id})

    async def approve(self, ticket: str) -> str:
        waiting = json.loads(ticket)
        if self.record:
            return await self.answer_the_record(waiting["run"]) or await self.resume(ticket)
        run = await self.agent.aget_run_output(waiting["run"], session_id=waiting["session"])
        assert run is not None
        for requirement in run.active_requirements:
            requirement.confirm()
        return await self.go_on(waiting, requirements=run.requirements)

    async def resume(self, ticket: str) -> str:
        if self.record:
            return await self.go_on(json.loads(ticket))
        # What is in the database is still paused.
        return await self.approve(ticket)

    async def answer_the_record(self, run: str) -> str:
        """As AgentOS does it: only a record that is still pending takes an answer. Returns why not, if so."""
        records, _ = self.agent.db.get_approvals(run_id=run)
        answer = {"status": "approved", "resolved_by": "ada", "resolved_at": int(time.time())}
        taken = self.agent.db.update_approval(records[0]["id"], expected_status="pending", **answer)
        return "" if taken else "the approval was no longer pending"

    async def go_on(self, waiting: dict[str, str], **options: Any) -> str:
        run = await self.agent.acontinue_run(run_id=waiting["run"], session_id=waiting["session"], **options)
        return str(run.content)

    async def run(self, prompt: str) -> str:
        return str((await self.agent.arun(prompt, session_id=uuid.uuid4().hex)).content)

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        async for event in self.agent.arun(prompt, stream=True):
            if event.event == "RunContent":
                yield event.content or ""


if __name__ == "__main__":
    main(OnAgno)
