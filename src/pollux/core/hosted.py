"""What `extra` may hold: settings of generation, and those tools of a model's service that only read.

Such tools pass no gate of ours, so this goes by what is known to be harmless. A known setting passes. A tool that is
known to search, read or calculate passes, and what the model says beside it counts as words from the web; so does a
single value under a name that is not known. All else is refused by name, however the name is spelled.
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
_SETTINGS: Final = frozenset(
    """temperature topp topk topa minp typicalp typical tfsz topnsigma seed randomseed n candidatecount bestof
    numcompletions maxtokens maxcompletiontokens maxoutputtokens mintokens npredict numpredict maxnewtokens
    presencepenalty frequencypenalty repetitionpenalty repeatpenalty repeatlastn lengthpenalty penalizenewline
    norepeatngramsize drymultiplier drybase dryallowedlength drypenaltylastn drysequencebreakers xtcprobability
    xtcthreshold dynatemprange dynatempexponent mirostat mirostattau mirostateta usebeamsearch beamwidth
    earlystopping stop stopsequences stoptokenids includestopstrinoutput ignoreeos badwords allowedtokenids echo
    suffix logprobs toplogprobs responselogprobs promptlogprobs nprobs returntokenids returntokensastokenids
    skipspecialtokens spacesbetweenspecialtokens addspecialtokens addgenerationprompt continuefinalmessage
    truncateprompttokens truncation cachesalt cacheprompt generationconfig options extrabody responsemimetype
    responsemodalities modalities mediaresolution audiotimestamp enableaffectivedialog audio voice outputconfig
    verbosity speed thinking thinkingconfig thinkingbudget thinkinglevel includethoughts enablethinking
    thinkingtokenbudget budgettokens think reasoning reasoningeffort reasoningformat includereasoning
    reasoningsplit effort summary generatesummary exclude enabled display type mode toolconfig
    functioncallingconfig allowedfunctionnames includeserversidetoolinvocations streamfunctioncallarguments
    paralleltoolcalls maxtoolcalls disableparalleltooluse toolstream retrievalconfig latlng latitude longitude
    languagecode user safetyidentifier promptcachekey promptcacheretention cachecontrol ttl servicetier
    inferencegeo store priority requestid stream streamoptions includeusage includeobfuscation usage include
    keepalive betas anthropicbeta safeprompt promptmode provider order only ignore allowfallbacks
    requireparameters datacollection quantizations sort zdr enforcedistillabletext preferredminthroughput
    preferredmaxlatency route transforms numctx numkeep numbatch numgpu numgqa numthread maingpu lowvram f16kv
    logitsall vocabonly usemmap usemlock numa raw
    """.split()
)
"""Settings of generation that services take, and the tables that hold them: Gemini, Anthropic, OpenAI, OpenRouter,
Mistral, Ollama, llama.cpp, vLLM."""

_INERT: Final = re.compile(
    r"metadata|labels|.*schema|logitbias|responseformat|outputformat|format|guided(?:json|regex|choice|grammar|decodingbackend|"
    r"whitespacepattern)|structuredoutputs|grammar|chattemplate|chattemplatekwargs|mmprocessorkwargs|safetysettings|"
    r"speechconfig|imageconfig|prediction|toolchoice|functioncall|contextmanagement|maxprice|system|systeminstruction"
)
"""Values that are only handed through: a label may be called `environment`."""

_READERS: Final = frozenset(
    """googlesearch googlesearchretrieval enterprisewebsearch exaaisearch parallelaisearch googlemaps urlcontext
    filesearch retrieval codeexecution websearch websearchpreview webfetch toolsearchtoolregex toolsearchtoolbm25
    """.split()
)
_READING: Final = _READERS | frozenset(
    """datasources toolresources cachedcontent documents models userlocation approximate alloweddomains blockeddomains
    vectorstoreids filters rankingoptions timerangefilter dynamicretrievalconfig vertexragstore ragresources ragcorpora
    ragfileids sources excludedwebsites allowedwebsites includedxhandles excludedxhandles allowedcallers citations
    """.split()
)
"""Settings that let a service search, or that bring in texts which nobody here has seen; and what such tools take."""
_READS: Final = re.compile("search|fetch|retriev|grounding|crawl|enhancement")
_PLUGINS: Final = frozenset({"web", "fileparser", "responsehealing"})
"""What OpenRouter calls so, and only reads."""

_ACTS: Final = re.compile(
    "mcp|server|agent|assistant|skill|plugin|connector|integration|environment|container|computer|interpreter|webhook|"
    "callback|shell|bash|terminal|sandbox|workflow|handoff|tool|function|conversation|previousresponse|"
    "previousinteraction|externalapi|apiauth|a2a|reasoningengine|browser|desktop|operator|^bots?|bots?(?:ids?)?$|^actions?$"
)
_DECLARATIONS: Final = frozenset("functiondeclarations functions function custom".split())


def hosted_sources(extra: Mapping[str, JSON]) -> tuple[Source, ...]:
    """Whose words the model may read because of these settings.

    Raises:
        ValidationError: something in it would act without the gate, or is not known to only set or read.
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
    # A name that only looks like a known one is not known to the service either.
    is_plain = key.isascii()
    if is_plain and _INERT.fullmatch(name):
        return
    if name in ("tools", "plugins") and value is not None:
        yield from _tools(value, place) if name == "tools" else _plugins(value, place)
        return
    is_setting = is_plain and name in _SETTINGS
    if not is_setting:
        _require_harmless(name, place)
    # What is wrong within it is named first.
    yield from _readers(value, place)
    if is_setting or value is None:
        return
    if name in _READING or _READS.search(name):
        if value is not False:
            yield place
    elif isinstance(value, Mapping) or _is_list(value):
        raise ValidationError(
            f"{place} is not a setting that Pollux knows, and could let the model's service act without the gate."
            " Remove it: unknown settings may only hold a single value"
        )
    else:
        yield place


def _require_harmless(name: str, place: str) -> None:
    """Raises ValidationError for a name that says that something acts."""
    if name == "model":
        raise ValidationError(f"{place} is not supported. Name the model in the profile's `model`")
    if name in _DECLARATIONS:
        raise ValidationError(f"{place} declares a function. Name tools in the profile's `tools`")
    if name not in _READING and _ACTS.search(name):
        raise ValidationError(
            f"{place} lets the model's service act without the gate, which is not supported. Remove it"
        )


def _plugins(value: JSON, place: str) -> Iterator[str]:
    for at, plugin in enumerate(_listed(value, place)):
        given: Mapping[str, JSON] = cast("Mapping[str, JSON]", plugin) if isinstance(plugin, Mapping) else {}
        named = given.get("id")
        if not isinstance(named, str) or not named.isascii() or _plain(named) not in _PLUGINS:
            raise ValidationError(
                f"{place}[{at}] lets the model's service act without the gate, which is not supported."
                " Only the plugins web, file-parser and response-healing are"
            )
        list(_readers({name: each for name, each in given.items() if name != "pdf"}, f"{place}[{at}]"))
        yield f"{place}[{at}]"


def _tools(value: JSON, place: str) -> Iterator[str]:
    for at, tool in enumerate(_listed(value, place)):
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


def _listed(value: JSON, place: str) -> Sequence[JSON]:
    if not _is_list(value):
        raise ValidationError(f"{place} must be a list of {place.rpartition('.')[2]}")
    return cast("Sequence[JSON]", value)


def _is_list(value: JSON) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _plain(name: str) -> str:
    """The name without case, Unicode variants, separators and the date or version behind it."""
    # Taken apart: a composed accent would take its letter with it.
    folded = unicodedata.normalize("NFKD", name).casefold()
    return re.sub(r"[^a-z0-9]", "", re.sub(r"(?:[_-](?:v?\d+|beta|ga|latest))+$", "", folded))
