"""A request as it arrived, read to its end; and what of it may be kept."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import msgspec
from aiohttp import web

from pollux.core.frozen import frozen
from pollux.emulator import recorder
from pollux.emulator.jsons import compact, is_object
from pollux.emulator.recorder import RecordedRequest
from pollux.emulator.workspace import mime

_FORM = "application/x-www-form-urlencoded"
# Names whose values are keys to something. Their requests are kept without them.
_SECRET = frozenset(
    {
        "code",
        "code_verifier",
        "client_secret",
        "refresh_token",
        "access_token",
        "oauth_token",
        "token",
        "id_token",
        "key",
    }
)


@frozen(kw_only=True)
class Incoming:
    """One request."""

    verb: str
    path: str
    query: Mapping[str, list[str]]
    query_string: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_form(self) -> bool:
        """Is the body a form?"""
        return self.headers.get("Content-Type", "").startswith(_FORM)

    @property
    def form(self) -> dict[str, list[str]]:
        """The fields of a form; none when the body is none."""
        text = self.content.decode("utf-8", "replace") if self.is_form else ""
        return parse_qs(text, keep_blank_values=True)

    @property
    def bearer(self) -> str:
        """The access token; empty when there is none."""
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    @property
    def json(self) -> Any:
        """The body as JSON. Raises ValueError or RecursionError."""
        return msgspec.json.decode(self.content) if self.content else None

    @property
    def text(self) -> str:
        """What a rule's `contains` looks into: the body, and the mail inside it."""
        try:
            body = self.json
        except (ValueError, RecursionError):
            return self.content.decode("utf-8", "replace")
        message = body.get("message", body) if is_object(body) else None
        raw = message.get("raw") if is_object(message) else None
        mail = mime.decode_raw(raw) if isinstance(raw, str) else None
        return compact(body) + (mail or b"").decode("utf-8", "replace")


async def read(request: web.Request) -> Incoming:
    """Take a request in. Raises HTTPRequestEntityTooLarge."""
    content = await request.read()
    text = request.rel_url.raw_query_string
    return Incoming(
        verb=request.method,
        path=request.path,
        query=parse_qs(text, keep_blank_values=True),
        query_string=text,
        headers=request.headers,
        content=content,
    )


def kept(request: web.Request, incoming: Incoming) -> RecordedRequest:
    """The request without its secrets."""
    content = incoming.content
    if incoming.path in ("/token", "/revoke") and not incoming.is_form:
        # Whatever this is, somebody took it for a secret's place.
        content = b""
    if incoming.is_form:
        content = compact({key: _hidden(key, values[-1]) for key, values in incoming.form.items()}).encode()
    whole = recorder.record(request, content)
    query = {key: _hidden(key, value) for key, value in whole.query.items()}
    return RecordedRequest(whole.method, whole.path, query, whole.headers, content, time.time())


def _hidden(key: str, value: str) -> str:
    return "(hidden)" if key in _SECRET else value
