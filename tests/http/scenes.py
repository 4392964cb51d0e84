"""What several tests of the routes need: mails to ask about, a model that can be held, and ways to wait for a run."""

import asyncio
from typing import Any

from tests.engine.builders import FakeTool
from tests.http.site import Got, Person, Site
from tests.waiting import HANG_SECONDS

from pollux.core.ids import RunId
from pollux.core.messages import JSON
from pollux.core.run import Run
from pollux.engine.model import ModelRequest
from pollux.providers.scripted import Answer

MAIL: dict[str, JSON] = {"to": "bob@example.com", "body": "It is ready."}
LOCKED = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "body": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}


def mail(result: object = "sent", **spec: Any) -> FakeTool:
    """A side effect with a recipient: a person is asked."""
    return FakeTool("send_mail", result, schema=LOCKED, side_effect=True, repeat="keyed", **spec)


def to(name: str) -> tuple[str, dict[str, JSON]]:
    """A call that writes to somebody."""
    return "send_mail", {"to": f"{name}@example.com"}


class Held:
    """A step of a script that says when the model was asked, and answers when it is let go."""

    def __init__(self, answer: Answer) -> None:
        self.asked = asyncio.Event()
        self.let_go = asyncio.Event()
        self._answer = answer

    async def __call__(self, request: ModelRequest) -> Answer:
        self.asked.set()
        await self.let_go.wait()
        return self._answer


async def soon(event: asyncio.Event) -> None:
    """Wait, but not for ever."""
    async with asyncio.timeout(HANG_SECONDS):
        await event.wait()


async def settled(here: Site, run_id: str) -> Run:
    """The run once nothing is owed."""
    async with asyncio.timeout(HANG_SECONDS):
        return await here.engine.wait_settled(RunId(run_id))


async def left(task: "asyncio.Task[Any]") -> None:
    """Hang up in the middle of a request."""
    task.cancel()
    await asyncio.wait({task})


async def only_run(person: Person) -> dict[str, Any]:
    """The one run that there is."""
    (row,) = (await person.get("/api/agent/runs")).body["items"]
    return (await person.get(f"/api/agent/runs/{row['runId']}")).body


def refused(got: Got, status: int, code: str) -> dict[str, Any]:
    """The error of an answer that is one, in the one form that errors have."""
    assert got.status == status, (got.status, got.body)
    assert set(got.body) == {"ok", "error"} and got.body["ok"] is False
    error: dict[str, Any] = got.body["error"]
    assert error["code"] == code, error
    assert error["message"] and error["correlationId"] == got.headers["x-correlation-id"]
    return error
