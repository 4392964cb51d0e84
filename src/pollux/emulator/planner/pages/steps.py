"""One step towards a wish: the calls to make now, or the words that it came to.

Law: what to do follows from the page as it is and from what was done since the prompt. Nothing is pressed again that
may have been pressed, and where two controls fit, it asks instead of guessing.
"""

from pollux.emulator.model import Call
from pollux.emulator.planner.pages import orders, telling
from pollux.emulator.planner.pages.outline import FIELDS, PRESSED, TICKED, Item, Thing, stems
from pollux.emulator.planner.pages.scene import Scene, closest, looks_up, topic, topic_words
from pollux.emulator.planner.pages.wishes import Wanted, Wish, singular, verb_stem

Step = tuple[Call, ...] | str | None
"""Calls to make, words to say, or nothing: this wish is not for the page."""

_DULL = stems("the a an of for in on to at button link box field page checkbox tab one item please")
_UP_TO = stems("up max maximum under price most")
_EVERYTHING = stems("everything all products items things")
_TO_FORM = stems("checkout delivery address shipping continue proceed")


def step(wish: Wish, scene: Scene) -> Step:
    """What to do next for this wish."""
    match wish.kind:
        case "mine":
            return _fill_mine(scene)
        case "fill":
            return _fill(wish, scene)
        case "choose":
            return _choose(wish, scene)
        case "tick" | "untick":
            return _tick(wish, scene)
        case "each":
            return _press_each(wish, scene)
        case "search":
            return _ask(wish, scene, only_named=True) or _search(wish, scene)
        case "ask":
            return _ask(wish, scene)
        case "order":
            return orders.step(scene, lambda: way_to_form(scene))
        case "press":
            return _press(wish, scene)


def way_to_form(scene: Scene) -> tuple[Call, ...] | None:
    """The way to where an address is asked for, taken once; and a look around there, once."""
    if scene.failures("click"):
        return None
    if any(scene.words_of(deed) & _TO_FORM for deed in scene.done("click")):
        # A page that is being left still shows what it showed. What is asked of the next one, that one answers.
        return (Call("read", {}),) if scene.can("read") and not scene.done("read") else None
    ways = [thing for thing in scene.page.controls if thing.role in PRESSED and thing.words & _TO_FORM]
    return (_click(ways[0]),) if ways else None


def _fill_mine(scene: Scene) -> Step:
    if not scene.visitor.known:
        return "I do not know your address. Tell me, as in: my address is Ada Lovelace, 12 High Street, Leeds LS1 1AA."
    fields = scene.visitor.fields(scene.page)
    if not fields:
        return way_to_form(scene) or "There is no form on this page that asks for an address."
    calls = tuple(_written(thing, value) for thing, value in fields if not _holds(thing, value))
    calls = tuple(call for call in calls if not scene.done(call.name, **call.args))
    if trouble := [deed for call in calls for deed in scene.failures(call.name, **call.args)]:
        return f"I could not fill in everything: {trouble[-1].error}"
    if calls:
        return calls
    return f"I filled in {telling.several([thing.name for thing, _ in fields])}." + _left_to_you(scene)


def _left_to_you(scene: Scene) -> str:
    """Where it stopped, if it was told to."""
    if not scene.stops:
        return ""
    last = next((one for one in scene.page.controls if one.role == "button" and one.words & orders.PAYING), None)
    return f" I stopped there: {last.told} is yours to press." if last else " I stopped there."


def _fill(wish: Wish, scene: Scene) -> Step:
    wanted = stems(wish.what) - _DULL
    found = closest(_fitting(scene, FIELDS, wanted), wanted)
    if len(found) != 1:
        return _unclear(wish.what, found)
    if found[0].is_private:
        return f"{found[0].told} is yours to fill in."
    return _once(_written(found[0], wish.value), scene, f"I filled in {found[0].told}.", _holds(found[0], wish.value))


def _choose(wish: Wish, scene: Scene) -> Step:
    wanted = stems(wish.value)
    for thing in _fitting(scene, FIELDS, stems(wish.what)):
        for option in thing.options:
            if wanted <= stems(option):
                said = f"I chose {option} for {thing.told}."
                return _once(Call("select", {"ref": thing.ref, "value": option}), scene, said, thing.value == option)
    return _press(Wish("press", wish.text, what=wish.value), scene)


def _tick(wish: Wish, scene: Scene) -> Step:
    wanted = stems(wish.what) - _DULL
    found = closest(_fitting(scene, TICKED, wanted), wanted)
    if len(found) != 1:
        return _unclear(wish.what, found)
    is_right = ("checked" in found[0].marks) == (wish.kind == "tick")
    said = f"I {'ticked' if wish.kind == 'tick' else 'unticked'} {found[0].told}."
    return said if is_right else _once(_click(found[0]), scene, said, is_right)


def _press(wish: Wish, scene: Scene) -> Step:
    wanted = stems(wish.what) - _DULL
    if wanted and any(wanted <= scene.words_of(deed) for deed in scene.done("click")):
        return f"I pressed “{wish.what}”." + _said_since(scene)
    found = closest(_fitting(scene, PRESSED, wanted), wanted) if wanted else []
    if not found and wish.is_guess:
        return None
    if len(found) != 1:
        return _unclear(wish.what, found)
    return _once(_click(found[0]), scene, f"I pressed {found[0].told}." + _said_since(scene), False)


def _press_each(wish: Wish, scene: Scene) -> Step:
    calls: list[Call] = []
    told: list[str] = []
    for wanted in wish.each:
        now = _presses(wish, wanted, scene)
        if isinstance(now, str):
            told.append(now)
        elif now is None:
            return None
        elif now and now[0].name != "click":
            # The way to it first: what is found there is pressed in the next round.
            return now
        else:
            calls += now
    return tuple(calls) if calls else " ".join(told) + _said_since(scene)


def _presses(wish: Wish, wanted: Wanted, scene: Scene) -> Step:
    verb = frozenset({verb_stem(wish.verb)})
    pressed = [deed for deed in scene.done("click") if verb | wanted.words <= scene.words_of(deed)]
    if len(pressed) >= wanted.count:
        shown = next(iter(_offers(wish, wanted, scene)), None)
        name = shown.told if shown else f"“{wish.verb}” for {wanted.what}"
        return f"I pressed {name} {telling.times(len(pressed))}."
    found = closest(_offers(wish, wanted, scene), verb | wanted.words | stems(wish.into))
    if not found:
        return _look_for(wish, wanted, scene)
    if len(found) > 1:
        return _unclear(wanted.what, found)
    if "disabled" in found[0].marks:
        return f"{found[0].told} cannot be pressed now."
    trouble = scene.failures("click", ref=found[0].ref)
    if len(trouble) > 1:
        return f"I could not press {found[0].told}: {trouble[-1].error}"
    return (_click(found[0]),) * min(wanted.count - len(pressed), 12)


def _offers(wish: Wish, wanted: Wanted, scene: Scene) -> list[Thing]:
    """The controls that do this for that."""
    verb = verb_stem(wish.verb)
    return [
        thing
        for thing in scene.page.controls
        if thing.role in PRESSED and verb in thing.words and wanted.words <= thing.words | thing.around
    ]


def _look_for(wish: Wish, wanted: Wanted, scene: Scene) -> Step:
    """Bring into sight what the page does not show, or have it done elsewhere."""
    box, what = _search_box(scene), singular(wanted.what)
    if box is not None and not scene.done("fill", ref=box.ref, value=what):
        return (Call("fill", {"ref": box.ref, "value": what}),)
    if box is not None and scene.can("press") and not scene.done("press", ref=box.ref):
        return (Call("press", {"key": "Enter", "ref": box.ref}),)
    elsewhere = orders.do_elsewhere(verb_stem(wish.verb), stems(wish.into), wanted.words, what, wanted.count, scene)
    return elsewhere or f"I cannot find {wanted.what} on this page."


def _search(wish: Wish, scene: Scene) -> Step:
    wanted = stems(wish.what) - _EVERYTHING
    what = singular(wish.what) if wanted else ""
    box = _search_box(scene)
    if box is None:
        return orders.search_elsewhere(what, wish.limit, scene) or _told_items(_matching(wish, wanted, scene))
    calls: list[Call] = []
    if (box.value or "") != what:
        calls.append(Call("fill", {"ref": box.ref, "value": what}))
    limit = _limit_field(scene, box)
    if wish.limit is not None and limit is not None and limit.value != f"{wish.limit:g}":
        calls.append(_written(limit, f"{wish.limit:g}"))
    calls = [call for call in calls if not scene.done(call.name, **call.args)]
    if trouble := [deed for call in calls for deed in scene.failures(call.name, **call.args)]:
        return f"I could not search: {trouble[-1].error}"
    if calls:
        return tuple(calls)
    found = _matching(wish, wanted, scene)
    if not found and scene.can("press") and not scene.done("press", ref=box.ref):
        return (Call("press", {"key": "Enter", "ref": box.ref}),)
    return _told_items(found)


def _ask(wish: Wish, scene: Scene, *, only_named: bool = False) -> Step:
    """Ask the server where it can be asked about just this; else look at the page."""
    asked = stems(wish.what)
    tool = next((one for one in scene.on_server if looks_up(one) and topic(one) <= asked), None)
    if tool is not None:
        if made := scene.done(tool.name):
            about = " ".join(topic_words(tool)[1:]).capitalize()
            return f"{about}: {telling.value(made[-1].result)[:1_500]}."
        if failed := scene.failures(tool.name):
            return f"I could not find out: {failed[-1].error}"
        return (Call(tool.name, {}),)
    if only_named:
        return None
    texts = next((found for word in sorted(asked) if (found := scene.page.under(frozenset({word})))), ())
    return f"The page says: {'; '.join(texts[:12])}." if texts else None


def _matching(wish: Wish, wanted: frozenset[str], scene: Scene) -> list[Item]:
    fits = [item for item in scene.page.items if wanted <= stems(item.name)]
    # A page that was searched may know things by other words than their names.
    fits = fits or [item for item in scene.page.items if _search_box(scene) is not None and item.price is not None]
    return [item for item in fits if wish.limit is None or item.price is None or item.price <= wish.limit]


def _told_items(items: list[Item]) -> str:
    if not items:
        return "I found nothing that fits."
    told = [f"{item.name} ({item.shown})" if item.shown else item.name for item in items[:12]]
    more = f" and {len(items) - 12} more" if len(items) > 12 else ""
    return f"I found {len(items)}: {', '.join(told)}{more}."


def _search_box(scene: Scene) -> Thing | None:
    boxes = [thing for thing in scene.page.controls if thing.role in ("searchbox", "textbox", "combobox")]
    return next((one for one in boxes if one.role == "searchbox" or ("search" in one.words and not one.options)), None)


def _limit_field(scene: Scene, box: Thing) -> Thing | None:
    fields = [one for one in scene.page.controls if one.role in ("spinbutton", "textbox") and one != box]
    return next((one for one in fields if one.words & _UP_TO), None)


def _fitting(scene: Scene, roles: frozenset[str], wanted: frozenset[str]) -> list[Thing]:
    return [one for one in scene.page.controls if one.role in roles and wanted <= one.words | one.around]


def _unclear(what: str, found: list[Thing]) -> str:
    if not found:
        return f"I cannot find “{what}” on this page."
    return f"Which one do you mean: {telling.several([thing.told for thing in found[:5]])}?"


def _once(call: Call, scene: Scene, said: str, is_so: bool) -> Step:
    """The call, unless it was made or is not needed."""
    if is_so or scene.done(call.name, **call.args):
        return said
    trouble = scene.failures(call.name, **call.args)
    return f"I could not do that: {trouble[-1].error}" if trouble else (call,)


def _click(thing: Thing) -> Call:
    return Call("click", {"ref": thing.ref})


def _written(thing: Thing, value: str) -> Call:
    if thing.options:
        fitting = next((one for one in thing.options if stems(value) <= stems(one)), value)
        return Call("select", {"ref": thing.ref, "value": fitting})
    return Call("fill", {"ref": thing.ref, "value": value})


def _holds(thing: Thing, value: str) -> bool:
    """Whether it is there already. A long value is told cut."""
    there = thing.value or ""
    return there == value or (there.endswith("…") and len(there) > 20 and value.startswith(there[:-1]))


def _said_since(scene: Scene) -> str:
    """What the page itself said when it was done."""
    changed = scene.deeds[-1].changed if scene.deeds else []
    texts = [
        line.partition('text "')[2].rstrip('"') for line in changed if 'text "' in line and not line.startswith("-")
    ]
    return f" The page says: {texts[-1]}" if texts else ""
