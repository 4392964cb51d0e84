"""gmail_send as the model and the policy see it: its schema, its canonical arguments, whom it reaches, its preview."""

import re

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.tools.define import Args
from pollux.tools.google import address, glance, header, message

NAME = "gmail_send"
DESCRIPTION = (
    "Send an e-mail from the user's Gmail account, at once. To reply within a conversation, give its thread id as "
    "replyTo. The user is asked first unless every recipient is one they always allow."
)
MAX_RECIPIENTS = 100
"""To, Cc and Bcc together. Gmail takes 500 a message; nobody can judge so many at a glance."""
MAX_TEXT = 500_000
"""Bytes of the body, and of the HTML: both coded are well within one plain request to Gmail."""
_LISTS = ("to", "cc", "bcc")
_THREAD = re.compile(r"[0-9a-f]{1,32}")


def _addresses(of_whom: str) -> JSON:
    item: JSON = {"type": "string", "maxLength": 1_000}
    several: JSON = {"type": "array", "items": item, "maxItems": MAX_RECIPIENTS}
    return {
        "anyOf": [several, item],
        "description": f"{of_whom}: plain addresses such as bob@example.com, without names; one may be given as text",
    }


SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "to": _addresses("the recipients"),
        "cc": _addresses("who gets a copy"),
        "bcc": _addresses("who gets a copy that the others do not see"),
        "subject": {"type": "string", "description": "one line of plain text"},
        "body": {"type": "string", "maxLength": MAX_TEXT, "description": "the message as plain text"},
        "html": {
            "type": "string",
            "maxLength": MAX_TEXT,
            "description": "the same message as HTML, only if it needs formatting",
        },
        "replyTo": {
            "type": "string",
            "description": "the id of the Gmail thread to reply to: 18c2f1a0b3d4e5f6",
        },
    },
    "required": ["subject", "body"],
    "additionalProperties": False,
}

_NAMES = frozenset({*_LISTS, "subject", "body", "html", "replyTo"})


def prepare(args: Args) -> Args:
    """The arguments in the one form that is shown, hashed and sent. Raises ValidationError.

    Who is named twice stays where they are named first; lists without anybody and empty options are left away.
    """
    unknown = args.keys() - _NAMES
    if unknown:
        raise ValidationError(f"expected only {', '.join(sorted(_NAMES))}, found {len(unknown)} others")
    prepared: Args = {**_recipients(args)}
    prepared["subject"] = header.line(args.get("subject", ""), name="subject", limit=message.MAX_SUBJECT)
    prepared["body"] = header.lines(args.get("body", ""), name="body", limit=MAX_TEXT)
    if html := header.lines(args.get("html") or "", name="html", limit=MAX_TEXT):
        prepared["html"] = html
    if thread := _thread(args.get("replyTo")):
        prepared["replyTo"] = thread
    # What cannot be built is found out before anyone is asked.
    message.build(prepared, marks={})
    return prepared


def subjects(args: Args) -> frozenset[str]:
    """Everybody whom it reaches."""
    return frozenset(message.recipients(args))


def preview(args: Args) -> str:
    """One glance: whom it reaches, its subject, where its links lead, how it begins."""
    body, html = str(args["body"]), str(args.get("html", ""))
    head = [
        *(glance.people(field.capitalize(), message.texts(args.get(field))) for field in _LISTS),
        f"Subject: {glance.excerpt(str(args['subject']), limit=240) or '(none)'}",
        f"In reply to thread {args['replyTo']}" if "replyTo" in args else "",
        glance.links(body, html),
    ]
    room = glance.LIMIT - len(glance.fitted(head)) - 200
    return glance.fitted([*head, *_texts(body, html, room=room)])


def _recipients(args: Args) -> dict[str, JSON]:
    taken = dict[str, str]()
    for field in _LISTS:
        for who in address.parse_all(args.get(field), name=field, limit=MAX_RECIPIENTS):
            taken.setdefault(who, field)
    if len(taken) > MAX_RECIPIENTS:
        raise ValidationError(f"expected at most {MAX_RECIPIENTS} recipients in all, found {len(taken)}")
    if not taken:
        raise ValidationError("expected somebody in to, cc or bcc, found nobody")
    lists = {field: [who for who, where in taken.items() if where == field] for field in _LISTS}
    return {field: list[JSON](listed) for field, listed in lists.items() if listed}


def _thread(given: JSON) -> str:
    if not given:
        return ""
    thread = given.strip(" ").lower() if isinstance(given, str) else ""
    if not _THREAD.fullmatch(thread):
        raise ValidationError("replyTo: expected the id of a Gmail thread, such as 18c2f1a0b3d4e5f6")
    return thread


def _texts(body: str, html: str, *, room: int) -> list[str]:
    """What is read. With HTML most people read that, so it is shown where its words differ."""
    begun = "\n" + (glance.excerpt(body, limit=room if not html else room // 2) or "(no text)")
    if not html:
        return [begun]
    said = glance.words(html)
    if said.split() == body.split():
        return [begun, "\nAn HTML version says the same."]
    shown = glance.excerpt(said, limit=room // 2) or "(no words)"
    return [begun, f"\nMost readers will see an HTML version instead, with other words:\n{shown}"]
