"""Who the visitor is, as the agent was told, and which of a form's fields ask for what of it."""

import re
from dataclasses import dataclass, field

from pollux.emulator.planner.pages.outline import FIELDS, Outline, Thing, stems

_SENTENCE = re.compile(r"\b(?:name and address|address|details)\b[^:\n]{0,40}?(?::| is| are)\s*([^\n]+)", re.IGNORECASE)
_NEXT = re.compile(r"[.;]\s+(?=(?:please|now|fill|enter|use|then|put|go|and)\b)", re.IGNORECASE)
_POSTCODE = re.compile(r"\b(?:[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{5}(?:-\d{4})?|\d{4} ?[A-Z]{2})\b")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"\+?\d[\d ()-]{7,}\d")

_ASKS = {
    "email": ("email", "mail", "e-mail"),
    "phone": ("phone", "telephone", "mobile"),
    "first": ("first name", "given name", "forename"),
    "last": ("last name", "surname", "family name"),
    "postcode": ("postcode", "postal", "zip", "postal code", "post code"),
    "town": ("town", "city", "locality"),
    "country": ("country",),
    "street": ("street", "address", "address line"),
    "name": ("name", "recipient", "full name"),
}
"""By what words a field asks for something, the plainest last: an e-mail address is no address."""
_OTHERS = stems("card search user password company nick file product coupon code cvc expiry username message")
_NOT_OTHERS = stems("post postal zip")


@dataclass(frozen=True)
class Visitor:
    """What is known of somebody, by what a form would ask."""

    known: dict[str, str] = field(default_factory=dict[str, str])

    def asked_by(self, name: str) -> str | None:
        """What a field of this name wants, where it is known."""
        kind = kind_of(name)
        return self.known.get(kind) if kind else None

    def fields(self, page: Outline) -> list[tuple[Thing, str]]:
        """The page's fields that ask for something known, and what each wants."""
        found: list[tuple[Thing, str]] = []
        for thing in page.controls:
            wanted = self.asked_by(thing.name) if thing.role in FIELDS and not thing.is_private else None
            if wanted is not None and "disabled" not in thing.marks:
                found.append((thing, wanted))
        return found


def kind_of(name: str) -> str | None:
    """What a field of this name asks for; None for what is not about a person and a place."""
    words = stems(name)
    if words & _OTHERS and not words & _NOT_OTHERS:
        return None
    for kind, asks in _ASKS.items():
        if any(stems(ask) <= words for ask in asks):
            return kind
    return None


def read(text: str) -> Visitor:
    """Whoever is described: `The visitor's name and address: Ada Lovelace, 12 St James's Square, London SW1Y 4JH`."""
    found = _SENTENCE.search(text)
    if found is None:
        return Visitor()
    said = _NEXT.split(found[1])[0]
    known: dict[str, str] = {}
    for kind, pattern in (("email", _EMAIL), ("postcode", _POSTCODE), ("phone", _PHONE)):
        if (one := pattern.search(said)) is not None:
            known[kind] = one[0]
    rest = said
    for value in known.values():
        rest = rest.replace(value, "")
    return Visitor(known | _places([part.strip(" .") for part in rest.split(",")]))


def _places(parts: list[str]) -> dict[str, str]:
    """What is left between commas: who, which street, which town, which country."""
    known: dict[str, str] = {}
    parts = [part for part in parts if part]
    street = next((at for at, part in enumerate(parts) if re.search(r"\d", part)), len(parts) and 1)
    if street and parts:
        known["name"] = parts[0]
        first, _, last = parts[0].rpartition(" ")
        known |= {"first": first, "last": last} if first else {}
    for kind, part in zip(("street", "town", "country"), parts[street:], strict=False):
        known[kind] = part
    return known
