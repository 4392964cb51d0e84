"""A server of the Model Context Protocol with one tool, as little as there can be of it."""

import json
import os
import sys
from typing import Any

TOOL = {
    "name": "weigh",
    "description": "Weigh a thing.",
    "inputSchema": {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
}

for line in sys.stdin:
    message = json.loads(line)
    params: dict[str, Any] = message.get("params") or {}
    result: dict[str, Any] = {}
    match message.get("method"):
        case "initialize":
            about = {"name": "scales", "version": "1"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            result = {"tools": [TOOL]}
        case "tools/call":
            said = f"{params['arguments']['thing']} weighs {os.environ['WEIGHT']}"
            result = {"content": [{"type": "text", "text": said}]}
        case _:
            pass
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
