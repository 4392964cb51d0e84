"""One user's Gmail, as far as sending a mail exactly once needs it: drafts, what was sent, and a thread to reply to."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast
from urllib.parse import quote

from pollux.core.frozen import frozen
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.tools.google.api import GoogleApi, Query
from pollux.tools.google.draft import MARK
from pollux.tools.google.refusal import Lost, Refused
from pollux.tools.google.scopes import GMAIL

ROOT: Final = "/gmail/v1/users/me"
MAX_DRAFTS: Final = 20
MAX_SENT: Final = 100
PAGE: Final = 50
SLACK: Final = 3600.0
"""Our clock and Gmail's may differ by as much when we look for a mail by its time."""
MAX_REFERENCES: Final = 20

_MESSAGE_ID: Final = re.compile(r"<[!-;=?-~]{1,250}>")


@frozen
class Mail:
    """A mail that is to leave, and the thread that it replies to, if any."""

    raw: bytes
    thread: str = ""

    def as_message(self) -> dict[str, JSON]:
        """As Gmail takes it. It reads the thread from here alone, also where the draft stands in one already."""
        written: dict[str, JSON] = {"raw": urlsafe_b64encode(self.raw).decode()}
        return written | ({"threadId": self.thread} if self.thread else {})


@frozen
class Sent:
    """A mail that has left."""

    id: str
    thread: str


@frozen
class Held:
    """What a draft holds now."""

    id: str
    message: str
    mark: str


class Mailbox:
    """The mailbox of one user, in this account if one is named. Every method raises what GoogleApi raises."""

    def __init__(self, api: GoogleApi, user: UserId, *, account: str | None = None) -> None:
        self._api = api
        self._user = user
        self._account = account
        self._not_ours: set[str] = set()
        """Sent mails whose mark was read already: a mail never changes, so that a second look need not ask again."""

    async def create(self, mail: Mail) -> Held:
        answer = await self._post("/drafts", {"message": mail.as_message()})
        held = _held(answer)
        if not held.id:
            raise Lost("Gmail did not say which draft it made", ended=True)
        return held

    async def send(self, draft: str, mail: Mail) -> Sent:
        """Send this mail, whatever the draft holds by now. It takes the draft away: of two that try, one finds none."""
        answer = await self._post("/drafts/send", {"id": draft, "message": mail.as_message()})
        return Sent(_text(answer, "id"), _text(answer, "threadId"))

    async def held(self, draft: str) -> Held | None:
        """What a draft holds, or None when there is no such draft any more."""
        answer = await self._found(f"/drafts/{quote(draft, safe='')}", {"format": "metadata"})
        return _held(answer) if answer is not None else None

    async def raw(self, draft: str) -> bytes | None:
        """A draft's own bytes, or None when there is no such draft, or Gmail does not show them."""
        # With gmail.metadata among its scopes Gmail may refuse whole mails, whatever else was consented to.
        try:
            answer = await self._get(f"/drafts/{quote(draft, safe='')}", {"format": "raw"})
            return urlsafe_b64decode(_text(_part(answer, "message"), "raw") + "==")
        except (Refused, ValueError):
            return None

    async def marked_draft(self, mark: str, *, but: str = "") -> Held | None:
        """The newest draft with this mark, among the newest ones, but not this one."""
        answer = await self._get("/drafts", {"maxResults": str(MAX_DRAFTS)})
        for each in _items(answer, "drafts")[:MAX_DRAFTS]:
            held = await self.held(_text(each, "id"))
            if held is not None and held.mark == mark and held.id != but:
                return held
        return None

    async def marked_sent(self, mark: str, *, since: float) -> Sent | None:
        """The mail with this mark among what was sent since then."""
        page = ""
        for _ in range(MAX_SENT // PAGE):
            query = {"labelIds": "SENT", "maxResults": str(PAGE)} | ({"pageToken": page} if page else {})
            answer = await self._get("/messages", query)
            for each in _items(answer, "messages"):
                id = _text(each, "id")
                if id in self._not_ours:
                    continue
                mail = await self._found(
                    f"/messages/{quote(id, safe='')}", {"format": "metadata", "metadataHeaders": MARK}
                )
                if mail is None:
                    continue
                if _headers(mail).get(MARK.lower()) == mark:
                    return Sent(id, _text(mail, "threadId"))
                self._not_ours.add(id)
                if _seconds(mail) < since - SLACK:
                    return None
            page = _text(answer, "nextPageToken")
            if not page:
                return None
        return None

    async def reply_marks(self, thread: str) -> Mapping[str, str] | None:
        """The headers that put a mail below the thread's last one; None when there is no such thread."""
        names = ["Message-ID", "References"]
        answer = await self._found(
            f"/threads/{quote(thread, safe='')}", {"format": "metadata", "metadataHeaders": names}
        )
        if answer is None:
            return None
        mails = [mail for mail in _items(answer, "messages") if "DRAFT" not in _strings(mail.get("labelIds"))]
        headers = _headers(mails[-1]) if mails else {}
        # Whoever wrote the last mail chose these texts: only what has the form of a message id is taken over.
        last = _message_ids(headers.get("message-id", ""))[:1]
        before = [each for each in _message_ids(headers.get("references", "")) if each not in last]
        if not last:
            return {}
        return {"In-Reply-To": last[0], "References": " ".join([*before[-MAX_REFERENCES:], *last])}

    async def _get(self, path: str, query: Query) -> dict[str, Any]:
        return await self._api.get(self._user, GMAIL, ROOT + path, query, account=self._account)

    async def _post(self, path: str, body: JSON) -> dict[str, Any]:
        return await self._api.post(self._user, GMAIL, ROOT + path, json=body, account=self._account)

    async def _found(self, path: str, query: Query) -> dict[str, Any] | None:
        try:
            return await self._get(path, query)
        except Refused as refused:
            if refused.status in (404, 410):
                return None
            raise


def _held(draft: dict[str, Any]) -> Held:
    message = _part(draft, "message")
    return Held(_text(draft, "id"), _text(message, "id"), _headers(message).get(MARK.lower(), ""))


def _headers(mail: dict[str, Any]) -> dict[str, str]:
    """A mail's headers by their names in lower case."""
    return {
        _text(each, "name").lower(): _text(each, "value").strip() for each in _items(_part(mail, "payload"), "headers")
    }


def _message_ids(text: str) -> list[str]:
    # An encoded word could be read as something else later on.
    return [each for each in _MESSAGE_ID.findall(text) if "=?" not in each]


def _seconds(mail: dict[str, Any]) -> float:
    """When Gmail took the mail. What does not say so is not too old."""
    said = _text(mail, "internalDate")
    return int(said) / 1000 if said.isdecimal() and len(said) < 18 else float("inf")


def _text(parent: dict[str, Any], name: str) -> str:
    found: object = parent.get(name)
    return found if isinstance(found, str) else ""


def _part(parent: dict[str, Any], name: str) -> dict[str, Any]:
    found: object = parent.get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _items(parent: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found: object = parent.get(name)
    items = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("dict[str, Any]", each) for each in items if isinstance(each, dict)]


def _strings(found: object) -> Iterable[str]:
    return [each for each in cast("list[object]", found) if isinstance(each, str)] if isinstance(found, list) else []
