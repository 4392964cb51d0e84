"""One call from sending to Done, over an HTTP port that does as it is told."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.providers.fake_http import FakeHttp, FakeResponse

from pollux.core.errors import ModelError
from pollux.core.messages import Usage, user
from pollux.engine.model import ModelInfo, ModelRequest, TextDelta, Turns
from pollux.providers.gemini import GeminiProvider
from pollux.providers.openai import OpenAIProvider
from pollux.testing.provider_lab import ask

REQUEST = ModelRequest("gemini-3.8-flash", Turns([user("hi")]))


def event(text: str, finish: str | None = None, end: str = "\r\n\r\n") -> bytes:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": text}]}, "finishReason": finish}
    chunk = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2}}
    return f"data: {json.dumps(chunk)}{end}".encode()


def gemini(*answers: FakeResponse) -> tuple[GeminiProvider, FakeHttp]:
    http = FakeHttp(list(answers))
    return GeminiProvider("a-key", "http://gemini.test/", http), http


def page(names: list[str], token: str = "") -> FakeResponse:
    models = [{"name": f"models/{name}", "displayName": name.title(), "inputTokenLimit": 5} for name in names]
    return FakeResponse(200, [json.dumps({"models": models, "nextPageToken": token}).encode()])


async def test_a_last_event_without_an_empty_line_counts():
    provider, _ = gemini(FakeResponse(200, [event("He"), event("llo", "STOP", end="")]))
    assert (await ask(provider, REQUEST)).done.message.text == "Hello"


async def test_half_a_last_event_means_that_the_answer_broke_off():
    provider, _ = gemini(FakeResponse(200, [event("He"), event("llo", "STOP")[:40]]))
    done = (await ask(provider, REQUEST)).done
    assert (done.stop, done.message.text) == ("truncated", "He")


async def test_a_failure_after_the_first_text_says_so_and_tells_what_it_cost():
    broken = ModelError("gone", kind="connection")
    provider, _ = gemini(FakeResponse(200, [event("He"), broken]))
    answered = await ask(provider, REQUEST)
    assert answered.events == (TextDelta("He"), Usage(4, 2))
    assert answered.error is broken and broken.started


async def test_a_failure_before_any_text_has_not_started():
    provider, _ = gemini(FakeResponse(200, [event(""), ModelError("gone", kind="connection")]))
    answered = await ask(provider, REQUEST)
    assert answered.events == () and answered.error is not None and not answered.error.started


async def test_a_stream_without_end_is_cut_at_a_bound():
    # Comments, which are no part of any answer.
    piece = b": " + b"x" * 1_000_000 + b"\r\n\r\n"
    provider, _ = gemini(FakeResponse(200, [piece] * 200))
    error = (await ask(provider, REQUEST)).error
    assert error is not None and error.kind == "protocol" and "more than" in str(error)


async def test_what_comes_after_the_limit_of_an_answer_is_not_read():
    pieces: list[bytes | ModelError] = [event("x" * 600) for _ in range(5)]
    provider, _ = gemini(answer := FakeResponse(200, pieces))
    answered = await ask(provider, replace(REQUEST, answer_bytes=1000))
    assert answered.of(TextDelta) == [TextDelta("x" * 600), TextDelta("x" * 400)]
    assert len(answer.pieces) == 3
    # What it has cost so far counts.
    assert answered.done.usage == Usage(4, 2)


async def test_the_model_is_part_of_the_address_and_cannot_leave_it():
    provider, http = gemini(FakeResponse(500), FakeResponse(500), FakeResponse(500))
    for model in ("gemini-3.8-flash", "tunedModels/mine", "a?b#c:d"):
        await ask(provider, ModelRequest(model, Turns([user("hi")])))
    root = "http://gemini.test/v1beta"
    assert http.asked == [
        f"{root}/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        f"{root}/tunedModels/mine:streamGenerateContent?alt=sse",
        f"{root}/models/a%3Fb%23c%3Ad:streamGenerateContent?alt=sse",
    ]


async def test_models_are_read_page_by_page():
    provider, http = gemini(page(["one"], "next page"), page(["two"]))
    assert await provider.models() == (ModelInfo("one", "One", 5), ModelInfo("two", "Two", 5))
    assert http.asked[1].endswith("pageToken=next%20page")


async def test_pages_without_end_are_not_followed_for_ever():
    provider, http = gemini(*(page(["one"], "again") for _ in range(50)))
    await provider.models()
    assert len(http.asked) < 50


async def test_models_that_do_not_generate_are_left_out():
    listed = {"models": [{"name": "models/embed", "supportedGenerationMethods": ["embedContent"]}]}
    provider, _ = gemini(FakeResponse(200, [json.dumps(listed).encode()]))
    assert await provider.models() == ()


@pytest.mark.parametrize("listing", [FakeResponse(500), FakeResponse(200, [b"junk"]), page([])])
async def test_a_listing_that_fails_does_not_hide_that_the_model_is_unknown(listing: FakeResponse):
    provider, _ = gemini(FakeResponse(404, [b'{"error": {"code": 404, "message": "no such model"}}']), listing)
    error = (await ask(provider, REQUEST)).error
    assert error is not None and error.kind == "not_found" and "no such model" in str(error)


async def test_a_count_that_cannot_be_read_or_is_refused_is_an_error():
    provider, _ = gemini(FakeResponse(200, [b"{}"]), FakeResponse(403, []))
    for kind in ("protocol", "auth"):
        with pytest.raises(ModelError) as caught:
            await provider.count_tokens(REQUEST)
        assert caught.value.kind == kind


@pytest.mark.parametrize(("answer", "kind"), [(FakeResponse(200, [b"[]"]), "protocol"), (FakeResponse(401), "auth")])
async def test_a_list_of_models_that_cannot_be_had_is_an_error(answer: FakeResponse, kind: str):
    provider = OpenAIProvider(None, "http://local.test/v1", FakeHttp([answer]))
    with pytest.raises(ModelError) as caught:
        await provider.models()
    assert caught.value.kind == kind
