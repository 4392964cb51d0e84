"""What was found or done, in words for a person."""

from typing import Any

from pollux.emulator.jsons import is_list, is_number, is_object
from pollux.emulator.planner.clues import split_words

_NAMES = ("name", "title", "label", "subject")
_COUNTS = ("quantity", "count", "amount")
_MONEY = frozenset({"price", "total", "cost", "sum", "subtotal"})
_HIDDEN = ("id", "productid", "_id")
_TIMES = {1: "once", 2: "twice", 3: "three times", 4: "four times", 5: "five times"}


def times(count: int) -> str:
    """How often."""
    return _TIMES.get(count, f"{count} times")


def several(names: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def value(given: Any, *, name: str = "") -> str:
    """Anything that came back, told plainly."""
    if is_object(given):
        return _record(given)
    if is_list(given):
        return "; ".join(value(one) for one in given) if given else "nothing"
    if is_number(given):
        return f"{given:.2f}" if name.lower() in _MONEY else f"{given:g}"
    return {True: "yes", False: "no", None: "nothing"}.get(given, str(given)) if not isinstance(given, str) else given


def _record(record: dict[str, Any]) -> str:
    named = next((str(record[key]) for key in _NAMES if isinstance(record.get(key), str)), "")
    count = next((record[key] for key in _COUNTS if named and is_number(record.get(key))), None)
    head = f"{count:g} × {named}" if named and count is not None else named
    holds = any(is_list(one) for one in record.values())
    # How many there are is seen, where they are told.
    left_out = {*_HIDDEN, *(_COUNTS if named or holds else ())}
    rest = [_member(key, one) for key, one in record.items() if str(one) != named and key.lower() not in left_out]
    if head:
        return f"{head} ({', '.join(rest)})" if rest else head
    return ", ".join(rest) or "nothing"


def _member(name: str, given: Any) -> str:
    told = value(given, name=name)
    return told if is_list(given) else f"{' '.join(split_words(name))} {told}"
