"""Which outputs templates name that no block gives: said before anything runs, and not when their turn comes."""

import re
from collections.abc import Iterator
from typing import Final

from pollux.core.messages import JSON
from pollux.runbooks.documents import Block, Runbook, place_of
from pollux.runbooks.documents.model import as_list, as_object
from pollux.runbooks.progress import Types
from pollux.runbooks.templates.values import camel, snake

_NAMED: Final = re.compile(
    r"""doc\.named(?:\.(?P<bare>\w+)|\[(?P<quote>['"])(?P<name>.+?)(?P=quote)\])"""
    r"""\.output(?:\.(?P<key>\w+)|\[(?P<mark>['"])(?P<word>.+?)(?P=mark)\])(?P<asked>\s*(?:\||is\b))?"""
)
_TAG: Final = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)


def missing_outputs(runbook: Runbook, types: Types) -> list[str]:
    """What templates name of a block that has no such output. What has a default or is asked about is left out."""
    named = {name: block for block in runbook.blocks if isinstance(name := block.props.get("name"), str)}
    found = (text for block in runbook.blocks if block.type in types for text in _missing(block, named, types))
    return list(dict.fromkeys(found))


def _missing(block: Block, named: dict[str, Block], types: Types) -> Iterator[str]:
    for text in _texts(dict(block.props)):
        for tag in _TAG.finditer(text):
            for path in _NAMED.finditer(tag[1]):
                name, key = path["bare"] or path["name"], path["key"] or path["word"]
                giver = named.get(name)
                if giver is None or giver.type not in types or path["asked"]:
                    continue
                known = types[giver.type].output(None)
                if not {key, snake(key), camel(key)} & known.keys():
                    there = ", ".join(sorted(known)) or "nothing"
                    yield f"'{name}' has no output '{key[:80]}', it has {there} {place_of(block)}"


def _texts(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in (as_object(value) or {}).values():
        yield from _texts(each)
    for each in as_list(value) or ():
        yield from _texts(each)
