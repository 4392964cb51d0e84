"""An answer that is not whole is completed, and says so: in the answer, in the stream's result, and in the thread."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.http.site import site

from pollux.core.messages import Message, Text
from pollux.engine.model import Done, ModelEvent, ModelRequest
from pollux.providers.scripted import ScriptedProvider
from pollux.testing import chunks, reply
from pollux.testing import scripted as model

HALF = chunks(["Half of", " it"], stop="length", reason="MAX_TOKENS")
MARKS = ("finishReason", "incomplete", "cut")


def marks(run: dict[str, Any]) -> dict[str, Any]:
    return {name: run[name] for name in MARKS if name in run}


class Cut(ScriptedProvider):
    """A model whose answer was longer than it may be."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Done("length", Message("assistant", (Text("Much"),), cut=True))


async def test_an_answer_at_the_output_limit_is_completed_and_marked(tmp_path: Path):
    async with site(tmp_path, model(HALF)) as here:
        run = await here.ada.run("tell me all")
        assert (run["status"], run["summary"], run["errorCode"]) == ("completed", "Half of it", None)
        assert marks(run) == {"finishReason": "length", "incomplete": True}
        again = (await here.ada.get(f"/api/agent/runs/{run['runId']}")).body
        assert marks(again) == marks(run)


async def test_the_result_of_a_stream_is_marked_too(tmp_path: Path):
    async with site(tmp_path, model(HALF)) as here:
        lines = await here.ada.stream("tell me all")
    assert marks(lines[-1]["result"]) == {"finishReason": "length", "incomplete": True}


async def test_a_whole_answer_has_no_marks(tmp_path: Path):
    async with site(tmp_path, model(reply("All of it."))) as here:
        assert marks(await here.ada.run("tell me all")) == {}


async def test_an_answer_that_was_cut_is_marked_in_the_run_the_journal_and_the_thread(tmp_path: Path):
    async with site(tmp_path, Cut()) as here:
        run = await here.ada.run("tell me all")
        assert marks(run) == {"finishReason": "length", "incomplete": True, "cut": True}
        messages = (await here.ada.get(f"/api/agent/threads/{run['threadId']}/messages")).body["items"]
        assert [message.get("cut") for message in messages] == [None, True]
        events = await here.ada.lines("GET", f"/api/agent/runs/{run['runId']}/events")
        (replied,) = [line["data"] for line in events if line["type"] == "ModelReplied"]
        assert replied["message"]["cut"] is True
