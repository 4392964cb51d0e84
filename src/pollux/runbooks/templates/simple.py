"""Whether a template is simple: values and conditions in a row, without loops, calls or arithmetic.

The work for such a template grows with its length and its data and no faster, so it may be done right here. In any
other one a few characters can ask for all the memory there is, and no counter of MiniJinja's would notice.
"""

import re
from typing import Final

MOST_TAGS: Final = 64
LONGEST: Final = 256 * 1024

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_TEXT: Final = r"""(?:'[^'\\{}%#]*'|"[^"\\{}%#]*")"""
_PATH: Final = rf"{_NAME}(?:\.{_NAME}|\[(?:{_TEXT}|-?[0-9]{{1,6}})\])*"
# At most two in a row: some of them make text longer by a factor.
_FILTER: Final = (
    r"\s*\|\s*(?:(?:default|d|join)\(\s*(?:" + _TEXT + r"|[0-9]{1,6})\s*\)"
    r"|(?:shellquote|trim|upper|lower|length|count|first|last|tojson|int|float|string)\b(?!\())"
)
_VALUE: Final = rf"{_PATH}(?:{_FILTER}){{0,2}}"
_LITERAL: Final = rf"(?:{_TEXT}|-?[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?|true|false|none)"
_TEST: Final = r"\s+is\s+(?:not\s+)?(?:defined|undefined|none)"
_CONDITION: Final = rf"(?:not\s+)?{_VALUE}(?:\s*(?:[<>]=?|[=!]=)\s*{_LITERAL}|{_TEST})?"
_TAG: Final = re.compile(
    rf"\{{\{{-?\s*{_VALUE}\s*-?\}}\}}"
    rf"|\{{%-?\s*(?:(?:if|elif)\s+{_CONDITION}(?:\s+(?:and|or)\s+{_CONDITION}){{0,9}}|else|endif)\s*-?%\}}"
)
_OPENING: Final = re.compile(r"\{[{%#]")


def has_tags(template: str) -> bool:
    """Whether there is anything to fill in. A text without tags stays as it is, comments too, as Atuin has it."""
    return "{{" in template or "{%" in template


def is_simple(template: str) -> bool:
    """Whether every tag of it is of the simple kinds."""
    if len(template) > LONGEST:
        return False
    at = tags = 0
    while opening := _OPENING.search(template, at):
        tag = _TAG.match(template, opening.start())
        tags += 1
        if tag is None or tags > MOST_TAGS:
            return False
        at = tag.end()
    return True
