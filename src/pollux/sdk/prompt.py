"""A prompt as a message: text, and images and files beside it."""

import mimetypes
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from pollux.core.errors import ValidationError
from pollux.core.messages import Blob, FileRef, Message, Part, Text

INLINE_LIMIT = 20_000_000
"""What a request may carry inline altogether; larger files go to the provider's own file store, as a FileRef."""

_KNOWN_BY_CONTENT = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_TRUSTED = frozenset({"application/pdf", "application/json", "application/xml", "application/rtf"})

PromptPart = str | os.PathLike[str] | Blob | FileRef | Text
Prompt = str | Message | Sequence[PromptPart]


def message_of(prompt: Prompt) -> Message:
    """The message to send. Raises ValidationError for what cannot be sent."""
    if isinstance(prompt, Message) and prompt.role != "user":
        raise ValidationError(f"a prompt must be a user's message, found one of role {prompt.role!r}")
    # A message of the author's own is held to the same: what cannot be read back would spoil its session for good.
    pieces = prompt.parts if isinstance(prompt, Message) else prompt
    pieces = [pieces] if isinstance(pieces, str | os.PathLike) else pieces
    if isinstance(pieces, bytes) or not isinstance(cast("object", pieces), Sequence):
        raise ValidationError(f"a prompt must be a text or a list of texts, paths and parts, found {_kind(prompt)}")
    parts = tuple(_part(piece) for piece in cast("Sequence[object]", pieces))
    if not any(not isinstance(part, Text) or part.text.strip() for part in parts):
        raise ValidationError("a prompt must not be empty")
    carried = sum(len(part.data) for part in parts if isinstance(part, Blob))
    if carried > INLINE_LIMIT:
        raise _too_large("the files together hold", carried)
    return replace(prompt, parts=parts) if isinstance(prompt, Message) else Message("user", parts)


def _part(piece: object) -> Part:
    match piece:
        case str():
            return Text(_writable(piece))
        case Text(text=text):
            return Text(_writable(text))
        case Blob(mime=mime, data=data, name=name):
            if not isinstance(cast("object", data), bytes):
                raise ValidationError(f"the data of a Blob must be bytes, found {_kind(data)}")
            return Blob(_writable(mime), data, None if name is None else _writable(name))
        case FileRef(mime=mime, uri=uri):
            return FileRef(_writable(mime), _writable(uri))
        case os.PathLike():
            return _file(Path(os.fsdecode(cast("os.PathLike[str]", piece))))
        case _:
            raise ValidationError(
                f"a part of a prompt must be a text, a path, a Blob or a FileRef, found {_kind(piece)}"
            )


def _file(path: Path) -> Blob:
    try:
        if not path.is_file():
            raise ValidationError(f"{path} is not a file that can be attached")
        size = path.stat().st_size
        if size > INLINE_LIMIT:
            raise _too_large(f"{path} holds", size)
        data = path.read_bytes()
    except OSError as problem:
        raise ValidationError(f"{path} cannot be read ({problem.strerror})") from problem
    # A name need not be text. What it is called matters less than that it can be sent.
    return Blob(_mime(path, data), data, path.name.encode(errors="replace").decode())


def _mime(path: Path, data: bytes) -> str:
    for beginning, mime in _KNOWN_BY_CONTENT:
        if data.startswith(beginning):
            return mime
    guessed, encoding = mimetypes.guess_type(path.name)
    # Of other names little is certain: `.rs` is a language, and a service besides.
    if (
        guessed
        and not encoding
        and (guessed.startswith(("image/", "audio/", "video/", "text/")) or guessed in _TRUSTED)
    ):
        return guessed
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain"


def _writable(text: str) -> str:
    if not isinstance(cast("object", text), str):
        raise ValidationError(f"a prompt must be Unicode text, found {_kind(text)}")
    if "\0" in text:
        raise ValidationError("a prompt must be Unicode text, found a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationError("a prompt must be Unicode text, found a lone surrogate") from None
    return text


def _too_large(what: str, size: int) -> ValidationError:
    return ValidationError(
        f"{what} {size:,} bytes; at most {INLINE_LIMIT:,} fit into a request. Upload it to the provider, and attach a"
        " FileRef with its address"
    )


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
