"""What the service asks of a conversation: calls and responses in step, every thought signature back as given.

Law: nothing is remembered between requests; a signature proves itself. Only the current turn, since the last user
message that is not a function response, must carry signatures; an altered one of ours is refused anywhere.
"""

from collections import Counter
from typing import Any

from pollux.emulator.gemini.catalogue import signs_thoughts
from pollux.emulator.gemini.errors import Refusal
from pollux.emulator.model import Call
from pollux.emulator.seal import verify

_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the"
    " function call turn."
)
_CALL_ORDER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE_ORDER = "Please ensure that function response turn comes immediately after a function call turn."
_LAST = "Please ensure that multiturn requests end with a user turn or a function response turn."


def check(contents: list[dict[str, Any]], *, model: str, vertex: bool) -> None:
    """Raises Refusal when calls and responses are out of step or a signature is missing or altered."""
    turns = merge_model_turns(contents)
    _check_order(turns)
    if signs_thoughts(model):
        _check_signatures(turns, vertex=vertex)


def merge_model_turns(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Consecutive model contents are one turn: clients that stream keep one content per chunk."""
    turns: list[dict[str, Any]] = []
    for content in contents:
        if content.get("role") == "model" and turns and turns[-1].get("role") == "model":
            turns[-1] = {"role": "model", "parts": turns[-1].get("parts", []) + content.get("parts", [])}
        else:
            turns.append(content)
    return turns


def prompt_position(turns: list[dict[str, Any]]) -> int:
    """Where the current turn begins: the last user message that is not a function response."""
    for at in range(len(turns) - 1, -1, -1):
        if turns[at].get("role") != "model" and not responses(turns[at]):
            return at
    return 0


def calls(turn: dict[str, Any]) -> list[dict[str, Any]]:
    """The function calls of a model turn."""
    return [part["functionCall"] for part in turn.get("parts", []) if "functionCall" in part]


def responses(turn: dict[str, Any]) -> list[dict[str, Any]]:
    """The function responses of a user turn."""
    return [part["functionResponse"] for part in turn.get("parts", []) if "functionResponse" in part]


def _check_order(turns: list[dict[str, Any]]) -> None:
    open_calls: list[dict[str, Any]] = []
    for at, turn in enumerate(turns):
        if turn.get("role") == "model":
            if responses(turn):
                raise Refusal(400, _RESPONSE_ORDER)
            open_calls = calls(turn)
            if open_calls and at == 0:
                raise Refusal(400, _CALL_ORDER)
        else:
            if calls(turn):
                raise Refusal(400, _CALL_ORDER)
            _check_pair(open_calls, responses(turn))
            open_calls = []
    if turns[-1].get("role") == "model":
        raise Refusal(400, _COUNT if open_calls else _LAST)


def _check_pair(asked: list[dict[str, Any]], answered: list[dict[str, Any]]) -> None:
    if answered and not asked:
        raise Refusal(400, _RESPONSE_ORDER)
    if len(answered) != len(asked):
        raise Refusal(400, _COUNT)
    if sorted(call["name"] for call in asked) != sorted(response["name"] for response in answered):
        raise Refusal(400, "Please ensure that function response names match those of the function call turn.")
    known = Counter(call["id"] for call in asked if call.get("id"))
    given = Counter(response["id"] for response in answered if response.get("id"))
    if known and given - known:
        raise Refusal(400, "Please ensure that function response ids match those of the function call turn.")


def _check_signatures(turns: list[dict[str, Any]], *, vertex: bool) -> None:
    current = prompt_position(turns)
    for at, turn in enumerate(turns):
        if turn.get("role") != "model":
            continue
        first_call = True
        for part in turn.get("parts", []):
            required = "functionCall" in part and first_call and at > current
            first_call = first_call and "functionCall" not in part
            _check_signature(part, required=required, current=at > current, position=at + 1, vertex=vertex)


def _check_signature(part: dict[str, Any], *, required: bool, current: bool, position: int, vertex: bool) -> None:
    signature: str | None = part.get("thoughtSignature")
    name = part.get("functionCall", {}).get("name", "")
    if not signature:
        if required:
            raise _missing(name, position=position, vertex=vertex)
        return
    call = Call(name, part["functionCall"].get("args", {})) if name else None
    match verify(signature, call):
        case "genuine" | "skip":
            return
        case "foreign" if not current:
            # Made by another service for an earlier turn: nothing here can judge it, and the real one reads only ours.
            return
        case _:
            raise Refusal(400, "Thought signature is not valid." if vertex else "Corrupted thought signature.")


def _missing(name: str, *, position: int, vertex: bool) -> Refusal:
    if vertex:
        return Refusal(
            400,
            f"Unable to submit request because function call `default_api:{name}` in the {position}. content block is"
            " missing a `thought_signature`. Learn more:"
            " https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures",
        )
    return Refusal(
        400,
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work"
        " correctly, and missing thought_signature may lead to degraded model performance. Additional data, function"
        f" call `default_api:{name}` , position {position}. Please refer to"
        " https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
    )
