"""Junk: whatever arrives, the emulator answers with a refusal of Google's, never with a fault of its own."""

import asyncio
from typing import Any

import aiohttp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.emulator.workspace.desk import ALL, CALENDAR, EVENT, GMAIL, Desk, coded

from pollux.emulator.workspace import mime, run_workspace

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["id", "summary", "start", "end", "attendees", "extendedProperties", "recurrence", "reminders", "description"]
MOMENT = st.fixed_dictionaries(
    {}, optional={"dateTime": JUNK | st.just("2026-11-16T09:00:00Z"), "date": JUNK, "timeZone": JUNK}
)
EVENTS = st.dictionaries(st.sampled_from(FIELDS), JUNK | MOMENT, max_size=4).map(lambda changes: {**EVENT, **changes})
HEADERS = st.lists(st.sampled_from([b"To: ", b"Cc: ", b"Subject: ", b" ", b"X: ", b"Content-Type: "]), max_size=4)
MAILS = st.tuples(HEADERS, st.lists(st.binary(max_size=30), min_size=4, max_size=4)).map(
    lambda pair: b"".join(name + value + b"\r\n" for name, value in zip(*pair, strict=False)) + b"\r\nbody"
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events=st.lists(EVENTS, min_size=5, max_size=5), mails=st.lists(MAILS, min_size=5, max_size=5), body=JUNK)
def test_no_body_is_too_strange_to_be_answered(events: list[dict[str, Any]], mails: list[bytes], body: Any):
    async def story() -> list[int]:
        async with run_workspace() as running, aiohttp.ClientSession() as session:
            desk = Desk(session, running.url, running.tokens(ALL)["access_token"])
            got = [await desk.ask("POST", CALENDAR, json=event) for event in events]
            got += [await desk.ask("POST", f"{GMAIL}/messages/send", json={"raw": coded(mail)}) for mail in mails]
            got += [await desk.ask("POST", f"{GMAIL}/drafts", json={"message": {"raw": coded(mail)}}) for mail in mails]
            got += [await desk.ask("POST", f"{GMAIL}/drafts/send", json=body)]
            got += [await desk.ask("PATCH", f"{CALENDAR}/abcde12345", json=body)]
            got += [
                await desk.get(path) for path in (CALENDAR, f"{GMAIL}/messages?q=x", "/outbox", "/_emulator/ledger")
            ]
            got += [await desk.get(f"/outbox/{entry.id}") for entry in running.ledger]
            return [one.status for one in got]

    assert [status for status in asyncio.run(story()) if status >= 500] == []


@settings(max_examples=300, deadline=None)
@given(raw=st.binary(max_size=200) | MAILS)
def test_taking_a_mail_apart_and_together_loses_no_word_of_its_body(raw: bytes):
    whole = mime.split(raw)
    again = mime.split(whole.raw)
    assert again == whole
    assert mime.split(whole.without("To").under("X-New", "1").raw).body == whole.body


@given(raw=st.binary(max_size=100))
def test_what_is_coded_is_decoded_with_or_without_padding(raw: bytes):
    text = mime.encode_raw(raw)
    assert mime.decode_raw(text) == mime.decode_raw(text.rstrip("=")) == raw
