"""Read a docstring: what it is about, and what it says of each parameter. Google, NumPy and Sphinx styles."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import field

from pollux.core.frozen import frozen

PARAMETERS = "args|arguments|params|parameters|keyword args|keyword arguments|other parameters|attributes"
OTHERS = "returns?|yields?|raises|warns|warnings?|notes?|examples?|see also|references|todo"

_GOOGLE = re.compile(rf"(?:(?P<own>{PARAMETERS})|{OTHERS}):\s*", re.IGNORECASE)
_NUMPY = re.compile(rf"(?:(?P<own>{PARAMETERS})|{OTHERS})\s*", re.IGNORECASE)
_UNDERLINE = re.compile(r"(-{3,}|={3,})\s*")
_GOOGLE_ITEM = re.compile(r"\*{0,2}(?P<names>\w+)\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*:(?P<text>.*)")
_NUMPY_ITEM = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?(?P<text>)")
_SPHINX = re.compile(r":(?:type|returns?|rtype|raises?|except|exception|yields?|meta)\b[^:]*:")
_SPHINX_ITEM = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(?P<names>\w+)\s*:(?P<text>.*)"
)
_NO_ITEM = re.compile(r"(?!)")


@frozen
class Docstring:
    """What was said of the whole, and of each parameter."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def read(text: str | None) -> Docstring:
    """The docstring's parts. What it does not understand is part of the summary."""
    lines = inspect.cleandoc(text or "").splitlines()
    heads = [(number, item) for number in range(len(lines)) if (item := _head(lines, number)) is not None]
    starts = [number for number, _ in heads] + [len(lines)]
    parameters: dict[str, str] = {}
    for (start, item), end in zip(heads, starts[1:], strict=True):
        parameters |= _items(lines[start:end], item)
    return Docstring("\n".join(lines[: starts[0]]).strip(), parameters)


def _head(lines: Sequence[str], number: int) -> re.Pattern[str] | None:
    """What an item looks like in the section that begins here; None where none begins."""
    line = lines[number]
    underlined = number + 1 < len(lines) and _UNDERLINE.fullmatch(lines[number + 1])
    if found := _GOOGLE.fullmatch(line):
        return _GOOGLE_ITEM if found["own"] else _NO_ITEM
    if underlined and (found := _NUMPY.fullmatch(line)):
        return _NUMPY_ITEM if found["own"] else _NO_ITEM
    if _SPHINX_ITEM.match(line):
        return _SPHINX_ITEM
    return _NO_ITEM if _SPHINX.match(line) else None


def _items(lines: Sequence[str], item: re.Pattern[str]) -> dict[str, str]:
    # Sphinx has its item on the section's own line; the others one or two lines below.
    body = lines if item is _SPHINX_ITEM else [line for line in lines[1:] if not _UNDERLINE.fullmatch(line)]
    margin = min((_indent(line) for line in body if line.strip()), default=0)
    said: dict[str, list[str]] = {}
    current: list[str] = []
    for line in body:
        found = item.fullmatch(line.strip()) if line.strip() and _indent(line) == margin else None
        if found is not None:
            current = [found["text"].strip()]
            said |= {name.strip(" *"): current for name in found["names"].split(",")}
        elif _indent(line) > margin:
            current.append(line.strip())
        elif line.strip():
            current = []
    return {name: " ".join(filter(None, texts)) for name, texts in said.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
