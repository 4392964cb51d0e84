"""One mail address, with one parser: To, Cc, Bcc, attendees and grants all go through `parse`.

What it gives is canonical: the domain by IDNA 2008 (UTS 46, non-transitional) as lower-case ASCII, the local part in
lower case. Mailboxes that differ only by case do not occur in practice, and a grant or a refusal must not be dodged by
writing BOB. Dots and +tags stay: only some providers ignore them, and taking them as different merely asks once more.

Refused is whatever could mean two things: display names, lists, groups, comments, quoted local parts, domain literals,
the old routes (`a%b@c`, `b!a@c`), encoded words, invisible characters and doubtful scripts. So are local parts beyond
ASCII: they need SMTPUTF8 at every server on the way, and look-alikes in them have no second form to show.
"""

import unicodedata
from typing import cast

from pollux.core.errors import PolluxError, ValidationError
from pollux.core.frozen import frozen
from pollux.tools.google import scripts
from pollux.tools.google.header import is_invisible

MAX_LENGTH = 254
MAX_LOCAL = 64
# The first that is found names what somebody may have meant.
_NOT_ONE = (
    (",;", "found a list; give each address by itself"),
    ("<>", "found angle brackets; leave the name away"),
    ('"\\', "found a quoted local part, which is not taken"),
    ("()", "found a comment, which is not taken"),
    ("[]", "found a domain literal; name a domain"),
    (":", "found a colon; give the address alone"),
)


@frozen
class Address:
    """One mailbox in canonical form. Made by `parse`, and equal when the mailbox is the same."""

    local: str
    domain: str

    def __str__(self) -> str:
        return f"{self.local}@{self.domain}"

    @property
    def shown(self) -> str:
        """For people: a domain that is not ASCII in both of its forms."""
        if "xn--" not in self.domain:
            return str(self)
        import idna

        return f"{self.local}@{idna.decode(self.domain)} ({self.domain})"


def parse(text: object, *, name: str = "address") -> Address:
    """The one address that this text is. Raises ValidationError, saying of what `name` it was."""
    if not isinstance(text, str):
        raise _refusal(name, f"found {type(text).__name__}")
    text = text.strip(" ")
    objection = _objection(text)
    if objection:
        raise _refusal(name, objection)
    found = _validated(text)
    if found is None:
        raise _refusal(name, _misfit(text))
    local, domain, labels = found
    if doubt := scripts.doubt(labels):
        raise _refusal(name, doubt)
    return Address(local.lower(), domain)


def parse_all(given: object, *, name: str, limit: int) -> list[str]:
    """Canonical addresses, each once. One by itself is taken as a list of one, and nothing as an empty one."""
    listed = cast("list[object]", given) if isinstance(given, list) else [given] if given else []
    if len(listed) > limit:
        raise ValidationError(f"{name}: expected at most {limit} addresses, found {len(listed)}")
    return list(dict.fromkeys(str(parse(text, name=name)) for text in listed))


def _objection(text: str) -> str:
    """What makes this anything but one plain address."""
    if not text:
        return "found nothing"
    # Before all else: what follows need not be quick for long texts.
    if len(text) > MAX_LENGTH:
        return f"found more than {MAX_LENGTH} characters"
    if any(_is_hidden(char) for char in text):
        return "found a control or invisible character"
    if "=?" in text or "?=" in text:
        return "found an encoded word; write the characters themselves"
    for signs, objection in _NOT_ONE:
        if any(sign in text for sign in signs):
            return objection
    if any(char.isspace() for char in text):
        return "found a space within it"
    if text.count("@") != 1:
        return f"found {text.count('@')} @-signs"
    return _objection_to_local(text.partition("@")[0])


def _objection_to_local(local: str) -> str:
    if not local.isascii():
        return "found letters beyond ASCII before the @, which many servers do not take"
    if "%" in local or "!" in local:
        return "found a route to another server before the @"
    if len(local) > MAX_LOCAL:
        return f"found more than {MAX_LOCAL} characters before the @"
    return ""


def _is_hidden(char: str) -> bool:
    # Joiners and variation selectors belong in texts. In a domain IDNA would drop them without a word.
    return is_invisible(char) or unicodedata.category(char)[0] == "C" or char in "\ufe0e\ufe0f"


def _validated(text: str) -> tuple[str, str, list[str]] | None:
    """The local part, the domain in ASCII, and its labels in Unicode. None for what is no address."""
    try:
        import idna
        from email_validator import validate_email
    except ImportError:
        raise PolluxError("addresses need an extra that is not installed: pip install 'pollux[google]'") from None
    try:
        # A "test environment" takes addresses under .test, somebody's demo data. Without DNS it changes nothing else.
        found = validate_email(
            text, allow_smtputf8=False, check_deliverability=False, strict=True, test_environment=True
        )
        is_fixed = idna.encode(found.domain).decode() == found.ascii_domain
    except ValueError:  # The errors of both libraries are of this kind.
        return None
    if not is_fixed or "." not in found.ascii_domain:
        return None
    return found.local_part, found.ascii_domain, found.domain.split(".")


def _misfit(text: str) -> str:
    """Which half of it is wrong."""
    local, _, domain = text.partition("@")
    if _validated(f"x@{domain}") is None:
        return "what is after the @ is not a mail domain"
    if _validated(f"{local}@example.com") is None:
        return "what is before the @ is not a mailbox's name"
    # In ASCII a domain is longer than it was written.
    return f"found more than {MAX_LENGTH} characters"


def _refusal(name: str, objection: str) -> ValidationError:
    return ValidationError(f"{name}: expected one address such as bob@example.com; {objection}")
