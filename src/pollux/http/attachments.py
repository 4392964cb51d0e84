"""Files that come with a prompt: taken within bounds, shown by name, and given back so that no browser runs them."""

import binascii
from base64 import b64decode
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from pollux.asgi.endpoint import Call
from pollux.asgi.errors import HttpError
from pollux.core.errors import NotFound, ValidationError
from pollux.core.ids import ThreadId, UserId
from pollux.core.messages import Blob, FileRef, Message
from pollux.engine.queries import Queries
from pollux.http.runtime import Runtime
from pollux.http.shapes import AttachmentBody, AttachmentView

LARGEST: Final = 5 << 20
LARGEST_TOGETHER: Final = 8 << 20
LARGEST_BODY: Final = 12 << 20
"""Of a request: all files in base64, and the prompt."""
LARGEST_IN_THREAD: Final = 14 << 20
"""Of a conversation: its files go to the model with every prompt, in base64, and Gemini takes 20 MB at once."""
FEW: Final = 10
SIGNATURES: Final = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
    "application/pdf": b"%PDF-",
}
INLINE: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What a browser may show where it is. It can hold no script."""
TEXTS: Final = ("text/plain", "text/markdown", "text/csv", "text/html", "application/json")
TYPES: Final = (*SIGNATURES, *TEXTS)
"""What every provider takes in some form."""
ANY: Final = "application/octet-stream"


def blobs_of(given: Sequence[AttachmentBody]) -> list[Blob]:
    """The files of a prompt. Raises ValidationError for what is none of ours, HttpError where it is too much."""
    found = [_blob(number, each) for number, each in enumerate(given, 1)]
    together = sum(len(blob.data) for blob in found)
    if together > LARGEST_TOGETHER:
        raise _too_large(f"the attachments together hold {together} bytes; at most {LARGEST_TOGETHER} are taken")
    return found


async def check_room(queries: Queries, thread_id: ThreadId, user: UserId, more: Sequence[Blob]) -> None:
    """Whether the model could still be given all files of the conversation. Raises HttpError.

    Otherwise it would refuse this prompt and whatever is said there after it.
    """
    thread = await queries.thread(thread_id, user)
    number = thread.compressed.upto if thread.compressed else 0
    together = sum(len(blob.data) for blob in more)
    while together <= LARGEST_IN_THREAD and number < thread.head:
        found = await queries.messages(thread_id, user, after=number, limit=FEW)
        together += sum(len(part.data) for message in found for part in message.parts if isinstance(part, Blob))
        number += FEW
    if together > LARGEST_IN_THREAD:
        raise _too_large(
            f"the files of this conversation would hold more than {LARGEST_IN_THREAD} bytes together, and all of them"
            " go to the model each time. Begin a new conversation"
        )


def attachment_views(number: int, message: Message) -> list[AttachmentView]:
    """What came with a message, by name."""
    return [
        AttachmentView(
            id=f"{number}.{place}",
            name=part.name if isinstance(part, Blob) else None,
            mime_type=part.mime,
            size=len(part.data) if isinstance(part, Blob) else None,
        )
        for place, part in enumerate(part for part in message.parts if isinstance(part, Blob | FileRef))
    ]


async def attachment(runtime: Runtime, call: Call) -> Response:
    """The bytes of one."""
    number, place = _place(call.path["attachment"])
    thread_id = ThreadId(call.path["id"])
    found = await runtime.engine.queries.messages(thread_id, call.user, after=number - 1, limit=1) if number else ()
    files = [part for message in found for part in message.parts if isinstance(part, Blob | FileRef)]
    blob = files[place] if place < len(files) else None
    if not isinstance(blob, Blob):
        raise NotFound(f"there is no attachment {call.path['attachment'][:40]!r} here")
    is_shown = blob.mime in INLINE
    name = quote(blob.name or "attachment", safe="")
    headers = {
        "content-type": blob.mime if is_shown else ANY,
        "content-disposition": f"{'inline' if is_shown else 'attachment'}; filename*=UTF-8''{name}",
        "x-content-type-options": "nosniff",
    }
    return Response(blob.data, headers=headers)


def _blob(number: int, given: AttachmentBody) -> Blob:
    what = f"attachment {number}"
    if not given.name.isprintable():
        raise _bad(f"{what}: its name must be one line of text")
    if given.mime_type not in TYPES:
        raise _bad(f"{what}: its mimeType must be one of {', '.join(TYPES)}")
    if len(given.data) > LARGEST * 4 // 3 + 4:
        raise _too_large(f"{what} is larger than {LARGEST} bytes")
    try:
        data = b64decode(given.data, validate=True)
    except (binascii.Error, ValueError):
        raise _bad(f"{what}: its data must be base64, without a prefix and without line breaks") from None
    if len(data) > LARGEST:
        raise _too_large(f"{what} is larger than {LARGEST} bytes")
    if not data:
        raise _bad(f"{what} is empty")
    if not _is_what_it_says(given.mime_type, data):
        raise _bad(f"{what}: its bytes are not {given.mime_type}")
    return Blob(given.mime_type, data, given.name)


def _is_what_it_says(mime: str, data: bytes) -> bool:
    if mime in TEXTS:
        try:
            return bool(data.decode())
        except UnicodeDecodeError:
            return False
    return data.startswith(SIGNATURES[mime]) and (mime != "image/webp" or data[8:12] == b"WEBP")


def _place(name: str) -> tuple[int, int]:
    """The number of the message, and which of its files; zeros lead nowhere."""
    number, _, place = name.partition(".")
    if all(part.isascii() and part.isdigit() and len(part) < 10 for part in (number, place)):
        return int(number), int(place)
    raise NotFound(f"there is no attachment {name[:40]!r} here")


def _bad(message: str) -> ValidationError:
    return ValidationError(message, code="bad_attachment")


def _too_large(message: str) -> HttpError:
    return HttpError(413, "too_large", message)
