"""Every message of ours is one of the protocol's own schema, and one that its SDK's models read."""

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.acp.talking import Notes, heard, talk
from tests.waiting import HANG_SECONDS

from pollux.acp import Limits

SCHEMA = Path(__file__).parents[2].with_name("shared") / "samples/acp-golden/schema-v1.json"

REQUESTS = {
    "initialize": "InitializeRequest",
    "session/new": "NewSessionRequest",
    "session/load": "LoadSessionRequest",
    "session/prompt": "PromptRequest",
    "session/cancel": "CancelNotification",
}
RESPONSES = {
    "session/request_permission": "RequestPermissionResponse",
    "fs/read_text_file": "ReadTextFileResponse",
    "fs/write_text_file": "WriteTextFileResponse",
    "terminal/create": "CreateTerminalResponse",
    "terminal/output": "TerminalOutputResponse",
    "terminal/wait_for_exit": "WaitForTerminalExitResponse",
    "terminal/kill": "KillTerminalResponse",
    "terminal/release": "ReleaseTerminalResponse",
}
SERVERS: list[dict[str, Any]] = [
    {"name": "m", "command": "/bin/m", "args": [], "env": [{"name": "A", "value": "1"}]},
]


@cache
def schema() -> dict[str, Any]:
    if not SCHEMA.exists():
        pytest.skip(f"{SCHEMA} is not there")
    return json.loads(SCHEMA.read_text())


def problems(value: Any, definition: str) -> list[str]:
    part = {"$ref": f"#/$defs/{definition}", "$defs": schema()["$defs"]}
    return [error.message for error in jsonschema_rs.validator_for(part).iter_errors(value)]


def whole(message: dict[str, Any]) -> list[str]:
    return [error.message for error in jsonschema_rs.validator_for(schema()).iter_errors(message)]


async def test_every_request_of_ours_is_valid(tmp_path: Path):
    schema()
    messages = [message for message in await said(tmp_path) if "method" in message]
    assert {message["method"] for message in messages} == set(REQUESTS)
    for message in messages:
        assert whole(message) == [] and problems(message["params"], REQUESTS[message["method"]]) == []


@pytest.mark.parametrize("method", RESPONSES)
async def test_every_answer_of_ours_is_valid(tmp_path: Path, method: str):
    log = tmp_path / "log"
    if method.startswith("terminal/"):
        await talk("terminal", env={"HEARD": str(log)})
        replies = [message for message in heard(log) if "result" in message]
        order = ["create", "output", "wait_for_exit", "kill", "release"]
        reply = replies[order.index(method.removeprefix("terminal/"))]
    else:
        params: dict[str, Any] = {"path": "/a", "content": "new"}
        words = ("asks",) if method.endswith("permission") else ("requests", method, json.dumps(params))
        await talk(*words, env={"HEARD": str(log)}, client=Notes(files={"/a": "text"}))
        [reply] = [message for message in heard(log) if "result" in message]
    assert whole(reply) == [] and problems(reply["result"], RESPONSES[method]) == []


async def test_every_error_of_ours_is_valid(tmp_path: Path):
    log = tmp_path / "log"
    await talk("requests", "unknown/method", "{}", env={"HEARD": str(log)})
    await talk("requests", "fs/read_text_file", '{"path": "/none"}', env={"HEARD": str(log)})
    errors = [message for message in heard(log) if "error" in message]
    assert [error["error"]["code"] for error in errors] == [-32601, -32002]
    for error in errors:
        assert whole(error) == [] and problems(error["error"], "Error") == []


async def said(place: Path) -> list[dict[str, Any]]:
    """What agents hear of us: a session that is opened, one that is loaded, and one that is cancelled."""
    logs = [place / name for name in ("new", "load", "cancel")]
    await talk("echo", env={"HEARD": str(logs[0])}, mcp_servers=SERVERS, system="Be brief.")
    await talk("loads", env={"HEARD": str(logs[1])}, load="old", limits=Limits(replay_quiet_seconds=0.1))
    client = Notes(decision=None)
    call = asyncio.create_task(talk("waits_for_permission", env={"HEARD": str(logs[2])}, client=client))
    await asyncio.wait_for(client.asked.wait(), HANG_SECONDS)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    return [message for log in logs for message in heard(log)]
