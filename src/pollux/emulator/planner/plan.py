"""The demo model: a prompt and declared tools in, calls or words out.

Law: a pure function of the request. Which round it is follows from the results in the history, so it needs no memory.
"""

import re
from dataclasses import replace
from typing import Any

from pollux.emulator import tokens
from pollux.emulator.jsons import compact, is_object
from pollux.emulator.model import Ask, Call, Reply, Tool
from pollux.emulator.planner import answers, clues, explicit, match, values
from pollux.emulator.planner.pages import drive as pages

_THEN = re.compile(r"[,.;]?\s+(?:and\s+)?then,?\s+", re.IGNORECASE)
_AND = re.compile(r"\s*(?:,\s*and|;|,|\band\b)\s+", re.IGNORECASE)
_SEARCH = re.compile(r"\b(?:search(?: the web)?(?: for)?|google|look up) +([^.;:,\n]{1,200})", re.IGNORECASE)
_WHO = re.compile(
    r"\b(?:who|what) are you\b|\bwhat can you do\b|\bare you (?:a |an )?(?:real|human|gemini|ai|model)\b", re.IGNORECASE
)
_ANY_OBJECT: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
_FINAL = re.compile(r"final|result|answer|output|finish|respond", re.IGNORECASE)


def plan(ask: Ask) -> Reply:
    """What the demo model does next."""
    reply = _decide(ask)
    return _cut(replace(reply, thoughts=_thoughts(reply), searched=_searched(ask)), ask)


def _searched(ask: Ask) -> str:
    """What is looked up before the first step; nothing where there is no search, or nobody speaks of one."""
    found = _SEARCH.search(ask.prompt[: clues.LONGEST]) if ask.can_search and not ask.rounds else None
    return found[1].strip() if found else ""


def _decide(ask: Ask) -> Reply:
    tools = _offered(ask)
    if spelt := explicit.rounds(ask.prompt):
        return _spelt(spelt, ask, tools)
    if ask.mode != "any" and not (ask.schema or ask.json_only):
        if not ask.rounds and (said := answers.literal(ask.prompt)) is not None:
            return Reply(texts=said)
        if not ask.rounds and _WHO.search(ask.prompt):
            return Reply(texts=tokens.chunks(answers.about_itself(ask)))
        if ask.system and (driven := pages.drive(ask, tools)) is not None:
            return Reply(texts=tokens.chunks(driven)) if isinstance(driven, str) else Reply(calls=driven)
    if pages.is_shown(ask):
        # To act on a page without a look at it would be a guess.
        tools = pages.beside(tools)
    wanted = _rounds(ask.prompt, tools)
    if len(ask.rounds) < len(wanted):
        return Reply(calls=tuple(wanted[len(ask.rounds)]))
    if ask.mode == "any" and tools:
        return Reply(calls=(_forced(ask, tools),))
    return _words(ask)


def _offered(ask: Ask) -> tuple[Tool, ...]:
    if ask.mode == "none":
        return ()
    return tuple(tool for tool in ask.tools if not ask.allowed or tool.name in ask.allowed)


def _spelt(spelt: list[list[explicit.Wanted]], ask: Ask, tools: tuple[Tool, ...]) -> Reply:
    if len(ask.rounds) >= len(spelt):
        return _words(ask)
    declared = {tool.name for tool in tools}
    now = spelt[len(ask.rounds)]
    strangers = [wanted.name for wanted in now if wanted.name not in declared]
    if strangers:
        return Reply(finish="UNEXPECTED_TOOL_CALL", message=answers.undeclared(strangers[0]))
    return Reply(calls=tuple(Call(wanted.name, wanted.args) for wanted in now))


def _words(ask: Ask) -> Reply:
    if ask.schema is not None or ask.json_only:
        return Reply(texts=tokens.chunks(_structured(ask)))
    text = answers.from_results(ask.rounds) if ask.rounds else answers.about_itself(ask)
    return Reply(texts=tokens.chunks(text))


def _structured(ask: Ask) -> str:
    told = "\n".join([ask.prompt, *([answers.from_results(ask.rounds)] if ask.rounds else [])])
    schema: dict[str, Any] = ask.schema or {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
    }
    value = values.fill(schema, clues.read(told))
    return value if isinstance(value, str) and not ask.json_only else compact(value)


def _rounds(prompt: str, tools: tuple[Tool, ...]) -> list[list[Call]]:
    """The calls a prompt asks for: `then` separates rounds, `and` joins calls of one round."""
    head, saying = clues.split_saying(prompt[: clues.LONGEST])
    steps = [step for step in _THEN.split(head) if step.strip()]
    if saying and steps:
        steps[-1] += " " + saying
    rounds = [[call for piece in _pieces(step, tools) for call in _calls(piece, tools)] for step in steps]
    return [calls for calls in rounds if calls]


def _pieces(step: str, tools: tuple[Tool, ...]) -> list[str]:
    """Split where a new tool begins; what names no tool belongs to the piece before it."""
    head, saying = clues.split_saying(step)
    if clues.without_quotes(head) != head:
        return [step]
    pieces: list[str] = []
    for part in _AND.split(head):
        if pieces and match.best(part, tools) is None:
            pieces[-1] += " and " + part
        else:
            pieces.append(part)
    if len(pieces) > 1 and match.best(pieces[0], tools) is None:
        pieces = [head]
    pieces[-1] += " " + saying if saying else ""
    return pieces


def _calls(piece: str, tools: tuple[Tool, ...]) -> list[Call]:
    found = match.best(piece, tools)
    if found is None:
        return []
    read = clues.read(piece)
    args = values.fill(found.tool.schema or {"type": "object"}, read)
    arguments: dict[str, Any] = args if is_object(args) else {}
    several = values.wants_several(found.tool.schema, read)
    if several is None:
        return [Call(found.tool.name, arguments)]
    return [Call(found.tool.name, arguments | {several: one}) for one in values.each(found.tool.schema, several, read)]


def _forced(ask: Ask, tools: tuple[Tool, ...]) -> Call:
    """Mode ANY allows no words: finish with the tool that looks final, else with the one that fits best."""
    final = next((tool for tool in tools if ask.rounds and _FINAL.search(tool.name)), None)
    found = match.best(ask.prompt[: clues.LONGEST], tools)
    tool = final or (found.tool if found else tools[0])
    told = "\n".join([ask.prompt, *([answers.from_results(ask.rounds)] if ask.rounds else [])])
    args = values.fill(tool.schema or {"type": "object"}, clues.read(told))
    return Call(tool.name, args if is_object(args) else {})


def _thoughts(reply: Reply) -> tuple[str, ...]:
    if reply.calls:
        return ("**Choosing tools**\n\nThe prompt asks for " + ", ".join(call.name for call in reply.calls) + ".\n",)
    return ("**Answering**\n\nNo tool is needed for this step.\n",) if reply.texts else ()


def _cut(reply: Reply, ask: Ask) -> Reply:
    """Hold the reply to stop sequences and the token limit."""
    texts = _stopped(reply.texts, ask.stops)
    if ask.max_tokens is None:
        return replace(reply, texts=texts)
    if reply.calls:
        cost = sum(tokens.count(compact([call.name, call.args])) for call in reply.calls)
        return reply if cost <= ask.max_tokens else Reply(finish="MAX_TOKENS", thoughts=reply.thoughts)
    kept, lost = tokens.cut(texts, limit=ask.max_tokens)
    return replace(reply, texts=kept, finish="MAX_TOKENS" if lost else reply.finish)


def _stopped(texts: tuple[str, ...], stops: tuple[str, ...]) -> tuple[str, ...]:
    whole = "".join(texts)
    ends = [whole.find(stop) for stop in stops if stop and stop in whole]
    if not ends:
        return texts
    left = min(ends)
    kept: list[str] = []
    for text in texts:
        kept.append(text[:left])
        left -= len(kept[-1])
    return tuple(text for text in kept if text)
