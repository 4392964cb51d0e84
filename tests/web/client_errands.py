"""One errand for many pages at once: something in the page, then something a person must agree to, then the end."""

import json
from pathlib import Path

from tests.engine.builders import FakeTool
from tests.page.test_door import BUY

from pollux.core.ids import RunId
from pollux.core.messages import ToolResult
from pollux.engine.model import ModelRequest
from pollux.providers.scripted import Answer, ScriptedProvider, call, chunks


async def errand(request: ModelRequest) -> Answer:
    """What the model says next, whoever asks: the user's words name the errand."""
    results = [part for turn in request.turns for part in turn.parts if isinstance(part, ToolResult)]
    name = next(turn.text for turn in request.turns if turn.role == "user").removeprefix("errand ")
    match len(results):
        case 0:
            return call("click-buy", BUY, text="First I buy.")
        case 1:
            return call("send_mail", {"to": f"{name}@example.com", "body": "hello"})
        case _:
            return chunks(["All ", "done."])


def sent(tool: FakeTool, name: str) -> int:
    """How often the server did its part of this errand."""
    return sum(args["to"] == f"{name}@example.com" for _, args in tool.ran)


def result_of(model: ScriptedProvider, name: str) -> str:
    """What the model was told of the page's call in this errand."""
    told = [request for request in model.requests if request.turns[0].text == f"errand {name}"]
    return str(told[-1].turns)


def run_of(folder: Path) -> RunId:
    """The run that the page in this folder had last to do with."""
    kept = json.loads((folder / "shelf.json").read_text())
    return RunId(kept["step"].get("runId") or json.loads(kept["history"])[-1]["runId"])
