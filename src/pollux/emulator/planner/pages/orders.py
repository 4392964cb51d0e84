"""What the site's server does instead of the page: buy, and whatever the page shows no control for."""

from collections.abc import Callable
from typing import Any

from pollux.emulator.jsons import is_object, strings
from pollux.emulator.model import Call, Tool
from pollux.emulator.planner.clues import split_words, stem
from pollux.emulator.planner.pages import telling
from pollux.emulator.planner.pages.outline import FIELDS, TICKED, stems
from pollux.emulator.planner.pages.scene import Scene, is_search, looks, topic_words
from pollux.emulator.planner.pages.visitor import kind_of

PAYING = stems("pay buy order purchase")
"""What costs money: a server that can be asked to, asks first, and so is preferred to a button."""


def step(scene: Scene, way: Callable[[], tuple[Call, ...] | None]) -> tuple[Call, ...] | str:
    """Place the order; `way` leads to where it is placed."""
    tool = next((one for one in scene.on_server if not looks(one) and stems(" ".join(topic_words(one))) & PAYING), None)
    if tool is None:
        return _by_button(scene)
    if made := scene.done(tool.name):
        if made[-1].error:
            return f"I cannot tell whether the order was placed: {made[-1].error}"
        return f"The order is placed: {telling.value(made[-1].response)[:1_500]}."
    if failed := scene.failures(tool.name):
        return f"The order was not placed: {failed[-1].error}"
    args, missing = filled(tool, scene)
    if missing:
        return way() or f"To place the order I still need {telling.several(missing)}."
    return (Call(tool.name, args),)


def filled(tool: Tool, scene: Scene) -> tuple[dict[str, Any], list[str]]:
    """Arguments from what the page's form holds and what is known of the visitor, and what is still missing."""
    properties: dict[str, Any] = tool.schema["properties"] if is_object(tool.schema.get("properties")) else {}
    found = {name: _value(name, schema, scene) for name, schema in properties.items() if is_object(schema)}
    args = {name: value for name, value in found.items() if value is not None}
    return args, [name for name in strings(tool.schema.get("required")) if name not in args]


def _value(name: str, schema: dict[str, Any], scene: Scene) -> Any:
    kind = schema.get("type")
    if kind in ("number", "integer"):
        return scene.page.number_after(" ".join(split_words(name)))
    wanted = stems(name)
    if kind == "boolean":
        boxes = [thing for thing in scene.page.controls if thing.role in TICKED and wanted <= thing.words]
        return "checked" in boxes[0].marks if boxes else None
    fields = [thing for thing in scene.page.controls if thing.role in FIELDS and not thing.is_private and thing.value]
    asked = kind_of(name)
    held = next(
        (one.value for one in fields if wanted <= one.words or (asked is not None and kind_of(one.name) == asked)), None
    )
    if choices := strings(schema.get("enum")):
        return next((one for one in choices if one and held and stems(one) <= stems(held)), None)
    return held or scene.visitor.asked_by(name)


def _by_button(scene: Scene) -> tuple[Call, ...] | str:
    if pressed := [deed for deed in scene.done("click") if scene.words_of(deed) & PAYING]:
        return f"I pressed it: {pressed[-1].told or 'look at the page for what came of it'}."
    found = [one for one in scene.page.controls if one.role == "button" and one.words & PAYING]
    ready = [one for one in found if "disabled" not in one.marks]
    if not ready:
        return f"{found[0].told} cannot be pressed now." if found else "There is nothing on this page to order with."
    if failed := scene.failures("click", ref=ready[0].ref):
        return f"I could not press {ready[0].told}: {failed[-1].error}"
    return (Call("click", {"ref": ready[0].ref}),)


def search_elsewhere(what: str, limit: float | None, scene: Scene) -> tuple[Call, ...] | str | None:
    """The same question to the server's own search."""
    tool = _searching(scene)
    if tool is None:
        return None
    if made := scene.done(tool.name):
        records = made[-1].records
        return f"I found {len(records)}: {telling.value(records[:12])}." if records else "I found nothing that fits."
    return (Call(tool.name, _search_args(tool, what, limit)),)


def do_elsewhere(
    verb: str, into: frozenset[str], words: frozenset[str], what: str, count: int, scene: Scene
) -> tuple[Call, ...] | str | None:
    """The server's action for this verb, with the id that its search tells."""
    tool = next((one for one in scene.on_server if _does(one, verb, into)), None)
    if tool is None:
        return None
    if made := scene.done(tool.name):
        return f"Done: {telling.value(made[-1].response)[:1_500]}."
    if failed := scene.failures(tool.name):
        return f"That was not done: {failed[-1].error}"
    properties: dict[str, Any] = tool.schema["properties"] if is_object(tool.schema.get("properties")) else {}
    id_name = next((name for name in properties if split_words(name)[-1:] == ["id"]), None)
    count_name = next((name for name in properties if stem(name) in stems("quantity count amount number")), None)
    args: dict[str, Any] = {count_name: count} if count_name else {}
    if id_name is None:
        return (Call(tool.name, args),)
    search = _searching(scene)
    if search is None:
        return None
    if not (made := scene.done(search.name)):
        return (Call(search.name, _search_args(search, what, None)),)
    record = next((one for one in made[-1].records if words <= stems(str(one.get("name", one.get("title", ""))))), None)
    if record is None:
        return f"I cannot find {what}."
    return (Call(tool.name, {id_name: record.get(id_name, record.get("id")), **args}),)


def _does(tool: Tool, verb: str, into: frozenset[str]) -> bool:
    name = stems(" ".join(topic_words(tool)))
    return not looks(tool) and verb in name and (not into or bool(into & name))


def _searching(scene: Scene) -> Tool | None:
    return next((one for one in scene.on_server if is_search(one)), None)


def _search_args(tool: Tool, what: str, limit: float | None) -> dict[str, Any]:
    properties: dict[str, Any] = tool.schema["properties"] if is_object(tool.schema.get("properties")) else {}
    text = next((one for one in properties if stems(one) & stems("query q text term words search")), None)
    most = next((one for one in properties if stems(one) & stems("max maximum under price")), None)
    args: dict[str, Any] = {text: what} if text else {}
    return args | ({most: limit} if most and limit is not None else {})
