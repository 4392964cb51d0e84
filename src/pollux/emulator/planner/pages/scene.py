"""What a step can see: the page as it is now, what may be called, and what has been done since the prompt."""

from dataclasses import dataclass
from typing import Any

from pollux.emulator.jsons import is_object, objects, strings
from pollux.emulator.model import Ask, Call, Tool
from pollux.emulator.planner.clues import split_words
from pollux.emulator.planner.pages import outline, visitor
from pollux.emulator.planner.pages.outline import Outline, Thing, stems
from pollux.emulator.planner.pages.visitor import Visitor

GENERIC = frozenset({"click", "fill", "select", "press", "scroll", "read", "read-page-state"})
_LOOKING = frozenset("get list search find show read fetch look view tell count".split())
_UNSURE = "may have happened"


@dataclass(frozen=True)
class Deed:
    """A call of this turn, and what it came to."""

    call: Call
    response: Any

    @property
    def error(self) -> str:
        """Why it was not done; empty where it was."""
        if not is_object(self.response):
            return ""
        error = self.response.get("error")
        return (error if isinstance(error, str) else str(error)) if error else ""

    @property
    def counts(self) -> bool:
        """Whether it was done, or perhaps was: neither is done again."""
        return not self.error or _UNSURE in self.error

    @property
    def told(self) -> str:
        """What the page says was done."""
        did = self.response.get("did") if is_object(self.response) else None
        return did if isinstance(did, str) else ""

    @property
    def changed(self) -> list[str]:
        """What the page says has changed by it."""
        return strings(self.response.get("changed")) if is_object(self.response) else []

    @property
    def result(self) -> Any:
        """What it gave. What is no object comes wrapped."""
        is_wrapped = is_object(self.response) and list(self.response) == ["result"]
        return self.response["result"] if is_wrapped else self.response

    @property
    def records(self) -> list[dict[str, Any]]:
        """The things that it found."""
        return objects(self.result)


@dataclass(frozen=True)
class Scene:
    """One moment of a turn."""

    page: Outline
    tools: tuple[Tool, ...]
    deeds: tuple[Deed, ...]
    visitor: Visitor
    stops: str = ""

    def can(self, name: str) -> bool:
        """Whether the page can do this."""
        return any(tool.name == name for tool in self.tools)

    @property
    def on_server(self) -> tuple[Tool, ...]:
        """What is done elsewhere than in the page."""
        return tuple(tool for tool in self.tools if tool.name not in GENERIC)

    def done(self, name: str, **args: object) -> list[Deed]:
        """The calls of this tool with these arguments that were done, or perhaps were."""
        return [
            deed
            for deed in self.deeds
            if deed.call.name == name and deed.counts and deed.call.args.items() >= args.items()
        ]

    def failures(self, name: str, **args: object) -> list[Deed]:
        """Those that were not."""
        return [
            deed
            for deed in self.deeds
            if deed.call.name == name and not deed.counts and deed.call.args.items() >= args.items()
        ]

    def words_of(self, deed: Deed) -> frozenset[str]:
        """What a call was about: as the page told it, and where it still shows the control, as that is called."""
        thing = self.page.at(deed.call.args.get("ref"))
        shows = thing is not None and (not deed.told or thing.name in deed.told)
        return stems(deed.told) | (thing.words | thing.around if thing is not None and shows else frozenset[str]())


def looks(tool: Tool) -> bool:
    """Whether a tool only looks, by its first word."""
    return bool(set(topic_words(tool)[:1]) & _LOOKING)


def looks_up(tool: Tool) -> bool:
    """Whether it tells of one thing and needs nothing for that. A search would answer to any word."""
    return looks(tool) and not is_search(tool) and bool(topic(tool)) and not tool.schema.get("required")


def is_search(tool: Tool) -> bool:
    """Whether a tool searches."""
    return bool(set(topic_words(tool)[:1]) & {"search", "find"})


def topic_words(tool: Tool) -> list[str]:
    """The words of a tool's name, what it is filed under apart."""
    words = split_words(tool.name)
    return words[1:] if words[:1] == ["action"] else words


def topic(tool: Tool) -> frozenset[str]:
    """What a tool that looks is about."""
    return stems(" ".join(topic_words(tool)[1:]))


def scene_of(ask: Ask, tools: tuple[Tool, ...], *, stops: str = "") -> Scene | None:
    """The scene of a request; None where no page is shown that could be driven."""
    page = outline.read(ask.system)
    if page is None or not any(tool.name in GENERIC for tool in tools):
        return None
    deeds = tuple(
        Deed(call, result.response)
        for calls, results in zip(ask.made, ask.rounds, strict=False)
        for call, result in zip(calls, results, strict=False)
    )
    told = visitor.read(ask.prompt)
    return Scene(page, tools, deeds, told if told.known else visitor.read(outline.instructions(ask.system)), stops)


def closest(things: list[Thing], wanted: frozenset[str]) -> list[Thing]:
    """Those of them that say least beside what was wanted: one, or several that cannot be told apart."""
    ranked = sorted(things, key=lambda thing: len((thing.words | thing.around) - wanted))
    if not ranked:
        return []
    least = len((ranked[0].words | ranked[0].around) - wanted)
    best = [thing for thing in ranked if len((thing.words | thing.around) - wanted) == least]
    # Two links of one name lead to one place; two buttons may do two things.
    return best[:1] if all(thing.role == "link" and thing.name == best[0].name for thing in best) else best
