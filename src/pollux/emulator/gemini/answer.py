"""Write a Reply as Gemini writes it: chunks of a stream or one answer, fields in the order recordings have them."""

import json
from dataclasses import dataclass
from html import escape
from typing import Any

from pollux.emulator import tokens
from pollux.emulator.gemini.catalogue import base_name, signs_thoughts
from pollux.emulator.jsons import compact
from pollux.emulator.model import Ask, Call, Reply
from pollux.emulator.seal import Seal

_CATEGORIES = ("HATE_SPEECH", "DANGEROUS_CONTENT", "HARASSMENT", "SEXUALLY_EXPLICIT")


@dataclass(frozen=True)
class Writer:
    """Everything one answer needs besides what it says."""

    ask: Ask
    seal: Seal

    def stream(self, reply: Reply) -> list[dict[str, Any]]:
        """The answer in chunks; usage grows, the last one says why it ended."""
        if reply.block or reply.no_candidates:
            return [self._without_candidates(reply)]
        groups = self._groups(reply)
        if reply.finish is None:
            groups = groups[:-1] or [[{"text": ""}]]
        spent = 0
        chunks: list[dict[str, Any]] = []
        for at, parts in enumerate(groups):
            spent += sum(_cost(part) for part in parts)
            finish = reply.finish if at == len(groups) - 1 else None
            chunks.append(self._response([self._candidate(reply, parts, finish=finish)], reply, spent=spent))
        return chunks

    def whole(self, reply: Reply) -> dict[str, Any]:
        """The answer in one piece."""
        if reply.block or reply.no_candidates:
            return self._without_candidates(reply)
        parts = self._whole_parts(reply)
        spent = sum(_cost(part) for part in parts)
        candidate = self._candidate(reply, parts, finish=reply.finish)
        if reply.calls and self._signs and reply.finish == "STOP":
            candidate["finishMessage"] = "Model generated function call(s)."
        return self._response([candidate], reply, spent=spent)

    @property
    def _signs(self) -> bool:
        return signs_thoughts(self.ask.model)

    def _groups(self, reply: Reply) -> list[list[dict[str, Any]]]:
        groups = [[part] for part in [*self._thoughts(reply), *self._search(reply)]] + [
            [{"text": text}] for text in reply.texts
        ]
        calls = self._calls(reply)
        groups += [[part] for part in calls] if reply.spread_calls else ([calls] if calls else [])
        if reply.unknown_part:
            groups.append([dict(_UNKNOWN_PART)])
        if self._signs and (reply.texts or reply.calls):
            closing: dict[str, Any] = {"text": ""}
            groups.append([closing if reply.calls else closing | {"thoughtSignature": self.seal.sign(None)}])
        return groups or [[]]

    def _whole_parts(self, reply: Reply) -> list[dict[str, Any]]:
        parts = [*self._thoughts(reply), *self._search(reply)]
        if reply.texts:
            text: dict[str, Any] = {"text": reply.text}
            if self._signs and not reply.calls:
                text["thoughtSignature"] = self.seal.sign(None)
            parts.append(text)
        parts += self._calls(reply)
        return parts + ([dict(_UNKNOWN_PART)] if reply.unknown_part else [])

    def _thoughts(self, reply: Reply) -> list[dict[str, Any]]:
        return [{"text": text, "thought": True} for text in reply.thoughts] if self.ask.thoughts == "shown" else []

    def _search(self, reply: Reply) -> list[dict[str, Any]]:
        """The search among the parts, where the caller wants to see it there."""
        if not (reply.searched and self.ask.tells_search):
            return []
        known_as = {"id": "search_1", "toolType": "GOOGLE_SEARCH_WEB"}
        return [
            {"toolCall": known_as | {"args": {"queries": [reply.searched]}}},
            {"toolResponse": known_as | {"response": {"results": [_PAGE]}}},
        ]

    def _calls(self, reply: Reply) -> list[dict[str, Any]]:
        return [self._call(call, first=at == 0) for at, call in enumerate(reply.calls)]

    def _call(self, call: Call, *, first: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"name": call.name, "args": call.args}
        if self._signs and call.id is not None:
            body["id"] = call.id
        part: dict[str, Any] = {"functionCall": body}
        if self._signs and first:
            part["thoughtSignature"] = self.seal.sign(call)
        return part

    def _candidate(self, reply: Reply, parts: list[dict[str, Any]], *, finish: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {}
        if parts:
            candidate["content"] = {"parts": parts, "role": "model"}
        elif finish in ("STOP", "MAX_TOKENS"):
            candidate["content"] = {"role": "model"}
        elif finish == "SAFETY":
            candidate["content"] = {}
        if finish:
            candidate["finishReason"] = finish
        candidate["index"] = 0
        if finish == "SAFETY":
            candidate["safetyRatings"] = _ratings()
        if finish and reply.searched:
            candidate["groundingMetadata"] = _grounding(reply.searched)
        if finish and reply.message:
            candidate["finishMessage"] = reply.message
        if reply.unknown_part:
            candidate["auroraScore"] = {"level": 3, "notes": ["kept"]}
        return candidate

    def _response(self, candidates: list[dict[str, Any]], reply: Reply, *, spent: int) -> dict[str, Any]:
        response: dict[str, Any] = {
            "candidates": candidates,
            "usageMetadata": self._usage(reply, spent=spent),
            "modelVersion": base_name(self.ask.model),
            "responseId": self.seal.response_id(),
        }
        return response | ({"somethingNew": {"kept": True}} if reply.unknown_part else {})

    def _without_candidates(self, reply: Reply) -> dict[str, Any]:
        response = self._response([], Reply(), spent=0)
        if reply.block:
            del response["candidates"]
            return {"promptFeedback": {"blockReason": reply.block}} | response
        return response

    def _usage(self, reply: Reply, *, spent: int) -> dict[str, Any]:
        prompt = self.ask.text_tokens + self.ask.media_tokens
        thinking = 0 if self.ask.thoughts == "off" else sum(tokens.count(text) for text in reply.thoughts)
        usage: dict[str, Any] = {"promptTokenCount": prompt}
        if spent:
            usage["candidatesTokenCount"] = spent
        usage["totalTokenCount"] = prompt + spent + thinking
        usage["promptTokensDetails"] = token_details(self.ask.text_tokens, self.ask.media_tokens)
        if thinking:
            usage["thoughtsTokenCount"] = thinking
        return usage


def token_details(text: int, media: int) -> list[dict[str, Any]]:
    """Tokens by modality, as usage and countTokens show them."""
    details: list[dict[str, Any]] = [{"modality": "TEXT", "tokenCount": text}]
    return details + ([{"modality": "IMAGE", "tokenCount": media}] if media else [])


def one_line(value: object) -> str:
    """JSON as the service writes it into a stream: UTF-8, a space after each colon."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ": "))


def pretty(value: object) -> str:
    """JSON as the service writes a whole answer."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


_UNKNOWN_PART = {"hologram": {"hue": "teal", "frames": [1, 2, 3]}, "sparkle": True}


_PAGE = {"uri": "https://search.example/redirect/1", "title": "town.example", "domain": "town.example"}


def _grounding(query: str) -> dict[str, Any]:
    """What stands beside an answer for which the web was searched."""
    return {
        "webSearchQueries": [query],
        "groundingChunks": [{"web": _PAGE}],
        "searchEntryPoint": {"renderedContent": f"<div>{escape(query)}</div>"},
    }


def _cost(part: dict[str, Any]) -> int:
    if part.get("thought"):
        return 0
    if "functionCall" in part:
        return tokens.count(compact({key: part["functionCall"][key] for key in ("name", "args")}))
    return tokens.count(part.get("text", ""))


def _ratings() -> list[dict[str, Any]]:
    ratings: list[dict[str, Any]] = [
        {"category": f"HARM_CATEGORY_{name}", "probability": "NEGLIGIBLE"} for name in _CATEGORIES
    ]
    ratings[0] |= {"probability": "HIGH", "blocked": True}
    return ratings
