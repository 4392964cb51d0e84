"""Streams: the same runs, told line by line. The first says planning, exactly one last line says how it ended."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.engine.builders import FakeTool, HeldTool
from tests.http.scenes import MAIL, Held, mail, only_run, settled, soon, to
from tests.http.site import Person, site

from pollux.core.messages import Message, Text
from pollux.core.profile import Profile
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest, TextDelta
from pollux.providers.scripted import Answer
from pollux.testing import call, calls, chunks, fail, reply
from pollux.testing import scripted as model

STREAM = "/api/agent/run/stream"
LOOK = call("look")

Line = dict[str, Any]


def texts(lines: list[Line], kind: str = "delta") -> list[str]:
    return [line["delta"] for line in lines if line["type"] == kind]


def kinds(lines: list[Line]) -> list[str]:
    return [line["type"] for line in lines]


@asynccontextmanager
async def reading(person: Person, prompt: str, **more: Any) -> AsyncGenerator[aiohttp.StreamReader]:
    """A stream of which the first line has been read."""
    async with person.open("POST", STREAM, {"prompt": prompt, **more}) as response:
        first = json.loads(await response.content.readline())
        assert (first["type"], first["status"]) == ("status", "planning")
        yield response.content


async def test_the_first_line_says_planning_with_the_ids_before_the_model_answers(tmp_path: Path):
    step = Held(reply("Hello."))
    async with site(tmp_path, model(step)) as here, here.ada.open("POST", STREAM, {"prompt": "hello"}) as response:
        first = json.loads(await response.content.readline())
        await soon(step.asked)
        run = await only_run(here.ada)
        assert first == {
            "type": "status",
            "status": "planning",
            "threadId": run["threadId"],
            "runId": run["runId"],
        }
        step.let_go.set()
        lines = [json.loads(line) async for line in response.content]
    assert kinds(lines) == ["delta", "result"]


async def test_a_stream_has_the_headers_that_keep_it_one(tmp_path: Path):
    async with (
        site(tmp_path, model(reply("Hello."))) as here,
        here.ada.open("POST", STREAM, {"prompt": "hello"}) as response,
    ):
        await response.read()
    assert response.status == 200
    assert response.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert response.headers["cache-control"] == "no-store, no-transform"
    assert "content-length" not in response.headers


async def test_each_line_is_one_object_and_ends_in_a_newline(tmp_path: Path):
    said = 'line\nbreak "quoted" \u2028 ü 😀'
    async with (
        site(tmp_path, model(reply(said))) as here,
        here.ada.open("POST", STREAM, {"prompt": "hello"}) as response,
    ):
        raw = await response.read()
    assert raw.endswith(b"\n") and b"\r" not in raw
    lines: list[Line] = [json.loads(line) for line in raw.split(b"\n")[:-1]]
    assert all(line["type"] for line in lines)
    assert "".join(texts(lines)) == said


async def test_deltas_come_one_by_one_and_are_never_empty(tmp_path: Path):
    script = Speaker(chunks(["Hel", "", "lo", ""]))
    async with site(tmp_path, script) as here, reading(here.ada, "hello") as content:
        assert json.loads(await content.readline()) == {"type": "delta", "delta": "Hel"}
        script.go_on.set()
        lines = [json.loads(line) async for line in content]
    assert (texts(lines), kinds(lines)) == (["lo"], ["delta", "result"])


async def test_thoughts_have_lines_of_their_own(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello.", thought="They greet me."))) as here:
        lines = await here.ada.stream("hello")
    assert (texts(lines, "thought_delta"), texts(lines)) == (["They greet me."], ["Hello."])
    assert lines[-1]["result"]["summary"] == "Hello."


async def test_calls_are_told_with_the_name_of_their_tool_and_a_preview(tmp_path: Path):
    async with site(tmp_path, model(LOOK, reply("Seen.")), tools=[FakeTool("look")]) as here:
        lines = await here.ada.stream("look")
    assert kinds(lines) == ["status", "tool_call", "delta", "result"]
    assert (lines[1]["toolName"], lines[1]["preview"]) == ("look", "look {}")
    assert lines[1]["id"] == lines[-1]["result"]["actions"][0]["id"]


async def test_text_before_and_after_a_call_is_told_once_each(tmp_path: Path):
    script = model(call("look", text="Let me look. "), chunks(["I ", "saw."]))
    async with site(tmp_path, script, tools=[FakeTool("look")]) as here:
        lines = await here.ada.stream("look")
    assert texts(lines) == ["Let me look. ", "I ", "saw."]
    assert kinds(lines).index("tool_call") == 2


@pytest.mark.parametrize("stop", ["bad_call", "empty"])
async def test_an_answer_that_begins_anew_says_so_and_its_old_text_is_not_told_again(tmp_path: Path, stop: Any):
    script = Speaker(chunks(["Hel", "lo"], stop=stop), chunks(["Good ", "day."]))
    async with site(tmp_path, script) as here, reading(here.ada, "hello") as content:
        assert json.loads(await content.readline())["delta"] == "Hel"
        script.go_on.set()
        lines = [json.loads(line) async for line in content]
    assert kinds(lines) == ["delta", "turn_restarted", "delta", "delta", "result"]
    assert texts(lines) == ["lo", "Good ", "day."] and lines[-1]["result"]["summary"] == "Good day."


async def test_who_comes_after_an_answer_began_anew_hears_nothing_of_the_old_one(tmp_path: Path):
    async with site(tmp_path, model(chunks(["Hel", "lo"], stop="bad_call"), reply("Good day."))) as here:
        lines = await here.ada.stream("hello")
    # The model was faster than the reader.
    assert (kinds(lines), texts(lines)) == (["status", "delta", "result"], ["Good day."])


async def test_a_run_that_waits_for_a_person_ends_its_stream_with_the_question(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        lines = await here.ada.stream("email Bob")
        assert kinds(lines) == ["status", "tool_call", "result"]
        result = lines[-1]["result"]
        assert (result["status"], result["approvals"][0]["args"]) == ("awaiting_confirmation", MAIL)
        assert result == (await here.ada.get(f"/api/agent/runs/{result['runId']}")).body


async def test_a_stream_waits_for_what_is_still_at_work_beside_a_question(tmp_path: Path):
    look = HeldTool("look")
    script = model(calls(to("bob"), ("look", {})))
    async with site(tmp_path, script, tools=[look, mail()]) as here, reading(here.ada, "both") as content:
        await soon(look.began)
        assert [json.loads(await content.readline())["type"] for _ in range(2)] == ["tool_call", "tool_call"]
        look.let_go.set()
        (last,) = [json.loads(line) async for line in content]
    assert last["type"] == "result"
    assert sorted(each["state"] for each in last["result"]["actions"]) == ["awaiting_confirmation", "completed"]


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (fail("bad_request", "no"), "model_error"),
        (fail("server", "broke off", after="Hel"), "stream_interrupted"),
        (chunks(["I"], stop="blocked"), "model_error"),
        (fail("auth", "no key"), "auth_error"),
    ],
)
async def test_a_failed_run_ends_its_stream_with_a_result_too(tmp_path: Path, step: Answer, code: str):
    async with site(tmp_path, model(step)) as here:
        lines = await here.ada.stream("hello")
    assert kinds(lines).count("result") == 1 and "error" not in kinds(lines)
    result = lines[-1]["result"]
    assert (result["ok"], result["status"], result["errorCode"]) == (True, "failed", code)
    assert result["summary"]


async def test_a_cancelled_run_ends_its_stream_with_a_result_too(tmp_path: Path):
    step = Held(reply("Too late."))
    async with site(tmp_path, model(step)) as here, reading(here.ada, "think") as content:
        await soon(step.asked)
        await here.ada.post(f"/api/agent/runs/{(await only_run(here.ada))['runId']}/cancel")
        (last,) = [json.loads(line) async for line in content]
    assert (last["type"], last["result"]["errorCode"]) == ("result", "cancelled")


async def test_the_loop_limit_ends_a_stream_with_a_result_too(tmp_path: Path):
    async with site(tmp_path, model(LOOK, LOOK, LOOK), tools=[FakeTool("look")]) as here:
        lines = await here.ada.stream("look")
    assert kinds(lines) == ["status", "tool_call", "tool_call", "result"]
    assert lines[-1]["result"]["errorCode"] == "loop_limit"


async def test_a_stream_and_the_sync_route_answer_alike(tmp_path: Path):
    async with site(tmp_path, model(*[LOOK, reply("Seen.")] * 2), tools=[FakeTool("look")]) as here:
        told = (await here.ada.stream("look"))[-1]["result"]
        answered = await here.ada.run("look")
    fixed = ("runId", "threadId", "createdAt", "updatedAt", "endedAt", "actions")
    assert {k: v for k, v in told.items() if k not in fixed} == {k: v for k, v in answered.items() if k not in fixed}
    assert set(told) == set(answered)


async def test_a_server_that_stops_ends_the_stream_with_an_error_that_names_the_run(tmp_path: Path):
    step = Held(reply("Never."))
    async with site(tmp_path, model(step)) as here, reading(here.ada, "think") as content:
        await soon(step.asked)
        run_id = (await only_run(here.ada))["runId"]
        await here.engine.close()
        (last,) = [json.loads(line) async for line in content]
    assert (last["type"], last["code"], last["runId"]) == ("error", "draining", run_id)
    assert last["error"]


# Who hangs up stops nothing.


async def test_who_leaves_a_stream_before_the_model_answers_finds_the_answer_later(tmp_path: Path):
    step = Held(reply("Hello."))
    async with site(tmp_path, model(step)) as here:
        async with reading(here.ada, "hello"):
            await soon(step.asked)
        step.let_go.set()
        run = await only_run(here.ada)
        await settled(here, run["runId"])
        assert (await only_run(here.ada))["summary"] == "Hello."


async def test_who_leaves_a_stream_between_two_words_finds_all_of_them_later(tmp_path: Path):
    script = Speaker(chunks(["Hel", "lo"]))
    async with site(tmp_path, script) as here:
        async with reading(here.ada, "hello") as content:
            assert json.loads(await content.readline())["delta"] == "Hel"
        script.go_on.set()
        run = await only_run(here.ada)
        await settled(here, run["runId"])
        assert (await only_run(here.ada))["summary"] == "Hello"


async def test_who_leaves_a_stream_while_a_tool_works_finds_it_done_once(tmp_path: Path):
    look = HeldTool("look")
    async with site(tmp_path, model(LOOK, reply("Seen.")), tools=[look]) as here:
        async with reading(here.ada, "look"):
            await soon(look.began)
        look.let_go.set()
        run = await only_run(here.ada)
        await settled(here, run["runId"])
        assert (await only_run(here.ada))["summary"] == "Seen."
    assert (len(look.ran), look.stops) == (1, 0)


async def test_who_leaves_after_the_question_can_still_answer_it(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[tool]) as here:
        async with reading(here.ada, "email Bob") as content:
            assert json.loads(await content.readline())["type"] == "tool_call"
        (asked,) = (await here.ada.get("/api/agent/approvals/pending")).body["items"]
        assert (await here.ada.resolve(asked["id"])).body["run"]["summary"] == "Sent."
    assert len(tool.ran) == 1


async def test_many_streams_at_once_each_tell_their_own(tmp_path: Path):
    async def answer(request: ModelRequest) -> Answer:
        words = request.turns[-1].text.split()
        return chunks([f"{word} " for word in words])

    async with site(tmp_path, model(*[answer] * 30)) as here:
        told = await asyncio.gather(*(here.ada.stream(f"number {n} speaks") for n in range(30)))
    assert ["".join(texts(lines)).strip() for lines in told] == [f"number {n} speaks" for n in range(30)]
    assert len({lines[0]["threadId"] for lines in told}) == 30


async def test_a_profile_with_another_name_streams_too(tmp_path: Path):
    async with site(tmp_path, model(reply("Aye.")), profiles={"pirate": Profile("pirate")}) as here:
        assert (await here.ada.stream("hello", profile="pirate"))[-1]["result"]["profile"] == "pirate"


class Speaker:
    """A model that says its first word, waits to be told to go on, and then says everything else."""

    name = "speaker"

    def __init__(self, *answers: Answer) -> None:
        self.go_on = asyncio.Event()
        self._answers = list(answers)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        answer = self._answers.pop(0)
        for piece in answer.pieces:
            yield TextDelta(piece)
            await self.go_on.wait()
        said = "".join(answer.pieces)
        yield Done(answer.stop or "end", Message("assistant", (Text(said),)), answer.usage, "")

    async def count_tokens(self, request: ModelRequest) -> int:
        return 1

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def close(self) -> None:
        """Nothing is open."""


async def test_ends_of_lines_that_only_unicode_knows_are_escaped(tmp_path: Path):
    said = "one\u2028two\u2029three\x85four"
    async with site(tmp_path, model(reply(said))) as here, reading(here.ada, "say it") as content:
        lines = [line async for line in content]
    assert json.loads(lines[-1])["result"]["summary"] == said
    assert all(len(line.decode().splitlines()) == 1 for line in lines)
