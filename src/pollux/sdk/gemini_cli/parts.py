"""Gemini's parts as other programs wrote them down, cleaned so that the service takes them. Junk is left out."""

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Final, cast

from pollux.core.messages import JSON

Part = dict[str, JSON]
"""One part of a content, in the wire form."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def parts_of(content: JSON) -> Iterator[Part]:
    """The parts of a message that can be sent again, without thoughts and empty texts."""
    for member in cast("list[JSON]", content) if isinstance(content, list) else (content,):
        if isinstance(member, str):
            member = {"text": member}
        if isinstance(member, dict) and (part := _part(cast("Part", member))):
            yield part


def is_media(part: Part) -> bool:
    """Whether it is a picture, a recording or another file."""
    return "inlineData" in part or "fileData" in part


def call_of(value: JSON) -> Part | None:
    """A functionCall, or an entry of toolCalls: `{id?, name, args}`."""
    match value:
        case {"name": str(name)} if name:
            given = cast("Part", value)
            args = given.get("args")
            return _named(given, name) | {"args": args if isinstance(args, dict) else {}}
        case _:
            return None


def response_of(value: JSON) -> Part | None:
    """A functionResponse: `{id?, name, response, parts?}`."""
    match value:
        case {"name": str(name)} if name:
            given = cast("Part", value)
            response = _named(given, name) | {"response": as_response(given.get("response"))}
            media = [part for part in parts_of(given.get("parts", [])) if is_media(part)]
            return response | {"parts": media} if media else response
        case _:
            return None


def as_response(value: JSON) -> Part:
    """The service takes objects alone."""
    return cast("Part", value) if isinstance(value, dict) else {"output": value}


def _part(given: Part) -> Part | None:
    if given.get("thought"):
        return None
    signature = given.get("thoughtSignature")
    is_signed = isinstance(signature, str) and _BASE64.fullmatch(signature) is not None
    kind, body = _data(given, is_signed=is_signed)
    if body is None:
        return None
    return {kind: body, "thoughtSignature": signature} if is_signed else {kind: body}


def _data(given: Part, *, is_signed: bool) -> tuple[str, JSON]:
    match given:
        case {"functionCall": dict()}:
            return "functionCall", call_of(given["functionCall"])
        case {"functionResponse": dict()}:
            return "functionResponse", response_of(given["functionResponse"])
        case {"inlineData": {"mimeType": str(mime), "data": str(data)}} if mime and _is_base64(data):
            return "inlineData", {"mimeType": mime, "data": data}
        case {"fileData": {"fileUri": str(uri), "mimeType": str(mime)}} if uri and mime:
            return "fileData", {"mimeType": mime, "fileUri": uri}
        case {"fileData": {"fileUri": str(uri)}} if uri:
            return "fileData", {"fileUri": uri}
        # An empty text may be there for its signature alone.
        case {"text": str(text)} if text or is_signed:
            return "text", text
        case _:
            return "", None


def _named(given: Part, name: str) -> Part:
    call_id = given.get("id")
    return {"id": call_id, "name": name} if isinstance(call_id, str) and call_id else {"name": name}


def _is_base64(data: str) -> bool:
    try:
        return bool(b64decode(data.encode(), validate=True))
    except ValueError:
        return False
