"""What the service asks of a conversation: calls and results in step, every thought back as it was given.

Law: nothing is remembered between requests; a signature proves itself, and what it followed.
"""

import re
from dataclasses import dataclass
from typing import Any

from pollux.emulator.anthropic.errors import bad_request
from pollux.emulator.jsons import canonical, is_list, is_object
from pollux.emulator.seal import digest, judge_thought

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SOURCES = frozenset({"base64", "url", "text", "content", "file"})
_ROLES = {
    "user": frozenset({"text", "image", "document", "tool_result", "search_result"}),
    "assistant": frozenset({"text", "thinking", "redacted_thinking", "tool_use"}),
}
_MOVED = (
    "The block is bound to a different conversation. Remove the block, or set"
    ' `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


@dataclass(frozen=True)
class Turn:
    """Consecutive messages of one role. `at` is where the first of them stands."""

    at: int
    role: str
    blocks: tuple[dict[str, Any], ...]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The blocks of one kind, in order."""
        return [block for block in self.blocks if block["type"] == kind]


def read_turns(messages: object) -> list[Turn]:
    """The conversation, every block of it well-formed. Raises Refusal."""
    if not is_list(messages) or not messages:
        raise bad_request("messages: at least one message is required")
    turns: list[Turn] = []
    for at, message in enumerate(messages):
        role = message.get("role") if is_object(message) else None
        if not is_object(message) or role not in _ROLES:
            raise bad_request(f"messages.{at}.role: Input should be 'user' or 'assistant'")
        blocks = tuple(_blocks(message.get("content"), role=role, at=at))
        if turns and turns[-1].role == role:
            turns[-1] = Turn(turns[-1].at, role, turns[-1].blocks + blocks)
        else:
            turns.append(Turn(at, role, blocks))
    if turns[0].role != "user":
        raise bad_request('messages: first message must use the "user" role')
    return turns


def check_pairs(turns: list[Turn]) -> None:
    """Every call answered in the very next turn, every result to a call of the turn before. Raises Refusal."""
    seen: set[str] = set()
    for at, turn in enumerate(turns):
        asked = [block["id"] for block in turn.of("tool_use")]
        if len(set(asked)) < len(asked) or not seen.isdisjoint(asked):
            raise bad_request(f"messages.{turn.at}: `tool_use` ids must be unique")
        seen.update(asked)
        following = turns[at + 1].of("tool_result") if at + 1 < len(turns) else []
        answered = {block["tool_use_id"] for block in following}
        if missing := [one for one in asked if one not in answered]:
            raise bad_request(
                f"messages.{turn.at}: `tool_use` ids were found without `tool_result` blocks immediately after:"
                f" {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the"
                " next message."
            )
        _check_results(turns, at)


def _check_results(turns: list[Turn], at: int) -> None:
    results = [block["tool_use_id"] for block in turns[at].of("tool_result")]
    before = [block["id"] for block in turns[at - 1].of("tool_use")] if at else []
    for place, one in enumerate(results):
        if one not in before:
            raise bad_request(
                f"messages.{turns[at].at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks:"
                f" {one}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
    if len(set(results)) < len(results):
        raise bad_request(
            f"messages.{turns[at].at}: each tool_use must have a single result. Found multiple `tool_result` blocks."
        )


def check_thoughts(turns: list[Turn], head: object, *, binds: bool, drops: bool) -> None:
    """Every thought genuine and, where the model binds it, behind the words it followed. Raises Refusal."""
    for at, turn in enumerate(turns):
        for place, block in enumerate(turn.blocks):
            if block["type"] != "thinking":
                continue
            verdict = judge_thought(block["signature"], block["thinking"], prefix(head, turns[:at]))
            where = f"messages.{turn.at}.content.{place}: Invalid `signature` in `thinking` block"
            if verdict == "corrupt":
                raise bad_request(where)
            if verdict == "moved" and binds and not drops:
                raise bad_request(f"{where}. {_MOVED}")
        if turn.role == "assistant" and turn.blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            raise bad_request(f"messages.{turn.at}: The final block in an assistant message cannot be `thinking`.")


def check_begins_in_thought(turns: list[Turn]) -> None:
    """Where thinking has a budget, a call under way must have begun with a thought. Raises Refusal."""
    if len(turns) < 2 or not turns[-1].of("tool_result"):
        return
    first = turns[-2].blocks[0]["type"]
    if first not in ("thinking", "redacted_thinking"):
        raise bad_request(
            f"messages.{turns[-2].at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`."
            " When `thinking` is enabled, a final `assistant` message must start with a thinking block."
        )


def prefix(head: object, turns: list[Turn]) -> bytes:
    """The fingerprint of everything a thought follows: instructions, tools, turns."""
    return digest(canonical([head, [[turn.role, list(turn.blocks)] for turn in turns]]))


def _blocks(content: object, *, role: str, at: int) -> list[dict[str, Any]]:
    given: object = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not is_list(given) or not given:
        raise bad_request(f"messages.{at}: all messages must have non-empty content")
    return [_block(one, role=role, where=f"messages.{at}.content.{place}") for place, one in enumerate(given)]


def _block(block: object, *, role: str, where: str) -> dict[str, Any]:
    kind = block.get("type") if is_object(block) else None
    if not is_object(block) or kind not in _ROLES[role]:
        tags = ", ".join(f"'{tag}'" for tag in sorted(_ROLES[role]))
        raise bad_request(
            f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        )
    match kind:
        case "text":
            _text(block, where)
        case "image" | "document":
            source = block.get("source")
            if not is_object(source) or source.get("type") not in _SOURCES:
                raise bad_request(f"{where}.{kind}.source: Field required")
        case "tool_use":
            _identified(block, "id", f"{where}.tool_use.id")
            if not isinstance(block.get("name"), str) or not is_object(block.get("input")):
                raise bad_request(f"{where}.tool_use.input: Input should be a valid dictionary")
        case "tool_result":
            _identified(block, "tool_use_id", f"{where}.tool_result.tool_use_id")
        case "thinking":
            for name in ("thinking", "signature"):
                if not isinstance(block.get(name), str):
                    raise bad_request(f"{where}.thinking.{name}: Field required")
        case _:
            pass
    return block


def _text(block: dict[str, Any], where: str) -> None:
    text = block.get("text")
    if not isinstance(text, str):
        raise bad_request(f"{where}.text.text: Field required")
    if not text:
        raise bad_request("messages: text content blocks must be non-empty")
    if not text.strip():
        raise bad_request("messages: text content blocks must contain non-whitespace text")


def _identified(block: dict[str, Any], name: str, where: str) -> None:
    value = block.get(name)
    if not isinstance(value, str):
        raise bad_request(f"{where}: Field required")
    if not _ID.fullmatch(value):
        raise bad_request(f"{where}: String should match pattern '^[a-zA-Z0-9_-]+$'")
