"""Recordings of the real service, folded by our provider: nothing of them may be lost.

The recordings of others are read where they are; the repository's own lie beside this file.
"""

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from pollux.core.messages import user
from pollux.emulator.server import run_emulator
from pollux.engine.model import ModelRequest, Turns
from pollux.providers.gemini import GeminiProvider
from pollux.testing.provider_lab import Answered, ask

OWN = Path(__file__).parent / "recordings"
PUBLISHED = Path(__file__).parents[3] / "shared/samples/cassettes/pydantic-ai"
_CALL = re.compile(r"/models/([^:]+):(generateContent|streamGenerateContent)")


def interactions() -> list[Any]:
    found: list[Any] = []
    for file in sorted([*OWN.glob("*.yaml"), *PUBLISHED.glob("*.yaml")]):
        document: Any = yaml.safe_load(file.read_text("utf-8"))
        for number, one in enumerate(document["interactions"]):
            if _CALL.search(one["request"]["uri"]):
                found.append(pytest.param(file, one, id=f"{file.stem}-{number}"))
    return found


def test_the_published_recordings_are_here():
    if not PUBLISHED.exists():
        pytest.skip("the published recordings are not on this machine")
    assert len(list(PUBLISHED.glob("*.yaml"))) >= 12


@pytest.mark.parametrize(("file", "interaction"), interactions())
async def test_a_recording_is_folded_with_every_signature_and_all_text_kept(
    file: Path, interaction: Any, tmp_path: Path
):
    answered = await _replayed(interaction, tmp_path)
    if interaction["response"]["status"]["code"] != 200:
        assert answered.error is not None and not answered.error.started
        return
    recorded = [part for chunk in _chunks(interaction["response"]) for part in _parts(chunk)]
    done = answered.done
    kept: list[dict[str, Any]] = json.loads(done.message.native.body)["parts"] if done.message.native else []
    assert _joined(kept) == _joined(recorded)
    assert [_unlike_text(part) for part in kept if _unlike_text(part)] == [
        _unlike_text(part) for part in recorded if _unlike_text(part)
    ]
    said = "".join(part["text"] for part in recorded if "text" in part and not part.get("thought"))
    assert done.message.text == said
    assert len(done.message.calls) == sum("functionCall" in part for part in recorded)
    assert done.stop != "truncated" and done.stop != "other"


async def _replayed(interaction: Any, folder: Path) -> Answered:
    (folder / "one.yaml").write_text(yaml.safe_dump({"interactions": [interaction]}))
    call = _CALL.search(interaction["request"]["uri"])
    assert call is not None
    async with run_emulator(replay=folder / "one.yaml") as emulator:
        provider = GeminiProvider("a-key", emulator.url)
        request = ModelRequest(call[1], Turns([user("as recorded")]), stream=call[2] == "streamGenerateContent")
        answered = await ask(provider, request)
        await provider.close()
    return answered


def _chunks(response: Any) -> list[dict[str, Any]]:
    if "parsed_body" in response:
        return [response["parsed_body"]]
    text: str = response["body"]["string"]
    if not text.startswith("data:"):
        return [json.loads(text)]
    return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")]


def _parts(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    candidates = cast("list[dict[str, Any]]", chunk.get("candidates") or [])
    contents = [cast("dict[str, Any]", one.get("content") or {}) for one in candidates]
    return [part for content in contents for part in cast("list[dict[str, Any]]", content.get("parts") or [])]


def _joined(parts: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """The turn as text between everything else, whichever way its text was cut."""
    turn: list[tuple[str, str | None]] = []
    for part in parts:
        if set(part) == {"text"}:
            if not part["text"]:
                continue
            if turn and turn[-1][0] == "text":
                turn[-1] = ("text", f"{turn[-1][1]}{part['text']}")
            else:
                turn.append(("text", part["text"]))
        else:
            turn.append((json.dumps(part, sort_keys=True), part.get("thoughtSignature")))
    return turn


def _unlike_text(part: dict[str, Any]) -> dict[str, Any]:
    return {} if set(part) == {"text"} else part
