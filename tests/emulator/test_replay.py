"""Recordings are served byte for byte, matched by path and body, else in order."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from tests.emulator.wire import Wire, prompt

from pollux.emulator import replay
from pollux.emulator.server import run_emulator

ROOT = Path(__file__).parents[2]
CASSETTES = ROOT.parent / "shared" / "samples" / "cassettes" / "pydantic-ai"
PATH = "/v1beta/models/gemini-3.8-flash:streamGenerateContent"
EVENTS = 'data: {"candidates": [{"content": {"parts": [{"text": "é"}]}}]}\r\n\r\ndata: {"x": 1}\r\n\r\n'


def line(request: dict[str, Any], response: dict[str, Any]) -> str:
    return json.dumps({"request": {"path": PATH, **request}, "response": response}) + "\n"


async def test_lines_of_our_own_are_matched_by_body_and_then_in_order(tmp_path: Path):
    recording = tmp_path / "recorded.jsonl"
    recording.write_text(
        line({"body": prompt("one")}, {"body": EVENTS})
        + line({"body": prompt("two")}, {"body": {"answer": 2}, "status": 201})
    )
    async with run_emulator(replay=recording) as emulator, aiohttp.ClientSession() as session:
        wire = Wire(session, emulator.url)
        second = await wire.stream(prompt("two"))
        first = await wire.stream(prompt("anything else"))
    assert (second.status, second.json) == (201, {"answer": 2})
    assert first.raw == EVENTS.encode() and first.headers["content-type"] == "text/event-stream"


async def test_a_stream_keeps_its_events_apart(tmp_path: Path):
    recording = tmp_path / "recorded.jsonl"
    recording.write_text(line({"body": prompt("one")}, {"body": EVENTS}))
    answer = replay.load(recording).find("POST", PATH, b"")
    assert answer is not None and [frame[-4:] for frame in answer.frames] == [b"\r\n\r\n"] * 2


async def test_what_was_not_recorded_is_planned(tmp_path: Path):
    recording = tmp_path / "recorded.jsonl"
    recording.write_text(line({"method": "GET"}, {"body": "{}"}))
    async with run_emulator(replay=recording) as emulator, aiohttp.ClientSession() as session:
        assert (await Wire(session, emulator.url).ask(prompt("say hi"))).status == 200


def test_a_place_without_recordings_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="holds no recordings"):
        replay.load(tmp_path)


def recorded() -> list[Path]:
    return sorted(CASSETTES.glob("*.yaml"))


@pytest.mark.skipif(not CASSETTES.is_dir(), reason="the shared recordings are not here")
def test_there_are_recordings_to_replay():
    assert len(recorded()) >= 10


@pytest.mark.parametrize("cassette", recorded() or [None], ids=lambda one: one.stem if one else "absent")
async def test_a_real_recording_is_replayed_byte_for_byte(cassette: Path | None):
    if cassette is None:
        pytest.skip("the shared recordings are not here")
    yaml = pytest.importorskip("yaml")
    interactions = yaml.safe_load(cassette.read_text("utf-8"))["interactions"]
    async with run_emulator(replay=cassette) as emulator, aiohttp.ClientSession() as session:
        wire = Wire(session, emulator.url)
        for interaction in interactions:
            request, response = interaction["request"], interaction["response"]
            target = urlsplit(str(request["uri"]))
            path = target.path + (f"?{target.query}" if target.query else "")
            got = await wire.send(request["method"], path, request["parsed_body"])
            assert got.status == response["status"]["code"]
            if "body" in response:
                assert got.raw == response["body"]["string"].encode()
            else:
                assert got.json == response["parsed_body"]
