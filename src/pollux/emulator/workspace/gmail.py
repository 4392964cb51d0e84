"""Gmail's methods: drafts, messages, threads, profile."""

from collections.abc import Callable
from email.message import Message
from typing import Any

from pollux.emulator.jsons import is_object
from pollux.emulator.workspace import mime, shape
from pollux.emulator.workspace.call import Call
from pollux.emulator.workspace.ledger import Entry, digest
from pollux.emulator.workspace.mailbox import Mail, Mailbox
from pollux.emulator.workspace.refusal import Refusal, Said, invalid
from pollux.emulator.workspace.scopes import METADATA
from pollux.emulator.workspace.search import matching

# What fits into a JSON request; larger mails travel another way at Google.
LARGEST = 5 * 1024 * 1024
_DRAFT = frozenset({"id", "message"})
_MESSAGE = frozenset(
    {
        "id",
        "threadId",
        "labelIds",
        "snippet",
        "historyId",
        "internalDate",
        "payload",
        "sizeEstimate",
        "raw",
        "classificationLabelValues",
    }
)
_FORMATS = ("minimal", "full", "raw", "metadata")


def answer(call: Call) -> dict[str, Any] | None:
    """Do what was asked; None is an answer without a body. Raises Refusal."""
    if call.values["userId"] not in ("me", call.account):
        raise Refusal(Said(403, f"Delegation denied for {call.account}", "forbidden"))
    return _METHODS[call.method](call, call.accounts.mailbox(call.account))


def _profile(call: Call, box: Mailbox) -> dict[str, Any]:
    threads = {mail.thread for mail in box.mails.values()}
    totals = {"messagesTotal": len(box.mails), "threadsTotal": len(threads)}
    return {"emailAddress": box.address, **totals, "historyId": str(box.history)}


def _create_draft(call: Call, box: Mailbox) -> dict[str, Any]:
    raw, thread = _given(_message(call.object(known=_DRAFT).get("message")))
    _check_headers(mime.parse(mime.head(raw)))
    draft = box.keep_draft(raw, thread=thread, now=call.now)
    return {"id": draft, "message": shape.brief(box.draft(draft))}


def _update_draft(call: Call, box: Mailbox) -> dict[str, Any]:
    box.draft(call.values["id"])
    raw, thread = _given(_message(call.object(known=_DRAFT).get("message")))
    _check_headers(mime.parse(mime.head(raw)))
    draft = box.keep_draft(raw, thread=thread, now=call.now, id=call.values["id"])
    return {"id": draft, "message": shape.brief(box.draft(draft))}


def _get_draft(call: Call, box: Mailbox) -> dict[str, Any]:
    mail = box.draft(call.values["id"])
    return {"id": call.values["id"], "message": _shown(mail, call, format=_format(call))}


def _list_drafts(call: Call, box: Mailbox) -> dict[str, Any]:
    wanted = matching(call.asked("q"))
    found = [(id, box.mails[mail]) for id, mail in reversed(box.drafts.items()) if wanted(box.mails[mail])]
    start, size = call.page(), call.number("maxResults", default=100, largest=500)
    page = [{"id": id, "message": {"id": mail.id, "threadId": mail.thread}} for id, mail in found[start : start + size]]
    return _paged("drafts", page, start=start, total=len(found))


def _delete_draft(call: Call, box: Mailbox) -> None:
    box.drop_draft(call.values["id"])


def _send_draft(call: Call, box: Mailbox) -> dict[str, Any]:
    body = call.object(known=_DRAFT)
    draft = body.get("id")
    if not isinstance(draft, str) or not draft:
        raise invalid("Missing draft id")
    kept = box.draft(draft)
    # A draft may be changed as it is sent. Then the new content goes out, in the thread that is named with it.
    changed = _message(body["message"]) if "message" in body else {}
    raw, thread = _given(changed) if "raw" in changed else (kept.given, kept.thread)
    return _send(call, box, raw, thread=thread, draft=draft)


def _send_message(call: Call, box: Mailbox) -> dict[str, Any]:
    raw, thread = _given(_message(call.object()))
    return _send(call, box, raw, thread=thread, draft=None)


def _send(call: Call, box: Mailbox, raw: bytes, *, thread: str, draft: str | None) -> dict[str, Any]:
    message = mime.parse(mime.head(raw))
    to, cc, bcc = _check_headers(message)
    if not (to or cc or bcc):
        raise invalid("Recipient address required")
    mail = box.outgoing(raw, thread=thread, now=call.now)
    call.ledger.write(
        Entry(
            time=call.now,
            service="gmail",
            method=call.method,
            id=mail.id,
            to=to,
            cc=cc,
            bcc=bcc,
            subject=mime.header(message, "subject"),
            sha256=digest(raw),
        )
    )
    box.send(mail, draft=draft)
    for address in dict.fromkeys(one.lower() for one in (*to, *cc, *bcc)):
        if address != box.address and call.accounts.known(address):
            call.accounts.mailbox(address).receive(mail)
    return {"id": mail.id, "threadId": mail.thread, "labelIds": list(mail.labels)}


def _list_messages(call: Call, box: Mailbox) -> dict[str, Any]:
    if METADATA in call.scopes and "q" in call.query:
        raise Refusal(Said(403, "Metadata scope does not support 'q' parameter", "forbidden"))
    wanted, labels = matching(call.asked("q")), set(call.query.get("labelIds", []))
    found = [mail for mail in box.newest_first() if labels <= set(mail.labels) and wanted(mail)]
    start, size = call.page(), call.number("maxResults", default=100, largest=500)
    page = [{"id": mail.id, "threadId": mail.thread} for mail in found[start : start + size]]
    return _paged("messages", page, start=start, total=len(found))


def _get_message(call: Call, box: Mailbox) -> dict[str, Any]:
    format = _format(call, narrow=True)
    return _shown(box.mail(call.values["id"]), call, format=format)


def _get_thread(call: Call, box: Mailbox) -> dict[str, Any]:
    format = _format(call, narrow=True)
    if format == "raw":
        raise invalid("Invalid value at 'format': raw is not there for threads")
    mails = box.thread(call.values["id"])
    messages = [_shown(mail, call, format=format) for mail in mails]
    return {"id": call.values["id"], "historyId": str(mails[-1].history), "messages": messages}


_METHODS: dict[str, Callable[[Call, Mailbox], dict[str, Any] | None]] = {
    "gmail.users.getProfile": _profile,
    "gmail.users.drafts.create": _create_draft,
    "gmail.users.drafts.update": _update_draft,
    "gmail.users.drafts.get": _get_draft,
    "gmail.users.drafts.list": _list_drafts,
    "gmail.users.drafts.delete": _delete_draft,
    "gmail.users.drafts.send": _send_draft,
    "gmail.users.messages.send": _send_message,
    "gmail.users.messages.list": _list_messages,
    "gmail.users.messages.get": _get_message,
    "gmail.users.threads.get": _get_thread,
}


def _message(value: object) -> dict[str, Any]:
    if not is_object(value):
        raise invalid("Missing draft message")
    for name in value.keys() - _MESSAGE:
        raise invalid(f"Invalid JSON payload received. Unknown name \"{name}\" at 'message': Cannot find field.")
    return value


def _given(message: dict[str, Any]) -> tuple[bytes, str]:
    raw, thread = message.get("raw"), message.get("threadId", "")
    if not isinstance(raw, str) or not raw:
        raise invalid("'raw' RFC822 payload message string or uploading message via /upload/* URL required")
    content = mime.decode_raw(raw)
    if content is None:
        raise invalid("Invalid value for ByteString: not base64 for URLs")
    return content, thread if isinstance(thread, str) else ""


def _check_headers(message: Message) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    return _addresses(message, "To"), _addresses(message, "Cc"), _addresses(message, "Bcc")


def _addresses(message: Message, name: str) -> tuple[str, ...]:
    found = mime.addresses(message, name)
    if found is None:
        raise invalid(f"Invalid {name} header")
    return found


def _format(call: Call, *, narrow: bool = False) -> str:
    format = call.asked("format", "full").lower()
    if format not in _FORMATS:
        raise invalid(f"Invalid value at 'format': {format}")
    # Whoever may see headers only may see headers only, whatever else was granted.
    if narrow and METADATA in call.scopes and format in ("full", "raw"):
        raise Refusal(Said(403, f"Metadata scope doesn't allow format {format.upper()}", "forbidden"))
    return format


def _shown(mail: Mail, call: Call, *, format: str) -> dict[str, Any]:
    wanted = call.query.get("metadataHeaders", [])
    return shape.shown(mail, format=format, headers=wanted, snippet=METADATA not in call.scopes)


def _paged(name: str, page: list[dict[str, Any]], *, start: int, total: int) -> dict[str, Any]:
    more = {"nextPageToken": str(start + len(page))} if start + len(page) < total else {}
    return {**({name: page} if page else {}), **more, "resultSizeEstimate": total}
