"""A little of Gmail's search: in:, from:, to:, subject:, rfc822msgid: and words, all of which must hold."""

import re
from collections.abc import Callable

from pollux.emulator.workspace import mime
from pollux.emulator.workspace.mailbox import Mail


def matching(query: str) -> Callable[[Mail], bool]:
    """Whether a mail is what this query looks for."""
    terms = re.findall(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))', query)

    def holds(mail: Mail) -> bool:
        return all(_holds(mail, name.lower(), (quoted or word).lower()) for name, quoted, word in terms)

    return holds


def _holds(mail: Mail, name: str, word: str) -> bool:
    match name:
        case "in" | "label" | "is":
            label = {"drafts": "DRAFT"}.get(word, word.upper())
            return word == "anywhere" or label in mail.labels
        case "from" | "to" | "cc" | "bcc" | "subject":
            return word in mail.header(name).lower()
        case "rfc822msgid":
            return mail.header("message-id").strip("<>").lower() == word.strip("<>")
        case _:
            return word in mail.header("subject").lower() or word in mime.text_of(mime.parse(mail.raw)).lower()
