"""The seed's core loop over HTTP, as one person lives it."""

from pathlib import Path

from tests.http.site import site

from pollux.testing import call, chunks, reply
from pollux.testing import scripted as model
from pollux.tools.demo_mail import demo_mail

MAIL = {"to": "bob@example.com", "subject": "Report", "body": "It is ready."}


async def test_a_mail_is_asked_about_approved_and_sent_once(tmp_path: Path):
    outbox = tmp_path / "outbox.jsonl"
    script = model(call("demo_mail", MAIL), reply("Sent."))
    async with site(tmp_path, script, tools=[demo_mail(outbox)]) as here:
        asked = await here.ada.run("email Bob the report")
        assert (asked["status"], asked["state"]) == ("awaiting_confirmation", "awaiting_confirmation")
        assert not outbox.exists()

        (approval,) = asked["approvals"]
        assert approval["args"] == MAIL
        got = await here.ada.resolve(approval["id"])

        assert (got.status, got.body["status"], got.body["run"]["status"]) == (200, "approved", "completed")
        assert got.body["run"]["summary"] == "Sent."
        assert len(outbox.read_text().splitlines()) == 1
        assert (await here.ada.get("/api/agent/audit/verify")).body["valid"] is True


async def test_a_stream_tells_the_text_as_it_comes_and_the_run_at_the_end(tmp_path: Path):
    async with site(tmp_path, model(chunks(["Hel", "lo"]))) as here:
        lines = await here.ada.stream("say hello")
    first, *deltas, last = lines
    assert (first["type"], first["status"]) == ("status", "planning")
    assert "".join(line["delta"] for line in deltas if line["type"] == "delta") == "Hello"
    assert (last["type"], last["result"]["status"], last["result"]["summary"]) == ("result", "completed", "Hello")
    assert last["result"]["runId"] == first["runId"]
