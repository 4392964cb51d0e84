"""A mailbox with a lot in it, and mails from people who mean no good."""

from typing import Any

import pytest
from aiohttp import web
from tests.tools.google.asking import ADA, Http, Tokens, answering, said

from pollux.tools.google.api import GoogleApi
from pollux.tools.google.draft import MARK
from pollux.tools.google.mailbox import MAX_SENT, Mailbox

# How Sent is searched, on a mailbox with a lot in it.


class Full:
    """A Gmail whose Sent holds many mails of somebody else."""

    def __init__(self, ages: list[int], mark: str = "") -> None:
        self.ages = ages
        self.mark = mark
        self.looked_at = 0

    async def __call__(self, request: Any) -> Any:
        start = int(request.query.get("pageToken", "0"))
        if request.path.endswith("/messages"):
            assert request.query["labelIds"] == "SENT"
            assert "q" not in request.query
            listed = [{"id": f"{at}"} for at in range(start, min(start + 50, len(self.ages)))]
            more = {"nextPageToken": str(start + 50)} if start + 50 < len(self.ages) else {}
            return web.json_response({"messages": listed, **more})
        self.looked_at += 1
        assert request.query["metadataHeaders"] == MARK
        at = int(request.path.rsplit("/", 1)[1])
        headers = [{"name": MARK.upper(), "value": self.mark}] if at == len(self.ages) - 1 and self.mark else []
        when = str((1_000_000 - self.ages[at]) * 1000)
        return web.json_response(
            {"id": str(at), "threadId": "t", "internalDate": when, "payload": {"headers": headers}}
        )


async def _searched(full: Full, *, times: int = 1) -> Any:
    async with answering() as google, Http() as http:
        google.gives(full)
        box = Mailbox(GoogleApi(http, Tokens("t"), google.url), ADA)
        return [await box.marked_sent("mark", since=1_000_000.0) for _ in range(times)][-1]


async def test_the_search_in_sent_goes_through_several_pages():
    found = await _searched(Full([0] * 80, mark="mark"))
    assert (found.id, found.thread) == ("79", "t")


async def test_the_search_in_sent_ends_where_mails_are_older_than_the_draft():
    full = Full([0, 60, 8_000, 9_000, 10_000])
    assert await _searched(full) is None
    assert full.looked_at == 3


async def test_the_search_in_sent_is_bounded():
    full = Full([0] * 1_000)
    assert await _searched(full) is None
    assert full.looked_at == MAX_SENT


async def test_a_second_search_does_not_read_what_was_read_already():
    full = Full([0] * 30)
    assert await _searched(full, times=3) is None
    assert full.looked_at == 30


# The headers of a reply come from whoever wrote the last mail.


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("Message-ID", "<a@b>")], {"In-Reply-To": "<a@b>", "References": "<a@b>"}),
        (
            [("Message-Id", "<a@b>"), ("References", "<x@y>\r\n <a@b>")],
            {"In-Reply-To": "<a@b>", "References": "<x@y> <a@b>"},
        ),
        ([("Message-ID", "evil\r\nBcc: eve@example.com")], {}),
        ([("Message-ID", "<a\r\nBcc: eve@example.com>")], {}),
        ([("Message-ID", "<=?utf-8?q?=0ABcc=3A?=@b>")], {}),
        ([("Message-ID", "<" + "a" * 300 + ">")], {}),
        ([("References", "<x@y>")], {}),
        ([], {}),
    ],
)
async def test_only_what_has_the_form_of_a_message_id_is_taken_over(
    headers: list[tuple[str, str]], expected: dict[str, str]
):
    listed = [{"name": name, "value": value} for name, value in headers]
    draft = {"labelIds": ["DRAFT"], "payload": {"headers": [{"name": "Message-ID", "value": "<our@draft>"}]}}
    assert await _marks({"messages": [{"payload": {"headers": listed}}, draft]}) == expected


async def test_a_long_thread_is_referred_to_by_its_last_mails():
    many = " ".join(f"<{number}@b>" for number in range(500))
    marks = await _marks(
        {
            "messages": [
                {
                    "payload": {
                        "headers": [{"name": "References", "value": many}, {"name": "message-id", "value": "<l@b>"}]
                    }
                }
            ]
        }
    )
    assert len(marks["References"].split()) == 21
    assert marks["References"].endswith("<499@b> <l@b>")


async def _marks(thread: dict[str, Any]) -> Any:
    async with answering() as google, Http() as http:
        google.gives(said(200, thread))
        return await Mailbox(GoogleApi(http, Tokens("t"), google.url), ADA).reply_marks("abc")
