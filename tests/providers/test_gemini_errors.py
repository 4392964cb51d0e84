"""Gemini's refusals as typed errors: its own bodies, others' bodies, and none at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from pollux.core.errors import ModelError
from pollux.core.messages import Message, ToolCall, ToolResult, user
from pollux.core.redact import Secret
from pollux.engine.model import ModelRequest, Turns
from pollux.providers.gemini_errors import refused, reported
from pollux.providers.gemini_reply import GeminiFold
from pollux.providers.refusals import NEVER, seconds

KEY = Secret("AIzaSyD-canary-0123456789")
PUBLISHED = Path(__file__).parents[3] / "shared/samples/cassettes/errors/errors.jsonl"
TYPE = "type.googleapis.com/google.rpc."


def error(code: int, message: str = "no", *details: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "details": list(details), **more}}).encode()


def refusal(status: int, body: bytes, **more: Any) -> ModelError:
    return refused(status, body, secrets=(KEY,), **more)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "auth"),
        (403, "auth"),
        (404, "not_found"),
        (413, "bad_request"),
        (429, "rate_limit"),
        (500, "server"),
        (502, "server"),
        (503, "overloaded"),
        (504, "server"),
        (302, "protocol"),
    ],
)
@pytest.mark.parametrize("body", [error(0), b"<html>Oops</html>", b"", b"\xff", b"[]", b"null", b'{"error":null}'])
def test_a_status_has_a_kind_whatever_the_body(status: int, kind: str, body: bytes):
    assert refusal(status, body).kind == kind


def test_a_bad_key_is_an_error_of_identity_though_its_status_is_400():
    body = error(400, "API key not valid.", {"@type": TYPE + "ErrorInfo", "reason": "API_KEY_INVALID"})
    assert refusal(400, body).kind == "auth"


def test_the_service_says_when_to_come_back():
    body = error(429, "slow down", {"@type": TYPE + "RetryInfo", "retryDelay": "26.5s"})
    assert refusal(429, body).retry_after == 26.5
    assert refusal(429, error(429), retry_after="3").retry_after == 3
    assert refusal(503, b"", retry_after="7").retry_after == 7
    assert refusal(429, error(429)).retry_after is None


def test_a_quota_for_the_day_is_not_waited_for():
    quota = {"@type": TYPE + "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
    failure = refusal(429, error(429, "slow down", quota, {"@type": TYPE + "RetryInfo", "retryDelay": "2s"}))
    assert failure.retry_after == NEVER
    assert "PerDay" in str(failure) and "waiting does not help" in str(failure)


@pytest.mark.parametrize("details", [None, "text", [None, 1], [{"violations": "x"}], [{"violations": [None]}]])
def test_details_of_any_shape_are_survived(details: Any):
    body = json.dumps({"error": {"code": 429, "message": "m", "details": details}}).encode()
    assert refusal(429, body).kind == "rate_limit"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"code": 503, "status": "UNAVAILABLE"}, "overloaded"),
        ({"status": "RESOURCE_EXHAUSTED"}, "rate_limit"),
        ({"status": "SOMETHING_NEW"}, "server"),
        ("just words", "server"),
    ],
)
def test_an_error_inside_a_stream_names_its_own_status(fields: Any, kind: str):
    assert reported(fields, secrets=(KEY,)).kind == kind


def test_an_array_of_errors_is_read_by_its_first():
    body = b"[" + error(429, "Resource exhausted.", status="RESOURCE_EXHAUSTED") + b"]"
    assert "RESOURCE_EXHAUSTED: Resource exhausted." in str(refusal(429, body))


def test_the_key_is_masked_where_the_service_quotes_it():
    assert KEY.reveal() not in str(refusal(400, error(400, f"key {KEY.reveal()} is bad")))


def test_what_was_said_is_cut_out_of_the_text():
    said = Turns(
        [
            user("my pin is 4711 and my dog is called Rex"),
            Message("assistant", (ToolCall("1", "mail", {"to": "bob@example.com"}),)),
            Message("tool", (ToolResult("1", "mail", {"sent": ["secret result text"]}),)),
        ]
    )
    request = ModelRequest("gemini-3.8-flash", said, system="You are a pirate.")
    message = 'Invalid value "my pin is 4711": my dog is called Rex; bob@example.com; secret result text; pirate.'
    text = str(refusal(400, error(400, message), request=request))
    for word in ("4711", "Rex", "bob@", "secret"):
        assert word not in text
    assert text.startswith("Gemini answered 400: Invalid value")


def test_the_name_of_a_tool_stays_readable():
    message = "Function call is missing a thought_signature in functionCall parts: `default_api:mail`, position 2."
    request = ModelRequest("gemini-3.8-flash", Turns([user("send the mail")]))
    assert message in str(refusal(400, error(400, message), request=request))


def test_a_long_text_is_cut():
    assert len(str(refusal(400, error(400, "x " * 5000)))) < 500


@pytest.mark.parametrize(
    ("text", "value"), [("2s", 2), ("1.5", 1.5), ("250ms", 0.25), ("0s", 0), ("soon", None), ("", None), ("-1s", None)]
)
def test_delays_are_read(text: str, value: float | None):
    assert seconds(text) == value


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published error bodies are not on this machine")
def test_every_published_error_body_is_typed():
    lines = [json.loads(line) for line in PUBLISHED.read_text().splitlines() if line]
    assert lines
    for line in lines:
        body = json.dumps(line["body"]).encode()
        if line["http"] != 200:
            failure = refusal(line["http"], body)
            assert failure.kind in ("rate_limit", "bad_request", "auth", "not_found", "server", "overloaded")
            assert "no readable reason" not in str(failure), line["source"]
            continue
        folding = GeminiFold({}, lambda found: reported(found, secrets=(KEY,)))
        folding.add([body])
        assert folding.failure is not None or folding.finish(), line["source"]
