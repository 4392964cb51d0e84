"""Which version of the stored form an event needs: the oldest whose code does right by everything it says.

Processes of two versions work on one store while hosts are updated one by one. Whoever adds something to an event says
here since when, and an event is marked with that version only where it says something new. All the others stay readable
for older processes; those that are marked are left alone by them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, NewType, Union, cast, get_args, get_origin, get_type_hints

FIRST = 1

SINCE: Mapping[str, int] = {
    "PageShown": 2,
    "Page": 2,
    "ToolSpec": 2,
    "RunStarted.page": 2,
    "RunStarted.keep_seconds": 2,
    "ToolObserved": 3,
    "Action.asker": 3,
    "Action.asked": 3,
    "Action.observed": 3,
    "ModelFailed.kind=block": 3,
    # Rules and facts that code of before would pass over, and then allow more.
    # Only in runs of a document, which older code leaves alone for that.
    "ToolCall.facts": 1,
    "CallFacts": 1,
    "RunStarted.document": 4,
    "Rule.where": 4,
    "Rule.interface": 4,
    "Rule.interface_not": 4,
    "Rule.asker": 4,
    "Rule.capabilities": 4,
    "Rule.document": 4,
    "Rule.document=trusted": 4,
    "Rule.document=untrusted": 4,
    "Rule.rendered_from": 4,
    "Rule.placed_by": 4,
    "ApprovalResolved.scope=document": 4,
    "ApprovalResolved.scope=tool": 4,
    "Message.sources": 4,
    "ActionCompleted.sources": 4,
    "ActionFailed.sources": 4,
    "Condition": 4,
    # Code of before would press these unasked.
    "Page.consequential": 4,
    "Page.sending": 4,
    "RunRestored": 4,
    "RunStarted.restored": 4,
    "Document": 4,
    # Older code offers more and checks less, as it always did; what it leaves behind is not believed.
    "Action.definition": 1,
    "Page.names": 1,
    "Decision.grants": 1,
    "Decision.granted_by": 1,
    "Approval.scopes": 1,
    "Approval.scopes=session": 1,
    "Approval.scopes=document": 1,
    "Approval.scopes=always": 1,
    "Approval.scopes=tool": 4,
    "Resolution.scope=document": 1,
    "Resolution.scope=tool": 1,
    # Older code has bounds of its own, and does not say of an answer that it was cut.
    "Message.cut": 1,
    "Limits.answer_bytes": 1,
    "Limits.answer_seconds": 1,
    "Limits.idle_seconds": 1,
    "Limits.tries": 1,
    "Limits.retry_seconds": 1,
}
"""What came after the first version: a shape `Rule`, a field `Rule.tool` or a word `Rule.decision=allow`, with the
version that code must have to meet it. A field counts where it is not at its default. What older code may pass over
without harm has the 1. The version to take is one more than the highest here, once that one was released."""

VERSION = max(SINCE.values(), default=FIRST)
"""What this code can read."""

Need = Callable[[Any], int]


class Versions:
    """Says of events which version they need, by a table like `SINCE`."""

    def __init__(self, since: Mapping[str, int] = SINCE) -> None:
        self._since = {name: version for name, version in since.items() if version > FIRST}
        self._needs: dict[Any, Need | None] = {}

    def of(self, event: object) -> int:
        """The version that is written with the event."""
        need = self._need(type(event))
        return need(event) if need else FIRST

    def news_of(self, cls: type[Any]) -> tuple[tuple[str, object], ...] | None:
        """The members in which alone an event of this kind can say something new, with their defaults; None: look.

        Members of its own records are named with a dot.
        """
        if cls.__name__ in self._since:
            return None
        hints, news = get_type_hints(cls), list[tuple[str, object]]()
        for each in fields(cls):
            hint = hints[each.name]
            if f"{cls.__name__}.{each.name}" in self._since:
                news.append((each.name, _default_of(each)))
            elif self._member(cls, each, hint):
                is_record = is_dataclass(hint) and not self._words_in(hint)
                if not is_record and (default := _default_of(each)) is not MISSING:
                    # At its default it holds nothing that could be new.
                    news.append((each.name, default))
                    continue
                inner = self.news_of(cast("type[Any]", hint)) if is_record else None
                if inner is None:
                    return None
                news += [(f"{each.name}.{name}", default) for name, default in inner]
        return tuple(news)

    def _words_in(self, cls: Any) -> bool:
        """Whether a record of this type can say something new by one word of several."""
        return any(name.startswith(f"{cls.__name__}.") and "=" in name for name in self._since)

    def _need(self, hint: Any) -> Need | None:
        """What a value of this type needs; None where it is never more than the first version."""
        if isinstance(hint, NewType):
            return self._need(hint.__supertype__)
        if is_dataclass(hint):
            if hint not in self._needs:
                self._needs[hint] = self._record(cast("type[Any]", hint))
            return self._needs[hint]
        origin = get_origin(hint)
        if origin is tuple:
            inner = self._need(get_args(hint)[0])
            return (lambda values: max(map(inner, values), default=FIRST)) if inner else None
        if origin is Union or origin is UnionType:
            return self._union(get_args(hint))
        return None

    def _record(self, cls: type[Any]) -> Need | None:
        own = self._since.get(cls.__name__, FIRST)
        hints = get_type_hints(cls)
        plan = [(each.name, need) for each in fields(cls) if (need := self._member(cls, each, hints[each.name]))]
        if not plan:
            return (lambda _: own) if own > FIRST else None
        return lambda value: max(own, *(need(getattr(value, name)) for name, need in plan))

    def _member(self, cls: type[Any], field: Field[Any], hint: Any) -> Need | None:
        name = f"{cls.__name__}.{field.name}"
        own, inner = self._since.get(name, FIRST), self._need(hint)
        words = {word: self._since[f"{name}={word}"] for word in words_of(hint) if f"{name}={word}" in self._since}
        if own == FIRST and not words:
            return inner
        default = _default_of(field)

        def need(value: Any) -> int:
            version = FIRST if value == default else own
            if words and isinstance(value, str):
                version = max(version, words.get(value, FIRST))
            return max(version, inner(value)) if inner else version

        return need

    def _union(self, choices: tuple[Any, ...]) -> Need | None:
        needs: dict[object, Need] = {}
        for choice in choices:
            inner = self._need(choice) if is_dataclass(choice) else None
            if inner:
                needs[choice] = inner

        def need(value: object) -> int:
            found = needs.get(type(value))
            return found(value) if found else FIRST

        return need if needs else None


def _default_of(field: Field[Any]) -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def words_of(hint: Any) -> Iterator[str]:
    """The words that a field may hold, where it holds words."""
    if get_origin(hint) is Literal:
        yield from get_args(hint)
    elif get_origin(hint) in (Union, UnionType):
        for choice in get_args(hint):
            yield from words_of(choice)
