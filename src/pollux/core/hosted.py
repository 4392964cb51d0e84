"""Tools that the model's own service runs: which of them `extra` may switch on, and whose words come in by them.

They pass no gate of ours. Those that only read are allowed, and what the model says beside them counts as words from
the web. Those that act, sign in or reach out for us are refused by name, however the name is spelled.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, cast

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON

Source = Literal["web"]
"""Words that no tool of ours brought."""

WEB: Final[tuple[Source, ...]] = ("web",)

# Names are compared without case, Unicode variants, `_`, `-` and the dates that services append.
_READERS: Final = frozenset(
    """googlesearch googlesearchretrieval enterprisewebsearch exaaisearch parallelaisearch googlemaps urlcontext
    filesearch retrieval codeexecution websearch websearchpreview webfetch toolsearchtoolregex toolsearchtoolbm25
    """.split()
)
_SWITCHES: Final = frozenset(
    """websearchoptions websearch searchparameters enablesearch searchoptions plugins datasources toolresources
    cachedcontent""".split()
)
"""Settings outside `tools` that let a service search, or that bring in texts which nobody here has seen."""

_ACTORS: Final = frozenset(
    """mcp mcpserver mcpservers mcptoolset mcptools environment environmentid environments computer computeruse
    computerusepreview localshell shell bash container containers codeinterpreter connector connectors connectorid
    agent agents agentconfig externalapi apiauth hostedagent a2a assistantid previousinteractionid previousresponseid
    conversation webhookconfig""".split()
)
_DECLARATIONS: Final = frozenset("functiondeclarations functions function custom".split())
_INERT: Final = re.compile(r"metadata|labels|.*schema")
"""Values that are only handed through: a label may be called `environment`."""


def hosted_sources(extra: Mapping[str, JSON]) -> tuple[Source, ...]:
    """Whose words the model may read because of these settings.

    Raises:
        ValidationError: something in it would act without the gate, or is not known to only read.
    """
    # To the end, since every part may be refused.
    return WEB if list(_readers(extra, "extra")) else ()


def _readers(value: JSON, place: str) -> Iterator[str]:
    """Where in this value the service is let read."""
    if isinstance(value, Mapping):
        for key, member in cast("Mapping[str, JSON]", value).items():
            yield from _in_member(key, member, f"{place}.{key}")
    elif _is_list(value):
        for item in cast("Sequence[JSON]", value):
            yield from _readers(item, place)


def _in_member(key: str, value: JSON, place: str) -> Iterator[str]:
    name = _plain(key)
    if name in _ACTORS:
        raise ValidationError(
            f"{place} lets the model's service act without the gate, which is not supported. Remove it"
        )
    if key.isascii() and _INERT.fullmatch(name):
        return
    if name == "tools" and value is not None:
        yield from _tools(value, place)
        return
    if name in _SWITCHES and value is not None and value is not False:
        yield place
    yield from _readers(value, place)


def _tools(value: JSON, place: str) -> Iterator[str]:
    if not _is_list(value):
        raise ValidationError(f"{place} must be a list of tools")
    for at, tool in enumerate(cast("Sequence[JSON]", value)):
        here = f"{place}[{at}]"
        if not isinstance(tool, Mapping) or not tool:
            raise ValidationError(f"{here} must be a table that names a tool")
        _check_tool(cast("Mapping[str, JSON]", tool), here)
        yield here


def _check_tool(tool: Mapping[str, JSON], place: str) -> None:
    """Raises ValidationError unless the tool is known to only read, with all that it is given."""
    # One dialect says which tool by `type`, the other by the only member that each tool has.
    named = [str(tool["type"])] if "type" in tool else list(tool)
    for name in {*named, *tool}:
        if _plain(name) in _DECLARATIONS:
            raise ValidationError(f"{place}.{name} declares a function. Name tools in the profile's `tools`")
    for name in named:
        if not name.isascii() or _plain(name) not in _READERS:
            raise ValidationError(
                f"{place}.{name} is not supported: the model's service would run it without the gate."
                " Only tools that search, read or calculate are"
            )
    # What they are given may hold an actor of its own.
    list(_readers(tool, place))


def _is_list(value: JSON) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _plain(name: str) -> str:
    """The name without case, Unicode variants, separators and the date or version behind it."""
    # Taken apart: a composed accent would take its letter with it.
    folded = unicodedata.normalize("NFKD", name).casefold()
    return re.sub(r"[^a-z0-9]", "", re.sub(r"(?:[_-](?:v?\d+|beta|ga|latest))+$", "", folded))
