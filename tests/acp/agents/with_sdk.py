"""An agent made with the protocol's own SDK for Python: it uses everything that it is granted, and tells about it."""

import asyncio
import json
from typing import Any

from acp.interfaces import Client
from acp.schema import AllowedOutcome, ClientCapabilities, PermissionOption, ToolCallUpdate

import acp


class Thorough:
    """Only what it needs of the SDK's Agent."""

    client: Client
    granted: ClientCapabilities

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> acp.InitializeResponse:
        self.granted = client_capabilities or ClientCapabilities()
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any) -> acp.NewSessionResponse:
        self.servers = [server.name for server in mcp_servers or []]
        return acp.NewSessionResponse(session_id="sdk")

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> acp.PromptResponse:
        client, told = self.client, dict[str, Any](servers=self.servers)
        await client.session_update(session_id, acp.start_tool_call("c1", "Edit it", kind="edit", status="pending"))
        options = [PermissionOption(option_id="go", name="Go", kind="allow_once")]
        call = ToolCallUpdate(tool_call_id="c1", title="Edit it")
        answer = await client.request_permission(session_id=session_id, tool_call=call, options=options)
        told["allowed"] = isinstance(answer.outcome, AllowedOutcome)
        if self.granted.fs and self.granted.fs.write_text_file:
            await client.write_text_file(session_id=session_id, path="/new", content="written")
            told["read"] = (await client.read_text_file(session_id=session_id, path="/new")).content
        if self.granted.terminal:
            terminal = await client.create_terminal(session_id=session_id, command="ls", args=["-l"])
            id = terminal.terminal_id
            told["output"] = (await client.terminal_output(session_id=session_id, terminal_id=id)).output
            told["ended"] = (await client.wait_for_terminal_exit(session_id=session_id, terminal_id=id)).signal
            await client.release_terminal(session_id=session_id, terminal_id=id)
        await client.session_update(session_id, acp.update_tool_call("c1", status="completed"))
        await client.session_update(session_id, acp.update_agent_message_text(json.dumps(told)))
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        pass


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Thorough()))  # pyright: ignore[reportArgumentType]
