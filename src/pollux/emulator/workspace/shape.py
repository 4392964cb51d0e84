"""How Gmail shows a mail: in short, its headers, its parts, or its bytes."""

from email.message import Message
from typing import Any

from pollux.emulator.workspace import mime
from pollux.emulator.workspace.mailbox import Mail


def brief(mail: Mail) -> dict[str, Any]:
    """What the answer to a change shows."""
    return {"id": mail.id, "threadId": mail.thread, "labelIds": list(mail.labels)}


def shown(mail: Mail, *, format: str, headers: list[str], snippet: bool) -> dict[str, Any]:
    """A mail in one of the formats; of its headers those that were named, or all."""
    message = mime.parse(mail.raw)
    short: dict[str, Any] = {
        **brief(mail),
        "sizeEstimate": len(mail.raw),
        "historyId": str(mail.history),
        "internalDate": str(int(mail.time * 1000)),
    }
    if snippet:
        short["snippet"] = " ".join(mime.text_of(message).split())[:200]
    match format:
        case "raw":
            return {**short, "raw": mime.encode_raw(mail.raw)}
        case "metadata":
            wanted = {name.lower() for name in headers}
            named = [one for one in _headers(message) if not wanted or one["name"].lower() in wanted]
            return {**short, "payload": {"mimeType": message.get_content_type(), "headers": named}}
        case "full":
            return {**short, "payload": _part(message, "")}
        case _:
            return short


def _headers(part: Message) -> list[dict[str, str]]:
    return [{"name": name, "value": mime.readable(value)} for name, value in part.items()]


def _part(part: Message, place: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "partId": place,
        "mimeType": part.get_content_type(),
        "filename": part.get_filename() or "",
        "headers": _headers(part),
    }
    if part.is_multipart():
        inner = [_part(one, f"{place}.{at}" if place else str(at)) for at, one in enumerate(mime.parts(part))]
        return {**told, "body": {"size": 0}, "parts": inner}
    content = mime.content(part)
    return {**told, "body": {"size": len(content), "data": mime.encode_raw(content)}}
