"""Files that come with a prompt: taken within bounds, shown by name, given back to their owner so that nothing runs."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.http.scenes import MAIL, mail, refused
from tests.http.site import Got, Person, site

from pollux.core.ids import UserId
from pollux.core.messages import Blob, Message, Text, Usage
from pollux.core.profile import Limits, Profile
from pollux.emulator import run_emulator
from pollux.engine.model import ModelRequest
from pollux.http import attachments
from pollux.http.attachments import LARGEST, LARGEST_TOGETHER
from pollux.providers.gemini import GeminiProvider
from pollux.providers.scripted import Answer
from pollux.stores.sqlite import SqliteStore
from pollux.testing import call, reply
from pollux.testing import scripted as model

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
RUN, STREAM = "/api/agent/run", "/api/agent/run/stream"


def file(data: bytes, name: str = "dot.png", mime: str = "image/png") -> dict[str, str]:
    return {"name": name, "mimeType": mime, "data": b64encode(data).decode()}


async def ask(person: Person, *files: Mapping[str, Any], path: str = RUN) -> Got:
    return await person.post(path, {"prompt": "What is this?", "attachments": list(files)})


async def test_the_model_reads_what_came_with_the_prompt(tmp_path: Path):
    seen: list[Message] = []

    async def look(request: ModelRequest) -> Answer:
        seen.append(request.turns[-1])
        return reply("A dot.")

    async with site(tmp_path, model(look)) as here:
        got = await ask(here.ada, file(PNG), file("Grüße".encode(), "notes.md", "text/markdown"))
    assert (got.status, got.body["summary"]) == (200, "A dot.")
    text, image, notes = seen[0].parts
    assert isinstance(text, Text) and text.text == "What is this?"
    assert image == Blob("image/png", PNG, "dot.png")
    assert notes == Blob("text/markdown", "Grüße".encode(), "notes.md")


async def test_a_message_names_its_files_and_their_owner_gets_them_back(tmp_path: Path):
    store = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)
    async with site(tmp_path, model(reply("A dot.")), store=store) as here:
        html = b"<script>alert(1)</script>"
        run = (await ask(here.ada, file(PNG), file(html, "a “page”.html", "text/html"))).body
        place = f"/api/agent/threads/{run['threadId']}"
        asked, answered = (await here.ada.get(f"{place}/messages")).body["items"]
        assert asked["attachments"] == [
            {"id": "1.0", "name": "dot.png", "mimeType": "image/png", "size": len(PNG)},
            {"id": "1.1", "name": "a “page”.html", "mimeType": "text/html", "size": len(html)},
        ]
        assert answered["attachments"] == []
        image, page = [await here.ada.get(f"{place}/attachments/{each['id']}") for each in asked["attachments"]]
        assert (image.body, image.headers["content-type"]) == (PNG, "image/png")
        assert image.headers["content-disposition"] == "inline; filename*=UTF-8''dot.png"
        assert (page.body, page.headers["content-type"]) == (html, "application/octet-stream")
        assert page.headers["content-disposition"].startswith("attachment; filename*=UTF-8''a%20%E2%80%9Cpage")
        for got in (image, page):
            assert got.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in got.headers["content-security-policy"]
        for wrong in ("1.2", "0.0", "2.0", "9.0", "1", "1.", ".0", "-1.0", "1.0.0", "١.0", "x" * 100):
            refused(await here.ada.get(f"{place}/attachments/{wrong}"), 404, "not_found")
        refused(await here.bob.get(f"{place}/attachments/1.0"), 404, "not_found")
        assert (await here.ada.send("DELETE", place)).status == 200
        refused(await here.ada.get(f"{place}/attachments/1.0"), 404, "not_found")


async def test_the_journal_tells_a_file_by_name_and_size(tmp_path: Path):
    async with site(tmp_path, model(reply("A dot."))) as here:
        run = (await ask(here.ada, file(PNG), file(b"ab", "a.txt", "text/plain"))).body
        lines = await here.ada.lines("GET", f"/api/agent/runs/{run['runId']}/events")
    blobs = [part for part in lines[0]["data"]["prompt"]["parts"] if part["type"] == "blob"]
    assert blobs == [
        {"type": "blob", "mime": "image/png", "name": "dot.png", "size": len(PNG)},
        {"type": "blob", "mime": "text/plain", "name": "a.txt", "size": 2},
    ]


async def test_an_approval_says_that_what_is_asked_may_come_from_a_file(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = (await ask(here.ada, file(PNG))).body
        # A list of questions holds no files: they would all be held at once.
        (question,) = await here.engine.queries.approvals(UserId("ada"))
        assert question.run.messages[0].parts == (Text("What is this?"),)
        assert (await here.ada.get("/api/agent/approvals/pending")).body["items"][0]["prompt"] == "What is this?"
    assert run["approvals"][0]["provenance"] == ["attachment", "user"]


@pytest.mark.parametrize(
    "given",
    [
        {**file(PNG), "mimeType": "image/svg+xml"},
        {**file(PNG), "mimeType": "video/mp4"},
        {**file(PNG), "data": "no base64!"},
        {**file(PNG), "data": "data:image/png;base64,iVBORw0KGgo="},
        {**file(PNG), "data": "YQ"},
        {**file(PNG), "name": "two\nlines"},
        file(b"GIF89a", mime="image/png"),
        file(b"RIFF1234AVI ", mime="image/webp"),
        file(b"\xff\xfe", mime="text/plain"),
    ],
    ids=lambda given: f"{given['mimeType']}-{given['data'][:12]}",
)
async def test_what_is_no_file_of_ours_is_refused(tmp_path: Path, given: dict[str, str]):
    async with site(tmp_path, model()) as here:
        for path in (RUN, STREAM):
            error = refused(await ask(here.ada, file(PNG), given, path=path), 400, "bad_attachment")
            assert error["message"].startswith("attachment 2")
        assert (await here.ada.get("/api/agent/runs")).body["items"] == []


async def test_members_that_do_not_fit_are_refused_by_name(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for given in (
            {**file(PNG), "data": ""}, {**file(PNG), "name": ""}, {**file(PNG), "size": 3}, {"name": "a"}, "text",
        ):  # fmt: skip
            refused(await ask(here.ada, given), 400, "invalid")  # pyright: ignore[reportArgumentType]
        refused(await ask(here.ada, *[file(b"a", mime="text/plain")] * 9), 400, "invalid")


async def test_too_much_is_refused_with_413(tmp_path: Path):
    async with site(tmp_path, model(reply("Long."))) as here:
        full = file(b"a" * LARGEST, "a.txt", "text/plain")
        over = file(b"a" * (LARGEST + 1), "a.txt", "text/plain")
        assert "5242880" in refused(await ask(here.ada, over), 413, "too_large")["message"]
        rest, more = [file(b"b" * (LARGEST_TOGETHER - LARGEST + n), "b.txt", "text/plain") for n in (0, 1)]
        assert "together" in refused(await ask(here.ada, full, more), 413, "too_large")["message"]
        assert "the body" in refused(await ask(here.ada, full, full), 413, "too_large")["message"]
        assert (await ask(here.ada, full, rest)).body["summary"] == "Long."
        # Other routes take as much as before.
        refused(await here.ada.post("/api/agent/approvals/resolve", {"feedback": "x" * (2 << 20)}), 413, "too_large")


async def test_a_conversation_takes_no_more_files_than_a_model_takes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(attachments, "LARGEST_IN_THREAD", 1_000)
    profiles = {"default": Profile(limits=Limits(model_calls=3, compress_at=800))}
    long = replace(reply("Long."), usage=Usage(900, 1))
    steps = [*[reply("Seen.")] * 12, long, reply("A summary."), reply("A summary."), *[reply("Seen.")] * 3]
    async with site(tmp_path, model(*steps), profiles=profiles) as here:

        async def add(size: int, thread: str, key: str = "") -> Got:
            body = {"prompt": "And this?", "attachments": [file(b"a" * size, "a.txt", "text/plain")]}
            headers = {"Idempotency-Key": key} if key else None
            return await here.ada.post(RUN, body | ({"threadId": thread} if thread else {}), headers)

        thread: str = (await add(500, "")).body["threadId"]
        for _ in range(10):
            await here.ada.run("go on", threadId=thread)
        assert (await add(500, thread, "the second")).status == 200
        error = refused(await add(1, thread), 413, "too_large")
        assert "1000 bytes" in error["message"] and "new conversation" in error["message"]
        # It goes on without files, elsewhere with them, and what was taken before was taken.
        assert (await add(500, thread, "the second")).status == 200
        swapped = {"prompt": "What is this?", "threadId": thread, "attachments": [file(PNG)]}
        refused(await here.bob.post(RUN, swapped), 404, "not_found")
        await here.ada.run("Without.", threadId=thread)
        # What a summary stands for is not sent any more.
        await here.ada.run("Shortened.", threadId=thread)
        assert (await add(500, thread)).status == 200


async def test_a_key_stands_for_the_files_too(tmp_path: Path):
    key = {"Idempotency-Key": "once"}
    async with site(tmp_path, model(reply("A dot."), reply("Another."))) as here:
        body = {"prompt": "What is this?", "attachments": [file(PNG)]}
        first, again = [await here.ada.post(RUN, body, key) for _ in range(2)]
        assert first.body["runId"] == again.body["runId"]
        for other in ([], [file(PNG + b"!")], [file(PNG, "other.png")]):
            changed = await here.ada.post(RUN, {**body, "attachments": other}, key)
            refused(changed, 409, "idempotency_mismatch")
        refused(await here.ada.post(RUN, {"prompt": body["prompt"]}, key), 409, "idempotency_mismatch")


async def test_the_emulator_sees_what_came_along(tmp_path: Path):
    async with run_emulator(port=0) as emulator:
        provider = GeminiProvider("a-key", emulator.url)
        async with site(tmp_path, provider) as here:
            run = (await ask(here.ada, file(PNG))).body
            lines = await here.ada.stream("What is this?", attachments=[file(PNG)])
        await provider.close()
    assert f"image/png ({len(PNG)} bytes)" in run["summary"]
    assert lines[-1]["result"]["summary"] == run["summary"]
