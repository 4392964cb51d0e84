"""The pages: what was sent, readable and harmless. A mail's HTML is text here, and nothing on a page runs."""

import re

import pytest
from tests.emulator.workspace.desk import MAIL, PEOPLE, Desk

EVIL = b"<script>alert(1)</script><img src=x onerror=alert(1)>"


async def test_the_outbox_lists_mails_and_events_newest_first(desk: Desk):
    await desk.send()
    await desk.insert()
    text = (await desk.get("/outbox")).content.decode()
    assert text.index("Planning") < text.index("Hello")
    assert "ann@example.com, bob@example.com · Bcc eve@example.com" in text


async def test_one_mail_is_shown_whole_and_its_html_as_text(desk: Desk):
    body = b"Subject: " + EVIL + b"\r\nContent-Type: text/html\r\n\r\n" + EVIL
    id = (await desk.send(PEOPLE + body)).json["id"]
    for path in ("/outbox", f"/outbox/{id}"):
        text = (await desk.get(path)).content.decode()
        assert "&lt;script&gt;" in text and "<script" not in text and "<img" not in text
    assert "eve@example.com" in text and "demo@example.com" in text


async def test_one_event_is_shown_with_times_and_people(desk: Desk):
    await desk.insert(summary=EVIL.decode(), description=EVIL.decode(), location="Room 4")
    text = (await desk.get("/outbox/abcde12345")).content.decode()
    assert "<script" not in text and "Room 4" in text and "ann@example.com" in text
    assert "2026-11-16 09:00:00+01:00 (Europe/Berlin)" in text


async def test_an_event_of_days_is_shown_by_its_days(desk: Desk):
    await desk.insert(start={"date": "2026-11-16"}, end={"date": "2026-11-18"}, attendees=[])
    text = (await desk.get("/outbox/abcde12345")).content.decode()
    assert "<dd>2026-11-16</dd>" in text and "<dd>2026-11-18</dd>" in text and "nobody else" in text


async def test_a_draft_is_not_in_the_outbox(desk: Desk):
    await desk.draft()
    assert "Nothing was sent yet" in (await desk.get("/outbox")).content.decode()
    assert (await desk.get("/outbox/none<b>")).status == 404


async def test_the_first_page_says_how_to_point_pollux_here(desk: Desk):
    text = (await desk.get("/")).content.decode()
    names = ("POLLUX_GMAIL_BASE_URL", "POLLUX_CALENDAR_BASE_URL", "POLLUX_GOOGLE_OAUTH_BASE_URL")
    assert [name for name in names if f"{name}={desk.url}" not in text] == [] and "demo@example.com" in text


@pytest.mark.parametrize("path", ["/", "/outbox", "/outbox/none", "/o/oauth2/v2/auth"])
async def test_no_page_lets_anything_run_or_frame_it(desk: Desk, path: str):
    got = await desk.get(path)
    policy = got.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "frame-ancestors 'none'" in policy
    assert got.headers["X-Content-Type-Options"] == "nosniff" and got.headers["Cache-Control"] == "no-store"
    assert not re.search(rb"<(script|iframe|link|img)|\son\w+=|https?://(?!127)", got.content)


async def test_a_page_may_be_asked_for_by_its_head(desk: Desk):
    got = await desk.ask("HEAD", "/outbox")
    assert (got.status, got.content) == (200, b"")


async def test_a_mail_of_many_kinds_is_still_a_page(desk: Desk):
    body = b"Content-Type: multipart/mixed; boundary=x\r\n\r\n"
    parts = [
        b"Content-Type: application/pdf; name=a.pdf\r\n\r\n\xff\xfe",
        b"Content-Type: text/plain; charset=nonsense\r\n\r\n\xff",
    ]
    raw = PEOPLE + body + b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + b"--x--\r\n"
    got = await desk.get(f"/outbox/{(await desk.send(raw)).json['id']}")
    assert got.status == 200 and b"(2 bytes)" in got.content


async def test_the_body_goes_out_as_it_came(desk: Desk):
    id = (await desk.send(MAIL + "Grüße\r\n".encode())).json["id"]
    assert "Grüße" in (await desk.get(f"/outbox/{id}")).content.decode()
