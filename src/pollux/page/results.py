"""What a page says came of the calls it was given. Only calls that wait are answered, and each once."""

import json
from collections.abc import Collection
from typing import Final, cast

from pollux.core.canonical import normal
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.page.private import without_private

LARGEST: Final = 32_000
"""Characters of one result. What is longer reaches the model cut, as text that says so."""


@frozen
class Answer:
    """The result of one page call."""

    call_id: str
    result: JSON
    is_error: bool = False


def answers(results: JSON, *, pending: Collection[str]) -> tuple[Answer, ...]:
    """The results of calls that wait, in the order they came.

    Raises ValidationError for a result of any other call, for two of one, and for what is no list of results.
    """
    if not isinstance(results, list):
        raise ValidationError("expected `results` to be a list of {callId, result, isError}")
    found: dict[str, Answer] = {}
    for number, given in enumerate(cast("list[JSON]", results)):
        answer = _answer(number, given)
        if answer.call_id not in pending:
            raise ValidationError(f"results[{number}] answers a call that does not wait for the page")
        if answer.call_id in found:
            raise ValidationError(f"results[{number}] answers a call that another result answers already")
        found[answer.call_id] = answer
    return tuple(found.values())


def _answer(number: int, given: JSON) -> Answer:
    members = cast("dict[str, JSON]", given) if isinstance(given, dict) else {}
    call_id, is_error = members.get("callId"), members.get("isError", False)
    if not isinstance(call_id, str) or "result" not in members or not isinstance(is_error, bool | None):
        raise ValidationError(f"expected results[{number}] to be {{callId: text, result: text, isError?: boolean}}")
    return Answer(call_id, _value(members["result"]), bool(is_error))


def as_text(result: JSON) -> str:
    """A text as it is, and anything else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _value(result: JSON) -> JSON:
    """The value of a result that is JSON as text, as pages send it; any other text is itself."""
    text = as_text(result)
    if len(text) > LARGEST:
        return f"{text[:LARGEST]}… ({len(text) - LARGEST} more characters cut)"
    try:
        return normal(without_private(json.loads(text)))
    except (ValueError, RecursionError, ValidationError):
        return text
