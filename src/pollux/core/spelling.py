"""How else a recipient may be spelled: another case, Unicode form or IDNA spelling, and the addresses inside a text.

A text that takes too long to bring into one form has no spelling, and whoever denies takes it for any.
"""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

from pollux.core.conditions import address_in, folded
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.kept import Kept

ADDRESSES: Final = re.compile(r"[^\s:/@]*@[^\s:/@]*")
"""A pattern of mail addresses."""
ADDRESS: Final = re.compile(r"[^\s,;:<>()\"@\\]+@[^\s,;:<>()\"@\\]+")
"""One plain address, for every parser."""
MOST_ADDRESSES: Final = 1_000
"""Addresses in one text. Of more, nobody knows which they are."""
_BETWEEN: Final = re.compile(r"[\s,;:<>()\"\\]+")
"""What may stand between addresses in a text."""
_HAS_ADDRESS: Final = re.compile(r"@|%40|=\?")
"""A text that programs may read an address from: as it stands, in a URL, or in an encoded word of a header."""


@frozen
class Spelled:
    """How else a subject may be meant, and whether it is clear which addresses are in it."""

    spellings: tuple[str, ...]
    is_clear: bool = True


def _spelled_once(subject: str) -> Spelled | None:
    """Folded, and each address in a text such as `Eve <eve@rival.example>, b@example.com`."""
    try:
        plain = folded(subject)
    except ValidationError:
        return None
    if not _HAS_ADDRESS.search(plain):
        return Spelled((plain,))
    named = [each for each in re.split("[,;]", plain, maxsplit=MOST_ADDRESSES) if each.strip()]
    is_clear = len(named) <= MOST_ADDRESSES and all(address_in(each) is not None for each in named)
    around = [word.split("@") for word in _BETWEEN.split(plain) if "@" in word]
    inside = [f"{name}@{host.rstrip('.')}" for parts in around for name, host in pairwise(parts) if name and host]
    return Spelled(tuple(dict.fromkeys((plain, *inside))), is_clear)


spelled: Final = Kept(_spelled_once)


@lru_cache(maxsize=1_000)
def folded_patterns(patterns: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """The patterns folded, and whether one of them is about addresses."""
    known = tuple(map(folded, patterns))
    return known, any(map(ADDRESSES.fullmatch, known))
