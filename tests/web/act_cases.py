"""The action matrix: what a tool does in the page, beside the same by trusted input. Elements go by their ids."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from playwright.async_api import ElementHandle, Page

Act = Callable[[Page], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """One thing that a visitor could do, in both ways."""

    name: str
    calls: tuple[dict[str, Any], ...]
    trusted: tuple[Act, ...]
    has_same_events: bool = True
    is_last: bool = False
    """Whether it leaves the page in no state for others: with a dialog that is open, or without what they need."""


async def element(page: Page, name: str) -> ElementHandle:
    found = (await page.evaluate_handle("id => locate(id)", name)).as_element()
    assert found is not None
    return found


def mouse(name: str, **options: Any) -> Act:
    async def act(page: Page) -> None:
        await (await element(page, name)).click(**options)

    return act


async def in_frame(page: Page) -> None:
    await page.frame_locator("#frame").locator("#framed").click()


def focus(name: str) -> Act:
    async def act(page: Page) -> None:
        await (await element(page, name)).focus()

    return act


def keys(*names: str) -> Act:
    async def act(page: Page) -> None:
        for name in names:
            await page.keyboard.press(name)

    return act


def types(name: str, text: str) -> Act:
    """In place of all that is there; then the field is left."""

    async def act(page: Page) -> None:
        field = await element(page, name)
        await field.focus()
        await field.evaluate("each => each.select ? each.select() : getSelection().selectAllChildren(each)")
        if text:
            await page.keyboard.type(text)
        else:
            await page.keyboard.press("Backspace")

    return act


def sets(name: str, value: str) -> Act:
    """As a picker would: Playwright's own way for fields that are not typed into."""

    async def act(page: Page) -> None:
        await (await element(page, name)).fill(value)

    return act


def options(name: str, *values: str) -> Act:
    async def act(page: Page) -> None:
        field = await element(page, name)
        await field.focus()
        await field.select_option(label=list(values))

    return act


async def leave(page: Page) -> None:
    await page.evaluate("() => { let at = document.activeElement; while (at?.shadowRoot?.activeElement ??"
                        " at?.contentDocument?.activeElement) at = at.shadowRoot?.activeElement ??"
                        " at.contentDocument.activeElement; at?.blur() }")  # fmt: skip


def clicked(name: str, **changed: Any) -> Case:
    return Case(f"click {name}", ({"tool": "click", "ref": name},), (mouse(name),), **changed)


def filled(name: str, value: str, *, by: Callable[[str, str], Act] = types, **changed: Any) -> Case:
    return Case(f"fill {name}", ({"tool": "fill", "ref": name, "value": value},), (by(name, value),), **changed)


def pressed(name: str, *names: str, **changed: Any) -> Case:
    calls = tuple({"tool": "press", "ref": name, "key": key} for key in names[:1])
    more = tuple({"tool": "press", "key": key} for key in names[1:])
    return Case(f"press {' '.join(names)} in {name}", calls + more, (focus(name), keys(*names)), **changed)


def chains(cases: list[Case], length: int = 8) -> list[list[Case]]:
    """Cases that can be tried one after the other in one page."""
    others = [case for case in cases if not case.is_last]
    return [others[at : at + length] for at in range(0, len(others), length)] + [
        [each] for each in cases if each.is_last
    ]


CASES = [
    *map(clicked, [
        "plain", "bold", "div", "no-focus", "no-mouse", "down", "icon", "wrapped", "hash", "routed", "summary", "deep",
        "tab2", "far", "name", "check", "labelled", "r2", "submit", "reset", "area", "editable",
        "controlled-check", "shadow-button", "shadow-input", "s2",
    ]),
    Case("click in a frame", ({"tool": "click", "ref": "framed"},), (in_frame,)),
    Case("click a label", ({"tool": "click", "ref": "check-label"},),
         (mouse("check-label", position={"x": 60, "y": 8}),)),
    clicked("name-label"), clicked("stand-in"),
    *(clicked(name, is_last=True) for name in ("opens", "modal-button", "combo", "menu-button")),
    Case("click twice", ({"tool": "click", "ref": "twice", "double": True},), (mouse("twice", click_count=2),)),
    Case("click what only the pointer shows", ({"tool": "click", "ref": "hover-only"},),
         (mouse("item", position={"x": 4, "y": 4}), mouse("hover-only")), has_same_events=False, is_last=True),
    Case("open a dialog and answer it", ({"tool": "click", "ref": "modal-button"}, {"tool": "click", "ref": "yes"}),
         (mouse("modal-button"), mouse("yes")), is_last=True),
    Case("open a menu and choose", ({"tool": "click", "ref": "menu-button"}, {"tool": "click", "ref": "paste"}),
         (mouse("menu-button"), mouse("paste")), is_last=True),
    filled("name", "Ada Lovelace"), filled("full", "after"), filled("full", ""), filled("email", "ada@example.com"),
    filled("number", "42"), filled("search", "cups"), filled("url", "https://a.example/"), filled("tel", "+44 20"),
    filled("digits", "1234"), filled("password", "pa55word!"), filled("listed", "Tea"), filled("area", "line"),
    filled("controlled", "React"), filled("upper", "loud", has_same_events=False), filled("editable", "new words"),
    filled("shadow-input", "deep"), filled("framed-input", "inside"),
    # What refuses all at once is typed key by key, so there are more events than a visitor makes.
    filled("masked", "5551234", has_same_events=False),
    filled("date", "2031-04-09", by=sets), filled("time", "14:30", by=sets), filled("month", "2031-04", by=sets),
    filled("week", "2031-W15", by=sets), filled("local", "2031-04-09T14:30", by=sets), filled("range", "8", by=sets),
    filled("color", "#3366cc", by=sets),
    Case("fill a check box", ({"tool": "fill", "ref": "check", "value": "true"},), (mouse("check"),)),
    Case("fill a custom element", ({"tool": "fill", "ref": "field", "value": "x"},), (types("shadow-input", "x"),)),
    Case("fill a list", ({"tool": "fill", "ref": "select", "value": "Large"},), (options("select", "Large"),)),
    Case("select one", ({"tool": "select", "ref": "select", "value": "Medium"},), (options("select", "Medium"),)),
    Case("select many", ({"tool": "select", "ref": "many", "values": ["a", "c"]},), (options("many", "a", "c"),)),
    Case("select grouped", ({"tool": "select", "ref": "grouped", "value": "Tea"},), (options("grouped", "Tea"),)),
    Case("select controlled", ({"tool": "select", "ref": "controlled-select", "value": "L"},),
         (options("controlled-select", "L"),)),
    Case("select in a combobox", ({"tool": "select", "ref": "combo", "value": "Pear"},),
         (mouse("combo"), mouse("pear"))),
    Case("select in a group of radios", ({"tool": "select", "ref": "stars", "value": "Two"},), (mouse("s2"),)),
    Case("fill and send by Enter", ({"tool": "fill", "ref": "name", "value": "Ada"}, {"tool": "press", "key": "Enter"}),
         (types("name", "Ada"), keys("Enter"))),
    pressed("name", "Enter"), pressed("only", "Enter"), pressed("stuck", "Enter"), pressed("plain", "Enter"),
    pressed("plain", "Space"), pressed("check", "Space"), pressed("check", "Enter"), pressed("summary", "Enter"),
    pressed("summary", "Space"), pressed("hash", "Enter"), pressed("area", "Enter"), pressed("name", "Tab"),
    pressed("email", "Shift+Tab"), pressed("r1", "ArrowDown", "ArrowDown"), pressed("select", "ArrowDown"),
    pressed("select", "End"), pressed("select", "l"), pressed("range", "ArrowRight"), pressed("range", "Home"),
    pressed("number", "ArrowUp"), pressed("number", "ArrowDown", "ArrowDown"), pressed("name", "a", "B", " ", "7"),
    pressed("full", "End", "Backspace"), pressed("full", "Home", "Delete"), pressed("full", "ArrowRight", "x"),
    pressed("search", "Escape"), pressed("editable", "End", "!", "Backspace", "?"), pressed("rich", "Enter"),
    pressed("name", "x", "Enter"), pressed("name", "y", "Tab"), pressed("shadow-input", "z"),
    pressed("area", "a", "Enter"),
    Case("press Control+a and type over it",
         tuple({"tool": "press", "ref": "full", "key": key} for key in ("Control+a", "n")),
         (focus("full"), keys("Control+a", "n")), has_same_events=False),
    Case("press Escape in a dialog", ({"tool": "click", "ref": "modal-button"}, {"tool": "press", "key": "Escape"}),
         (mouse("modal-button"), keys("Escape")), is_last=True),
]  # fmt: skip
