"""Each fault, by its raw effect on the wire."""

import asyncio
import time
from typing import Any

import aiohttp
import pytest
from tests.emulator.wire import ADD, FLASH, WEATHER, Wire, prompt
from tests.waiting import HANG_SECONDS, until

from pollux.emulator import faults
from pollux.emulator.server import Emulator, run_emulator

COUNTING = prompt("count to 4")
BOTH = prompt("weather in Paris and in Rome", WEATHER)


def finish(got: Any) -> str | None:
    return got["candidates"][0].get("finishReason")


@pytest.mark.parametrize("status", sorted(faults.STATUSES))
async def test_a_status_is_answered_in_the_real_shape(wire: Wire, status: str):
    for got in [await wire.ask(COUNTING, fault=status), await wire.stream(COUNTING, fault=status)]:
        assert got.status == got.error["code"] == int(status)
        assert set(got.error) >= {"code", "message", "status"}


async def test_429_says_when_to_come_back_and_what_was_exceeded(wire: Wire):
    error = (await wire.ask(COUNTING, fault="429;retry=2")).error
    kinds = {one["@type"].rsplit(".", 1)[-1]: one for one in error["details"]}
    assert kinds["RetryInfo"]["retryDelay"] == "2s"
    assert "PerMinute" in kinds["QuotaFailure"]["violations"][0]["quotaId"]


async def test_429_for_the_day_says_so_and_gives_no_delay(wire: Wire):
    error = (await wire.ask(COUNTING, fault="429;quota=day")).error
    assert "PerDay" in error["details"][0]["violations"][0]["quotaId"]
    assert not any(one["@type"].endswith("RetryInfo") for one in error["details"])


async def test_html_instead_of_json(wire: Wire):
    got = await wire.ask(COUNTING, fault="html")
    assert got.status == 502 and got.headers["content-type"].startswith("text/html") and b"<html>" in got.raw


async def test_reset_breaks_the_connection_before_any_header(wire: Wire):
    with pytest.raises((aiohttp.ClientConnectionError, ConnectionResetError)):
        await wire.stream(COUNTING, fault="reset")


async def partial(wire: Wire, fault: str, *, method: str = "streamGenerateContent?alt=sse") -> tuple[bytes, bool]:
    """What arrived, and whether the connection broke."""
    headers = {"x-goog-api-key": "k", "x-emulator-fault": fault}
    received = b""
    url = f"{wire.url}/v1beta/models/{FLASH}:{method}"
    async with wire.session.post(url, json=COUNTING, headers=headers) as response:
        try:
            async for piece in response.content.iter_any():
                received += piece
        except (aiohttp.ClientError, ConnectionError):
            return received, True
    return received, False


async def test_reset_mid_breaks_it_after_some_chunks(wire: Wire):
    received, broken = await partial(wire, "reset-mid;after=2")
    assert broken and received.count(b"data: ") == 2


async def test_truncated_cuts_a_chunk_in_two(wire: Wire):
    received, broken = await partial(wire, "truncated;after=1")
    assert broken and received.count(b"data: ") == 2 and not received.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("fault", ["reset-mid", "truncated"])
async def test_a_whole_answer_can_be_cut_as_well(wire: Wire, fault: str):
    received, broken = await partial(wire, fault, method="generateContent")
    assert broken and received.startswith(b"{") and b"responseId" not in received


async def test_half_ends_cleanly_and_never_says_why(wire: Wire):
    received, broken = await partial(wire, "half")
    assert not broken and received.endswith(b"\r\n\r\n") and b"finishReason" not in received
    assert finish((await wire.ask(COUNTING, fault="half")).json) is None


async def test_half_may_leave_a_call_behind_that_was_never_finished(wire: Wire):
    events = (await wire.stream(prompt("add 2 and 3", ADD), fault="half")).events
    assert "functionCall" in events[0]["candidates"][0]["content"]["parts"][0]
    assert all(finish(event) is None for event in events)


async def test_an_error_object_comes_inside_a_200_stream(wire: Wire):
    got = await wire.stream(COUNTING, fault="stream-error;after=2")
    assert got.status == 200 and len(got.events) == 3
    assert got.events[-1]["error"]["status"] == "UNAVAILABLE"
    assert (await wire.stream(COUNTING, fault="stream-error", alt="")).json[-1]["error"]["code"] == 503
    assert (await wire.ask(COUNTING, fault="stream-error")).status == 500


async def test_slow_waits_before_each_chunk(wire: Wire):
    began = time.monotonic()
    got = await wire.stream(COUNTING, fault="slow;every=20")
    assert time.monotonic() - began >= 0.02 * len(got.events)


@pytest.mark.parametrize("fault", ["idle", "silent"])
async def test_silence_ends_when_the_emulator_does(fault: str):
    async with aiohttp.ClientSession() as session, asyncio.timeout(HANG_SECONDS):
        async with run_emulator() as emulator:
            asking = asyncio.create_task(Wire(session, emulator.url).stream(COUNTING, fault=fault))
            await until(lambda: emulator.requests)
        with pytest.raises(aiohttp.ClientError):
            await asking


async def test_idle_brings_the_first_chunk_before_it_falls_silent(wire: Wire):
    headers = {"x-goog-api-key": "k", "x-emulator-fault": "idle"}
    url = f"{wire.url}/v1beta/models/{FLASH}:streamGenerateContent?alt=sse"
    async with wire.session.post(url, json=COUNTING, headers=headers) as response:
        assert (await response.content.readany()).startswith(b"data: {")
        more = asyncio.create_task(response.content.readany())
        # While another hears all of the same answer.
        assert len((await wire.stream(COUNTING)).events) > 1
        assert not more.done()
        more.cancel()


async def test_split_utf8_cuts_inside_characters(wire: Wire):
    headers = {"x-goog-api-key": "k", "x-emulator-fault": "split-utf8"}
    url = f"{wire.url}/v1beta/models/{FLASH}:streamGenerateContent?alt=sse"
    async with wire.session.post(url, json=prompt("say été"), headers=headers) as response:
        pieces = [piece async for piece, _ in response.content.iter_chunks()]
    assert any(piece[:1] and piece[0] & 0xC0 == 0x80 for piece in pieces)
    assert "été" in b"".join(pieces).decode() and "🎉" in b"".join(pieces).decode()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("malformed-call", "MALFORMED_FUNCTION_CALL"),
        ("unexpected-call", "UNEXPECTED_TOOL_CALL"),
        ("too-many-calls", "TOO_MANY_TOOL_CALLS"),
        ("safety", "SAFETY"),
        ("recitation", "RECITATION"),
        ("max-tokens", "MAX_TOKENS"),
        ("unknown-reason", "SOMETHING_NEW"),
        ("empty", "STOP"),
    ],
)
async def test_a_finish_reason_is_given(wire: Wire, fault: str, reason: str):
    whole = (await wire.ask(COUNTING, fault=fault)).json
    streamed = (await wire.stream(COUNTING, fault=fault)).events
    assert finish(whole) == finish(streamed[-1]) == reason
    explains = fault in ("malformed-call", "unexpected-call", "too-many-calls", "recitation", "unknown-reason")
    assert ("finishMessage" in whole["candidates"][0]) is explains


async def test_safety_shows_its_ratings_and_no_parts(wire: Wire):
    candidate = (await wire.ask(COUNTING, fault="safety")).json["candidates"][0]
    assert candidate["content"] == {} and candidate["safetyRatings"][0]["blocked"] is True


async def test_block_has_feedback_and_no_candidates(wire: Wire):
    got = (await wire.ask(COUNTING, fault="block")).json
    assert got["promptFeedback"] == {"blockReason": "PROHIBITED_CONTENT"} and "candidates" not in got


async def test_no_candidates_is_an_empty_list(wire: Wire):
    assert (await wire.ask(COUNTING, fault="no-candidates")).json["candidates"] == []
    assert [one["candidates"] for one in (await wire.stream(COUNTING, fault="no-candidates")).events] == [[]]


async def test_empty_is_a_candidate_without_parts(wire: Wire):
    assert (await wire.ask(COUNTING, fault="empty")).json["candidates"][0]["content"] == {"role": "model"}


async def test_unknown_parts_and_fields_are_there_to_be_kept(wire: Wire):
    got = (await wire.ask(COUNTING, fault="unknown-part")).json
    assert "hologram" in got["candidates"][0]["content"]["parts"][-1]
    assert "auroraScore" in got["candidates"][0] and "somethingNew" in got


async def test_huge_is_as_large_as_asked(wire: Wire):
    got = await wire.stream(COUNTING, fault="huge;size=3000000")
    assert len(got.events[0]["candidates"][0]["content"]["parts"][0]["text"]) == 3_000_000


async def test_bad_json_is_one_broken_line_among_good_ones(wire: Wire):
    raw = (await wire.stream(COUNTING, fault="bad-json;after=1")).raw
    lines = [line for line in raw.split(b"\r\n") if line]
    assert lines[1].endswith(b"cut of") and len(lines) == 6


async def test_calls_can_lack_ids_or_share_one(wire: Wire):
    bare = (await wire.ask(BOTH, fault="no-id")).json["candidates"][0]["content"]["parts"]
    same = (await wire.ask(BOTH, fault="duplicate-ids")).json["candidates"][0]["content"]["parts"]
    assert all("id" not in part["functionCall"] for part in bare)
    assert len({part["functionCall"]["id"] for part in same}) == 1 and len(same) == 2


async def test_calls_can_come_one_per_chunk(wire: Wire):
    events = (await wire.stream(BOTH, fault="split-calls")).events
    calls = [part for event in events for part in event["candidates"][0]["content"]["parts"] if "functionCall" in part]
    assert len(events) == 3 and len(calls) == 2 and "thoughtSignature" not in calls[1]


@pytest.mark.parametrize(
    ("fault", "start", "end"),
    [
        ("lf", b"data: {", b"}\n\n"),
        ("cr", b"data: {", b"}\r\r"),
        ("crlf", b"data: {", b"}\r\n\r\n"),
        ("comments", b": keep-alive\r\n\r\ndata: {", b"}\r\n\r\n"),
        ("events", b"event: message\r\nid: 0\r\nretry: 1000\r\ndata: {", b"}\r\n\r\n"),
        ("multi-line", b'data: {\r\ndata:  "candidates"', b"data: }\r\n\r\n"),
    ],
)
async def test_events_can_be_framed_in_every_lawful_way(wire: Wire, fault: str, start: bytes, end: bytes):
    raw = (await wire.stream(COUNTING, fault=fault)).raw
    assert raw.startswith(start) and raw.endswith(end)


async def test_times_limits_a_fault_to_the_first_requests(wire: Wire, emulator: Emulator):
    header = [(await wire.ask(COUNTING, fault="503;times=2")).status for _ in range(3)]
    suffix = [(await wire.ask(COUNTING, model=FLASH + "--429-retry1-times1")).status for _ in range(2)]
    assert header == [503, 503, 200] and suffix == [429, 200]
    emulator.clear()
    assert (await wire.ask(COUNTING, fault="503;times=2")).status == 503


async def test_a_scenario_chooses_by_model_and_words():
    scenario = [
        {"match": {"contains": "café"}, "fault": "500", "times": 1},
        {"match": {"model": "gemini-2.5-pro"}, "fault": "safety"},
    ]
    async with run_emulator(scenario=scenario) as emulator, aiohttp.ClientSession() as session:
        wire = Wire(session, emulator.url)
        statuses = [(await wire.ask(prompt("say café"))).status for _ in range(2)]
        assert statuses == [500, 200]
        assert finish((await wire.ask(COUNTING, model="gemini-2.5-pro")).json) == "SAFETY"
        assert finish((await wire.ask(COUNTING)).json) == "STOP"


async def test_an_unknown_fault_lists_the_known_ones(wire: Wire):
    got = await wire.ask(COUNTING, fault="meteor")
    assert (
        got.status == 400 and "unknown fault 'meteor'" in got.error["message"] and "reset-mid" in got.error["message"]
    )


@pytest.mark.parametrize("kind", faults.KINDS)
def test_every_fault_can_be_a_model_suffix(kind: str):
    assert faults.from_suffix(f"{FLASH}--{kind}-after2-times1") == faults.Fault(kind, {"after": "2", "times": "1"})


async def test_the_list_of_models_can_fail_too(wire: Wire):
    assert (await wire.send("GET", "/v1beta/models", fault="503")).status == 503
    assert (await wire.send("GET", f"/v1beta/models/{FLASH}--429")).status == 429
    with pytest.raises(aiohttp.ClientError):
        await wire.send("GET", "/v1beta/models", fault="truncated")


async def test_half_can_end_after_a_chosen_chunk(wire: Wire):
    assert len((await wire.stream(COUNTING, fault="half;after=2")).events) == 2
