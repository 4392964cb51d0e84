"""One part of a message in Gemini's form, and back. What is written here is read back to the very same part."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import assert_never, cast

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON, Blob, FileRef, Part, Text, Thought, ToolCall, ToolResult

Wire = dict[str, JSON]

MINTED = "minted"
"""Beside a call whose id is ours: the service that made the call has never seen it."""


def written(part: Part) -> Wire:
    """A part in Gemini's form."""
    match part:
        case Text(text=text):
            return {"text": text}
        case Thought(text=text):
            return {"text": text, "thought": True}
        case Blob(mime=mime, data=data, name=name):
            blob: Wire = {"mimeType": mime, "data": b64encode(data).decode("ascii")}
            return {"inlineData": blob if name is None else blob | {"displayName": name}}
        case FileRef(mime=mime, uri=uri):
            return {"fileData": {"mimeType": mime, "fileUri": uri}}
        case ToolCall(id=id, name=name, args=args, minted=minted):
            call: Wire = {"functionCall": {"id": id, "name": name, "args": args}}
            return call | {MINTED: True} if minted else call
        case ToolResult(call_id=id, name=name, result=result, is_error=is_error):
            # Always wrapped, so that a result which looks like a wrapping is not taken for one.
            response = {"error" if is_error else "output": result}
            return {"functionResponse": {"id": id, "name": name, "response": response}}
        case _:
            assert_never(part)


def read(part: Mapping[str, JSON]) -> Part:
    """The part of a form that `written` gave. Raises ValidationError for any other."""
    if "functionCall" in part:
        _only(part, "functionCall", MINTED)
        call = _object(part, "functionCall")
        _only(call, "id", "name", "args")
        return ToolCall(_text(call, "id"), _text(call, "name"), _object(call, "args"), MINTED in part)
    if "functionResponse" in part:
        _only(part, "functionResponse")
        return _result(_object(part, "functionResponse"))
    if "text" in part:
        _only(part, "text", "thought")
        return Thought(_text(part, "text")) if "thought" in part else Text(_text(part, "text"))
    _only(part, "inlineData", "fileData")
    media = media_of(part)
    if media is None:
        raise ValidationError("expected text, functionCall, functionResponse, inlineData or fileData")
    return media


def media_of(part: Mapping[str, JSON]) -> Blob | FileRef | None:
    """The image or file of a part, where it holds one. Raises ValidationError for one that cannot be read."""
    match part:
        case {"inlineData": {"mimeType": str() as mime, "data": str() as data, **rest}}:
            name = cast("dict[str, JSON]", rest).get("displayName")
            try:
                return Blob(mime, b64decode(data, validate=True), name if isinstance(name, str) else None)
            except (binascii.Error, ValueError):
                raise ValidationError("expected base64 in inlineData.data") from None
        case {"fileData": {"mimeType": str() as mime, "fileUri": str() as uri}}:
            return FileRef(mime, uri)
        case _:
            return None


def folded(parts: Iterable[Mapping[str, JSON]]) -> tuple[Part, ...]:
    """What the service's own parts say in neutral terms, as its answer was read the first time.

    Text that follows text is one part; what has no neutral form is passed over. Calls must have their ids.
    """
    found: list[Part] = []
    for part in parts:
        text = part.get("text")
        if "functionCall" in part:
            call = _object(part, "functionCall")
            args = _object(call, "args") if "args" in call else {}
            found.append(ToolCall(_text(call, "id"), _text(call, "name"), args, MINTED in part))
        elif isinstance(text, str):
            _say(found, Thought(text) if part.get("thought") else Text(text))
        elif (media := media_of(part)) is not None:
            found.append(media)
    return tuple(found)


def with_id(part: Wire, call: ToolCall | None) -> Wire:
    """The service's part with the id that we gave its call, where it came without one: a page needs it."""
    given = part["functionCall"]
    if call is None or not call.minted or not isinstance(given, dict):
        return part
    return part | {"functionCall": {"id": call.id, **cast("Wire", given)}, MINTED: True}


def as_it_came(part: Wire) -> Wire:
    """The service's part without what `with_id` put there."""
    if MINTED not in part:
        return part
    call = {name: value for name, value in _object(part, "functionCall").items() if name != "id"}
    return {name: call if name == "functionCall" else value for name, value in part.items() if name != MINTED}


def _say(found: list[Part], part: Text | Thought) -> None:
    last = found[-1] if found else None
    if not part.text:
        return
    match last, part:
        case (Text(), Text()):
            found[-1] = Text(last.text + part.text)
        case (Thought(), Thought()):
            found[-1] = Thought(last.text + part.text)
        case _:
            found.append(part)


def _result(response: Wire) -> ToolResult:
    _only(response, "id", "name", "response")
    match response.get("response"):
        case {"output": result, **rest} if not rest:
            return ToolResult(_text(response, "id"), _text(response, "name"), result)
        case {"error": result, **rest} if not rest:
            return ToolResult(_text(response, "id"), _text(response, "name"), result, is_error=True)
        case _:
            raise ValidationError("expected `output` or `error`, and nothing else, in functionResponse.response")


def _only(members: Mapping[str, JSON], *known: str) -> None:
    if members.keys() - {*known}:
        raise ValidationError(f"expected no other members than {', '.join(known)}")


def _text(members: Mapping[str, JSON], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise ValidationError(f"expected text as `{name}`, found {type(value).__name__}")
    return value


def _object(members: Mapping[str, JSON], name: str) -> Wire:
    value = members.get(name)
    if not isinstance(value, dict):
        raise ValidationError(f"expected an object as `{name}`, found {type(value).__name__}")
    return cast("Wire", value)
