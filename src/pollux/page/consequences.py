"""What a page says of the controls that have consequences beyond it: they pay, order, send, publish or delete.

The page's own script knows them by what they say, in many languages; its word is taken. A page says it of a control
by `consequential` beside its reference, and by `name` what the visitor knows it as.
"""

from collections.abc import Iterable
from typing import Final

from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.engine.on_page import EVERYTHING, reference_of
from pollux.page import chat
from pollux.page.private import LARGEST_REFERENCES, MOST_REFERENCES, TooLarge, fields_of

LONGEST_NAME: Final = 100
ENTER: Final = "enter"


@frozen
class Consequential:
    """References of controls, and what the page calls those about which the visitor is asked."""

    pressed: tuple[str, ...] = ()
    sending: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()


def consequential(state: JSON, private: Iterable[str]) -> Consequential:
    """What a page's state says. Where that is too much to be known, every press is asked about."""
    asked = set(private)
    pressed: set[str] = set()
    sending: set[str] = set()
    names: dict[str, str] = {}
    size = 0
    try:
        for field in fields_of(state):
            references = {reference_of(field.get(name)) for name in chat.REFERENCES} - {""}
            mark = field.get("consequential")
            if mark in (True, "true"):
                pressed |= references
            elif mark == ENTER:
                sending |= references
            name = field.get("name")
            if isinstance(name, str) and name.strip() and (mark or references & asked):
                names |= dict.fromkeys(references, " ".join(name.split())[:LONGEST_NAME])
            size += sum(map(len, references)) if mark else 0
            if len(pressed) + len(sending) > MOST_REFERENCES or size > LARGEST_REFERENCES:
                raise TooLarge
    except TooLarge:
        pressed.add(EVERYTHING)
    return Consequential(tuple(sorted(pressed)), tuple(sorted(sending)), tuple(sorted(names.items())))
