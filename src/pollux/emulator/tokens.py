"""Count and cut by tokens. An estimate, but the same one everywhere: a word of up to eight letters, or a sign."""

import re

_TOKEN = re.compile(r"\s*(?:\w{1,8}|[^\w\s])|\s+")


def count(text: str) -> int:
    """How many tokens this text costs."""
    return sum(1 for _ in _TOKEN.finditer(text))


def cut(texts: tuple[str, ...], *, limit: int) -> tuple[tuple[str, ...], bool]:
    """The first `limit` tokens of a stream of texts, and whether anything was lost."""
    kept: list[str] = []
    left = limit
    for text in texts:
        pieces = _TOKEN.findall(text)
        if len(pieces) > left:
            kept.append("".join(pieces[:left]))
            return tuple(piece for piece in kept if piece), True
        kept.append(text)
        left -= len(pieces)
    return tuple(kept), False


def chunks(text: str, *, size: int = 6) -> tuple[str, ...]:
    """Cut a text into the pieces a stream would bring: a few tokens each."""
    pieces: list[str] = _TOKEN.findall(text)
    return tuple("".join(pieces[start : start + size]) for start in range(0, len(pieces), size))
