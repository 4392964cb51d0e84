"""Gmail: a draft is sent once and then gone, the service names and signs what it sends, scopes hold."""

import asyncio
import base64
from email import message_from_bytes
from io import BytesIO

import pytest
from tests.emulator.workspace.desk import COMPOSE, GMAIL, MAIL, METADATA, READ, SEND, Desk, coded

from pollux.emulator.workspace import Workspace


async def raw_of(desk: Desk, id: str) -> bytes:
    got = await desk.get(f"{GMAIL}/messages/{id}", format="raw")
    return base64.urlsafe_b64decode(got.json["raw"])


async def test_sending_a_draft_makes_a_new_mail_and_takes_the_draft_away(workspace: Workspace, desk: Desk):
    draft = await desk.draft()
    before = (await desk.get(f"{GMAIL}/drafts/{draft}", format="minimal")).json["message"]
    sent = await desk.send_draft(draft)
    assert sent.status == 200 and sent.json["labelIds"] == ["SENT"]
    assert sent.json["id"] != before["id"] and sent.json["threadId"] == before["threadId"]
    assert (await desk.get(f"{GMAIL}/drafts/{draft}")).status == 404
    assert (await desk.get(f"{GMAIL}/messages/{before['id']}")).status == 404
    assert (await desk.send_draft(draft)).status == 404
    assert len(workspace.ledger) == 1


async def test_of_many_who_send_one_draft_one_does(workspace: Workspace, desk: Desk):
    draft = await desk.draft()
    answers = await asyncio.gather(*(desk.send_draft(draft) for _ in range(16)))
    assert sorted(got.status for got in answers) == [200] + [404] * 15
    assert len(workspace.ledger) == 1


async def test_a_draft_itself_sends_nothing(workspace: Workspace, desk: Desk):
    await desk.draft()
    assert workspace.ledger == []


async def test_the_service_names_the_mail_and_fills_in_who_and_when(desk: Desk):
    given = b"From: somebody@else.example\r\nMessage-ID: <mine@here>\r\n" + MAIL
    raw = await raw_of(desk, (await desk.send(given)).json["id"])
    read = message_from_bytes(raw)
    assert read.get_all("From") == ["demo@example.com"] and read["Date"] == "Sat, 14 Nov 2026 23:46:40 +0000"
    assert [name.endswith("@mail.gmail.com>") for name in read.get_all("Message-ID", [])] == [True]
    assert read["X-Mark"] == "one" and raw.endswith(b"\r\n\r\nA word.\r\n")


async def test_a_date_that_was_given_stays(desk: Desk):
    given = b"Date: Mon, 1 Jan 2024 00:00:00 +0000\r\nMIME-Version: 1.0\r\n" + MAIL
    raw = await raw_of(desk, (await desk.send(given)).json["id"])
    assert raw.count(b"Date:") == raw.count(b"MIME-Version:") == 1 and b"1 Jan 2024" in raw


async def test_a_draft_may_be_changed_as_it_is_sent(workspace: Workspace, desk: Desk):
    body = {"id": await desk.draft(), "message": {"raw": coded(MAIL.replace(b"Hello", b"Bye"))}}
    assert (await desk.ask("POST", f"{GMAIL}/drafts/send", json=body)).status == 200
    assert [entry.subject for entry in workspace.ledger] == ["Bye"]
    assert (await desk.ask("POST", f"{GMAIL}/drafts/send", json=body)).status == 404


async def test_what_a_draft_is_changed_to_is_in_a_thread_only_if_it_names_it(desk: Desk):
    thread = (await desk.send()).json["threadId"]
    reply = coded(b"In-Reply-To: <x@y>\r\n" + MAIL)
    threads: list[str] = []
    for named in ({}, {"threadId": thread}):
        body = {"id": await desk.draft(threadId=thread), "message": {"raw": reply, **named}}
        threads.append((await desk.ask("POST", f"{GMAIL}/drafts/send", json=body)).json["threadId"])
    assert [each == thread for each in threads] == [False, True]


async def test_who_sends_under_their_own_address_keeps_the_name_on_it(desk: Desk):
    raw = await raw_of(desk, (await desk.send(b"From: Demo <demo@example.com>\r\n" + MAIL)).json["id"])
    assert message_from_bytes(raw)["From"] == "Demo <demo@example.com>"


async def test_recipients_get_the_mail_without_bcc_and_the_sender_keeps_it(workspace: Workspace, desk: Desk):
    for account in ("ann@example.com", "eve@example.com"):
        workspace.tokens({READ}, account=account)
    sent = await desk.send(MAIL.replace(b"ann@", b"Ann@"))
    assert message_from_bytes(await raw_of(desk, sent.json["id"]))["Bcc"] == "eve@example.com"
    for account in ("ann@example.com", "eve@example.com"):
        desk.token = workspace.tokens({READ}, account=account)["access_token"]
        [arrived] = (await desk.get(f"{GMAIL}/messages", labelIds="INBOX")).json["messages"]
        raw = await raw_of(desk, arrived["id"])
        assert b"eve@" not in raw and b"A word." in raw


async def test_a_draft_is_written_anew_and_deleted(desk: Desk):
    draft = await desk.draft()
    changed = {"message": {"raw": coded(MAIL.replace(b"Hello", b"Bye"))}}
    assert (await desk.ask("PUT", f"{GMAIL}/drafts/{draft}", json=changed)).json["id"] == draft
    got = (await desk.get(f"{GMAIL}/drafts/{draft}")).json
    assert {"name": "Subject", "value": "Bye"} in got["message"]["payload"]["headers"]
    assert [one["id"] for one in (await desk.get(f"{GMAIL}/drafts")).json["drafts"]] == [draft]
    gone = await desk.ask("DELETE", f"{GMAIL}/drafts/{draft}")
    assert (gone.status, gone.content) == (204, b"")
    assert (await desk.get(f"{GMAIL}/drafts")).json == {"resultSizeEstimate": 0}
    assert (await desk.ask("DELETE", f"{GMAIL}/drafts/{draft}")).status == 404


async def test_sent_mail_is_found_by_label_page_by_page_newest_first(desk: Desk):
    sent = [(await desk.send(MAIL.replace(b"one", f"{n}".encode()))).json["id"] for n in range(5)]
    await desk.draft()
    first = (await desk.get(f"{GMAIL}/messages", labelIds="SENT", maxResults=3)).json
    rest = (await desk.get(f"{GMAIL}/messages", labelIds="SENT", pageToken=first["nextPageToken"])).json
    assert [one["id"] for one in first["messages"] + rest["messages"]] == sent[::-1]
    assert "nextPageToken" not in rest and first["resultSizeEstimate"] == 5
    assert len((await desk.get(f"{GMAIL}/messages")).json["messages"]) == 6


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("in:sent", 1),
        ("in:drafts", 1),
        ("to:ann@example.com", 2),
        ("subject:hello in:sent", 1),
        ('"a word"', 2),
        ("rfc822msgid:none@here", 0),
    ],
)
async def test_mail_is_found_by_words(desk: Desk, query: str, count: int):
    await desk.send()
    await desk.draft()
    assert (await desk.get(f"{GMAIL}/messages", q=query)).json["resultSizeEstimate"] == count


async def test_each_format_shows_what_it_should(desk: Desk):
    id = (await desk.send()).json["id"]
    shown = {
        format: (await desk.get(f"{GMAIL}/messages/{id}", format=format)).json
        for format in ("minimal", "metadata", "full", "raw")
    }
    assert "payload" not in shown["minimal"] and shown["minimal"]["snippet"] == "A word."
    assert "body" not in shown["metadata"]["payload"]
    assert base64.urlsafe_b64decode(shown["full"]["payload"]["body"]["data"]) == b"A word.\r\n"
    assert shown["raw"]["sizeEstimate"] == len(base64.urlsafe_b64decode(shown["raw"]["raw"]))
    asked = [("format", "metadata"), ("metadataHeaders", "x-mark"), ("metadataHeaders", "To")]
    some = (await desk.ask("GET", f"{GMAIL}/messages/{id}", params=asked)).json["payload"]["headers"]
    assert {one["name"]: one["value"] for one in some} == {"To": "ann@example.com", "X-Mark": "one"}


async def test_a_multipart_mail_is_shown_part_by_part(desk: Desk):
    plain, html = (b"--x\r\nContent-Type: text/" + kind + b"\r\n\r\nwords\r\n" for kind in (b"plain", b"html"))
    parts = plain + html + b"--x--\r\n"
    raw = MAIL.replace(b"\r\n\r\nA word.\r\n", b"\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n" + parts)
    got = await desk.get(f"{GMAIL}/messages/{(await desk.send(raw)).json['id']}")
    kinds = [(part["partId"], part["mimeType"]) for part in got.json["payload"]["parts"]]
    assert kinds == [("0", "text/plain"), ("1", "text/html")]


async def test_encoded_headers_are_shown_decoded(desk: Desk):
    id = (await desk.send(MAIL.replace(b"Hello", b"=?utf-8?q?Gr=C3=BC=C3=9Fe?="))).json["id"]
    headers = (await desk.get(f"{GMAIL}/messages/{id}", format="metadata", metadataHeaders="Subject")).json["payload"]
    assert headers["headers"] == [{"name": "Subject", "value": "Grüße"}]


async def test_a_reply_joins_its_thread_and_a_stranger_does_not(desk: Desk):
    first = (await desk.send()).json
    reply = b"In-Reply-To: <x@y>\r\n" + MAIL.replace(b"Hello", b"Re: Hello")
    joined = (await desk.send(reply, threadId=first["threadId"])).json
    other = (await desk.send(MAIL.replace(b"Hello", b"Other"), threadId=first["threadId"])).json
    same_words = (await desk.send(MAIL, threadId=first["threadId"])).json
    assert joined["threadId"] == first["threadId"]
    assert first["threadId"] not in (other["threadId"], same_words["threadId"])
    thread = (await desk.get(f"{GMAIL}/threads/{first['threadId']}", format="minimal")).json
    assert [one["id"] for one in thread["messages"]] == [first["id"], joined["id"]]
    assert (await desk.send(threadId="1234567890abcdef")).status == 404


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (MAIL.replace(b"ann@example.com", b"ann"), "Invalid To header"),
        (MAIL.replace(b"bob@example.com", b"Bob <bob@>"), "Invalid Cc header"),
        (MAIL.replace(b"eve@example.com", b"eve@example.com, "), ""),
        (MAIL.replace(b"ann@example.com", b"a b@example.com"), "Invalid To header"),
        (b"Subject: nobody\r\n\r\nA word.", "Recipient address required"),
    ],
)
async def test_a_mail_that_reaches_nobody_is_refused(workspace: Workspace, desk: Desk, raw: bytes, words: str):
    got = await desk.send(raw)
    assert (got.status == 200) == (not words), got.content
    assert len(workspace.ledger) == (not words)
    if words:
        assert got.status == 400 and got.json["error"]["message"] == words
        assert got.json["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "Missing draft message"),
        ({"message": {}}, "'raw' RFC822"),
        ({"message": {"raw": "not base64!"}}, "ByteString"),
        ({"message": {"raw": "abcde"}}, "ByteString"),
        ({"message": {"raw": coded(MAIL), "to": "x"}}, 'Unknown name "to"'),
        ({"messages": {}}, 'Unknown name "messages"'),
        ([], "Expected an object"),
        (None, "Expected an object"),
    ],
)
async def test_a_body_of_another_shape_is_refused(desk: Desk, body: object, words: str):
    got = await desk.ask("POST", f"{GMAIL}/drafts", json=body)
    assert got.status == 400 and words in got.json["error"]["message"]


async def test_what_is_no_json_or_too_large_is_refused(desk: Desk):
    as_json = {"Content-Type": "application/json"}
    assert (await desk.ask("POST", f"{GMAIL}/drafts", data=b"{", headers=as_json)).reason == "parseError"
    assert (await desk.ask("POST", f"{GMAIL}/drafts", data=b"x")).status == 400
    deep = b"[" * 200 + b"]" * 200
    assert (await desk.ask("POST", f"{GMAIL}/drafts", data=deep, headers=as_json)).reason == "parseError"
    for size in (5 * 1024 * 1024, 9 * 1024 * 1024):
        got = await desk.ask("POST", f"{GMAIL}/drafts", data=BytesIO(b" " * size + b"{}"), headers=as_json)
        assert (got.status, got.reason) == (413, "uploadTooLarge")


async def test_without_a_token_nothing_is_said(desk: Desk):
    missing = await desk.ask("GET", f"{GMAIL}/profile", headers={"Authorization": ""})
    wrong = await desk.ask("GET", f"{GMAIL}/profile", headers={"Authorization": "Bearer ya29.made-up"})
    assert (missing.status, missing.reason) == (401, "required")
    assert (wrong.status, wrong.reason, wrong.json["error"]["status"]) == (401, "authError", "UNAUTHENTICATED")
    assert "invalid_token" in wrong.headers["WWW-Authenticate"]


async def test_a_missing_scope_is_told_as_google_tells_it(workspace: Workspace, desk: Desk):
    desk.token = workspace.tokens({SEND})["access_token"]
    got = await desk.ask("POST", f"{GMAIL}/drafts", json={"message": {"raw": coded(MAIL)}})
    assert (got.status, got.reason) == (403, "insufficientPermissions")
    assert got.json["error"]["details"][0]["reason"] == "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
    assert "insufficient_scope" in got.headers["WWW-Authenticate"]
    assert (await desk.send()).status == 200
    assert (await desk.get(f"{GMAIL}/messages")).status == 403


@pytest.mark.parametrize("others", [set[str](), {READ}])
async def test_who_may_see_headers_may_see_headers_only(workspace: Workspace, desk: Desk, others: set[str]):
    id = (await desk.send()).json["id"]
    desk.token = workspace.tokens({METADATA, COMPOSE} | others)["access_token"]
    refused = [
        await desk.get(f"{GMAIL}/messages", q=""),
        await desk.get(f"{GMAIL}/messages/{id}"),
        await desk.get(f"{GMAIL}/messages/{id}", format="raw"),
        await desk.get(f"{GMAIL}/threads/{id}"),
    ]
    assert [(got.status, got.reason) for got in refused] == [(403, "forbidden")] * 4
    allowed = await desk.get(f"{GMAIL}/messages/{id}", format="metadata")
    assert allowed.status == 200 and "snippet" not in allowed.json
    assert (await desk.get(f"{GMAIL}/messages", labelIds="SENT")).json["resultSizeEstimate"] == 1


async def test_the_user_is_me_or_the_accounts_own_address(desk: Desk):
    assert (await desk.get("/gmail/v1/users/demo%40example.com/profile")).status == 200
    other = await desk.get("/gmail/v1/users/ann%40example.com/profile")
    assert (other.status, other.json["error"]["message"]) == (403, "Delegation denied for demo@example.com")


async def test_accounts_do_not_see_each_other(workspace: Workspace, desk: Desk):
    draft, sent = await desk.draft(), (await desk.send()).json["id"]
    desk.token = workspace.tokens({COMPOSE, READ}, account="other@example.com")["access_token"]
    assert (await desk.get(f"{GMAIL}/drafts/{draft}")).status == 404
    assert (await desk.get(f"{GMAIL}/messages/{sent}")).status == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("messages?maxResults=many", 400),
        ("messages?pageToken=x", 400),
        ("messages/x!", 400),
        ("messages/1234?format=whole", 400),
        ("threads/1234?format=raw", 400),
        ("threads/1234", 404),
        ("labels", 404),
    ],
)
async def test_other_questions_are_refused_in_googles_form(desk: Desk, path: str, status: int):
    got = await desk.get(f"{GMAIL}/{path}")
    assert got.status == got.json["error"]["code"] == status
