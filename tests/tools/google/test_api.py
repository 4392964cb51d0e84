"""Asking Google: what is tried again, what is not, and what each kind of failure says."""

from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any

import pytest
from tests.tools.google.asking import (
    ADA,
    Answers,
    Http,
    Paused,
    Tokens,
    answering,
    broken,
    cut,
    half,
    late,
    refused,
    said,
    text,
)

from pollux.core.errors import AuthError, ToolExecutionError, ValidationError
from pollux.tools.google.api import MAX_ANSWER, MAX_SECONDS, GoogleApi
from pollux.tools.google.refusal import Busy, Lost, Refused, wait_asked, words_of
from pollux.tools.google.scopes import CALENDAR, GMAIL, IDENTITY, of_tools

TOKEN = "ya29.first-token"
NEWER = "ya29.second-token"


class Asked:
    """An api, and everything around it that can be looked at."""

    def __init__(self, google: Answers, http: Http) -> None:
        self.google = google
        self.http = http
        self.tokens = Tokens(TOKEN, NEWER)
        self.paused = Paused()
        self.api = GoogleApi(self.http, self.tokens, google.url, pause=self.paused, chance=lambda: 1.0)

    async def get(self) -> Any:
        return await self.api.get(ADA, GMAIL, "/gmail/v1/users/me/drafts", {"maxResults": "5"})

    async def post(self) -> Any:
        return await self.api.post(ADA, GMAIL, "/gmail/v1/users/me/drafts/send", json={"id": "r1"})


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with answering() as google, Http() as http:
        yield Asked(google, http)


async def test_a_get_carries_the_token_and_gives_what_was_answered(asked: Asked):
    asked.google.gives(said(200, {"drafts": []}))
    assert await asked.get() == {"drafts": []}
    [(method, path, headers, _)] = asked.google.seen
    assert (method, path) == ("GET", "/gmail/v1/users/me/drafts?maxResults=5")
    assert headers["Authorization"] == f"Bearer {TOKEN}"


async def test_a_post_carries_json(asked: Asked):
    asked.google.gives(said(200, {"id": "m1"}))
    assert await asked.post() == {"id": "m1"}
    [(method, _, headers, body)] = asked.google.seen
    assert (method, headers["Content-Type"], body) == ("POST", "application/json; charset=utf-8", b'{"id": "r1"}')


async def test_a_query_may_name_a_thing_several_times(asked: Asked):
    asked.google.gives(said(200))
    await asked.api.get(ADA, GMAIL, "/x", {"metadataHeaders": ["Message-ID", "a&b"]})
    assert asked.google.seen[0][1] == "/x?metadataHeaders=Message-ID&metadataHeaders=a%26b"


@pytest.mark.parametrize("verb", ["get", "post"])
async def test_a_refused_token_is_renewed_once_and_the_request_made_again(asked: Asked, verb: str):
    asked.google.gives(refused(401, "Invalid Credentials", "authError"), said(200, {"id": "m1"}))
    assert await getattr(asked, verb)() == {"id": "m1"}
    assert [headers["Authorization"] for _, _, headers, _ in asked.google.seen] == [
        f"Bearer {TOKEN}",
        f"Bearer {NEWER}",
    ]


async def test_a_second_refusal_of_the_token_asks_the_person_to_connect(asked: Asked):
    asked.google.gives(refused(401, "Invalid Credentials", "authError"))
    with pytest.raises(AuthError) as caught:
        await asked.get()
    assert (len(asked.google.seen), asked.tokens.renewals) == (2, 1)
    assert caught.value.connect_url == "/api/google/connect"


SCOPES = {
    "insufficientPermissions": refused(403, "Insufficient Permission", "insufficientPermissions"),
    "details": said(403, {"error": {"code": 403, "details": [{"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]}}),
    "challenge": said(403, WWW_Authenticate='Bearer realm="x", error="insufficient_scope", scope="a"'),
}


@pytest.mark.parametrize("kind", SCOPES)
async def test_a_missing_scope_asks_the_person_to_connect(asked: Asked, kind: str):
    asked.google.gives(SCOPES[kind])
    with pytest.raises(AuthError):
        await asked.post()
    assert len(asked.google.seen) == 1


SLOW = {
    "429": refused(429, "Too many", "rateLimitExceeded"),
    "403 rate": refused(403, "Slow down", "rateLimitExceeded"),
    "403 user rate": refused(403, "Slow down", "userRateLimitExceeded"),
}


@pytest.mark.parametrize("kind", SLOW)
@pytest.mark.parametrize("verb", ["get", "post"])
async def test_a_rate_limit_is_waited_out_also_for_a_post_since_nothing_happened(asked: Asked, kind: str, verb: str):
    asked.google.gives(SLOW[kind], SLOW[kind], said(200, {"id": "m1"}))
    assert await getattr(asked, verb)() == {"id": "m1"}
    assert asked.paused.seconds == [0.5, 1.0]


async def test_google_says_how_long_to_wait(asked: Asked):
    asked.google.gives(refused(429, "Too many", "rateLimitExceeded", Retry_After="7"), said(200))
    await asked.post()
    assert asked.paused.seconds == [7.0]


async def test_a_wait_that_is_too_long_is_told_instead(asked: Asked):
    asked.google.gives(refused(429, "Too many", "rateLimitExceeded", Retry_After="90"))
    with pytest.raises(Busy, match=r"nothing was done\. Try again in 90 seconds"):
        await asked.post()
    assert (len(asked.google.seen), asked.paused.seconds) == (1, [])


async def test_a_rate_limit_that_does_not_end_is_told_after_a_few_tries(asked: Asked):
    asked.google.gives(SLOW["429"])
    with pytest.raises(ToolExecutionError, match="Try again in a minute"):
        await asked.get()
    assert len(asked.google.seen) == 4
    assert sum(asked.paused.seconds) < MAX_SECONDS


async def test_a_get_is_tried_again_when_google_fails_or_the_answer_is_lost(asked: Asked):
    asked.google.gives(said(500), cut, text("<h1>oops</h1>"), said(200, {"drafts": []}))
    assert await asked.get() == {"drafts": []}


async def test_a_get_that_keeps_failing_is_lost_after_a_few_tries(asked: Asked):
    asked.google.gives(said(503))
    with pytest.raises(Lost):
        await asked.get()
    assert len(asked.google.seen) == 4


async def test_a_get_is_not_tried_again_once_its_time_is_up(asked: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pollux.tools.google.api.MAX_SECONDS", 0.0)
    asked.google.gives(said(503))
    with pytest.raises(Lost):
        await asked.get()
    assert len(asked.google.seen) == 1


LOST = {"500": said(500), "503": said(503), "cut": cut, "html": text("<h1>hi</h1>"), "list": said(200, [])}


@pytest.mark.parametrize("kind", LOST)
async def test_a_post_is_not_tried_again_when_it_may_have_had_its_effect(asked: Asked, kind: str):
    asked.google.gives(LOST[kind])
    with pytest.raises(Lost) as caught:
        await asked.post()
    assert (len(asked.google.seen), caught.value.ended) == (1, True)


async def test_after_a_timeout_or_a_gateways_word_google_may_still_be_at_work(asked: Asked):
    asked.google.gives(said(504))
    with pytest.raises(Lost) as caught:
        await asked.post()
    assert not caught.value.ended
    asked.http.fails_at = lambda asked: ("after", late())
    with pytest.raises(Lost) as caught:
        await asked.post()
    assert not caught.value.ended


async def test_a_huge_answer_to_a_post_is_lost(asked: Asked):
    asked.google.gives(text("x" * (MAX_ANSWER + 1)))
    with pytest.raises(Lost, match="more than"):
        await asked.post()


async def test_a_connection_that_breaks_is_lost_and_says_no_more_than_the_host(asked: Asked):
    asked.http.fails_at = lambda asked: ("before", broken())
    with pytest.raises(Lost, match=r"the connection to 127\.0\.0\.1 failed"):
        await asked.post()


@pytest.mark.parametrize("status", [400, 403, 404, 409, 412, 413])
async def test_a_definite_no_is_refused_with_googles_words(asked: Asked, status: int):
    asked.google.gives(refused(status, "Invalid To header", "invalidArgument"))
    with pytest.raises(Refused) as caught:
        await asked.post()
    no = caught.value
    assert (no.status, no.reason, no.message) == (status, "invalidArgument", "Invalid To header")
    assert str(no) == f"Invalid To header ({status} invalidArgument)"
    assert len(asked.google.seen) == 1


async def test_a_definite_no_whose_words_break_off_is_a_no_all_the_same(asked: Asked):
    asked.google.gives(half(404))
    with pytest.raises(Refused, match=r"no reason was given \(404\)"):
        await asked.post()
    asked.google.gives(half(200))
    with pytest.raises(Lost):
        await asked.post()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_no_error_shows_the_token_even_where_google_echoes_it(asked: Asked, status: int):
    asked.google.gives(refused(status, f"bad token {TOKEN} {NEWER}", "invalid", Retry_After="90"))
    with pytest.raises((Refused, AuthError, Busy, Lost)) as caught:
        await asked.post()
    assert TOKEN not in repr(caught.value) + str(caught.value)


JUNK = [b"", b"null", b"[" * 100_000, b'{"error": 5}', b'{"error": {"errors": 5, "details": [5], "message": {}}}']


@pytest.mark.parametrize("body", JUNK, ids=range(len(JUNK)))
def test_a_refusal_in_words_that_nobody_understands_is_a_refusal_all_the_same(body: bytes):
    words = words_of(body, {})
    assert not words.is_about_scopes
    assert not words.is_about_rate


def test_words_are_one_printable_line_of_bounded_length():
    words = words_of(b'{"error": {"message": "a\\r\\nb\\u0000' + b"c" * 10_000 + b'"}}', {})
    assert words.message.startswith("a bc")
    assert len(words.message) == 300
    assert words_of(b"{}", {}).message == "no reason was given"


def test_the_wait_is_read_as_seconds_or_as_a_date():
    assert wait_asked({"Retry-After": "12"}, now=0.0) == 12.0
    assert wait_asked({"Retry-After": formatdate(1_000_030, usegmt=True)}, now=1_000_000.0) == 30.0
    assert wait_asked({"Retry-After": formatdate(5, usegmt=True)}, now=1_000_000.0) == 0.0
    assert [wait_asked({"Retry-After": said}, now=0.0) for said in ("", "soon", "-5", "9" * 40)] == [None] * 4
    assert wait_asked({}, now=0.0) is None


def test_tools_need_their_scopes_and_whose_account_it_is():
    assert of_tools(["gmail_send"]) == GMAIL | IDENTITY
    assert of_tools(["gmail_send", "calendar_event_create"]) == GMAIL | CALENDAR | IDENTITY
    assert of_tools([]) == IDENTITY
    with pytest.raises(ValidationError, match="found drive"):
        of_tools(["drive"])
