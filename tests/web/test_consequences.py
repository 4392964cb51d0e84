"""Which controls have consequences beyond the page: they pay, order, send, publish or delete."""

from typing import Any

import pytest
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.see import shown, state
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

NAMES = (
    "Pay", "Pay now", "Pay 24.00 €", "Delete", "Delete this file", "Send", "Send message", "Buy", "Buy now",
    "Place order",
    "Jetzt kaufen", "Zahlungspflichtig bestellen", "Löschen", "Absenden", "Überweisen", "Payer", "Supprimer", "Envoyer",
    "Acheter", "Pagar", "Comprar", "Eliminar", "Enviar", "Paga ora", "Elimina", "Invia", "Betalen", "Verwijderen",
    "Zapłać", "Usuń", "Betala", "Køb", "Optional permanently remove", "Купить", "Удалить", "Отправить", "購入する",
    "削除",
    "立即购买", "发送", "결제하기", "삭제", "Satın al", "מחק", "حذف", "Order",
)  # fmt: skip
HARMLESS = (
    "Add to cart", "Search", "Next", "Continue", "Save", "Cancel", "Close", "Payment methods", "Deleted items",
    "Order history",
    "Sort order", "Show password", "In den Warenkorb", "Weiter", "Anzeigen", "Ajouter au panier",
    "Compare", "Open", "Log in", "Checkout", "Buyer's guide", "Sender", "Posts", "+", "×",
)  # fmt: skip
BY_PLACE = {
    "a form that holds a card": '<form><input autocomplete="cc-number"><button>Continue</button></form>',
    "a form with a title": "<form><h2>Delete your account</h2><button>Confirm</button></form>",
    "a form called so": '<form aria-label="Send a message"><button>OK</button></form>',
    "a form's address": '<form action="/orders/7/delete" method=post><button>Yes</button></form>',
    "a form that deletes": "<form><input type=hidden name=_method value=DELETE><button>OK</button></form>",
    "a dialog": "<div role=dialog aria-label='Delete this file?'><button>Yes</button></div>",
    "a dialog with a title": "<dialog open><h2>Pay now?</h2><button>OK</button></dialog>",
    "a picture": '<button class="btn-delete"><svg></svg></button>',
    "an input": '<input type=submit value="Buy">',
    "a role": "<div role=button tabindex=0>Delete</div>",
    "a menu": "<div role=menu><div role=menuitem tabindex=0>Delete</div></div>",
    "a link that a script catches": '<a href="#">Delete</a>',
    "a link that deletes": '<a href="/file/7" data-method="delete">Delete the file</a>',
    "a link that says nothing else": '<a href="/file/7/delete">Delete</a>',
    "a link with a script": '<a href="/file/7/delete" onclick="go()">Delete the file</a>',
    "a link that asks": '<a href="/file/7/delete" data-confirm="Sure?">Delete the file</a>',
    "a link that is sent": '<a href="/file/7" hx-delete="/file/7">Delete the file</a>',
    "a drawing": '<span role=img aria-label=delete style="cursor: pointer"></span>',
    "a picture to press": '<img src="data:," alt="Delete" onclick="go()">',
    "an item of a list": '<ul><li style="cursor: pointer">Delete file</li></ul>',
    "a cell": '<table><tr><td style="cursor: pointer">Delete</td></tr></table>',
    "a word that may be parted": "<button>Über&shy;weisen</button>",
    "a word with nothing in it": "<button>Del&#8203;ete</button>",
    "a mark": "<button data-agent-asks>Ping</button>",
    "a mark around it": "<div data-agent-asks><button>Ping</button></div>",
    "a mark around a box": "<div data-agent-asks><label><input type=checkbox> Ping</label></div>",
    "a mark around a switch": "<div data-agent-asks><div role=switch aria-checked=false tabindex=0>Ping</div></div>",
    "a mark around a list": "<div data-agent-asks><select aria-label=Ping><option>1<option>2</select></div>",
    "a mark around a slider": "<div data-agent-asks><input type=range aria-label=Ping></div>",
    "words beside its label": '<button aria-label="Continue">Pay 30 EUR</button>',
}
HARMLESS_BY_PLACE = {
    "a mark": '<button data-agent-asks="false">Send</button>',
    "a mark around it": '<div data-agent-asks="false"><button>Delete</button></div>',
    "a link to a page": '<a href="/help">How to pay</a><a href="/checkout">Checkout</a>',
    "a form that searches": "<form role=search><input name=q><button>OK</button></form>",
    "a check box": "<label><input type=checkbox> Send me news</label>",
    "a row of words": '<ul><li style="cursor: pointer">Ada: how do I delete a file?</li></ul>',
    "a tab": "<div role=tablist><div role=tab tabindex=0>Send</div></div>",
    "a field": "<label>Send to <input></label>",
    "a mark around a field": "<div data-agent-asks><input aria-label=Name><textarea aria-label=Why></textarea></div>",
}


async def asks(chromium: Browser, markup: str) -> list[dict[str, Any]]:
    async with shown(chromium, markup) as page:
        return [each for each in (await state(page)).get("asks", []) if each.get("consequential")]


async def test_what_a_button_says_tells_in_many_languages_whether_it_has_consequences(chromium: Browser) -> None:
    for names, wanted in ((NAMES, NAMES), (HARMLESS, ())):
        markup = "".join(f"<button>{name}</button>" for name in names)
        assert [each["name"] for each in await asks(chromium, markup)] == list(wanted)


@pytest.mark.parametrize("place", BY_PLACE)
async def test_where_a_control_says_nothing_its_place_does(chromium: Browser, place: str) -> None:
    found = await asks(chromium, BY_PLACE[place])
    assert any(each["consequential"] is True for each in found), found


@pytest.mark.parametrize("place", HARMLESS_BY_PLACE)
async def test_what_only_looks_like_it_asks_nothing(chromium: Browser, place: str) -> None:
    assert await asks(chromium, HARMLESS_BY_PLACE[place]) == []


async def test_enter_in_a_field_counts_as_the_button_that_it_presses(chromium: Browser) -> None:
    told = await asks(chromium, "<form><label>Name <input></label><button>Pay now</button></form>")
    assert told == [
        {"ref": "e1", "role": "textbox", "name": "Name", "consequential": "enter"},
        {"ref": "e2", "role": "button", "name": "Pay now", "consequential": True},
    ]


@pytest.mark.parametrize("kind", ["checkbox", "radio", "range", "color", "file"])
async def test_enter_sends_a_form_from_what_holds_no_text_as_well(chromium: Browser, kind: str) -> None:
    told = await asks(chromium, f"<form><label>It <input type={kind}></label><button>Pay now</button></form>")
    assert [each["consequential"] for each in told] == ["enter", True]


async def test_a_form_without_a_button_is_known_by_what_it_says(chromium: Browser) -> None:
    told = await asks(chromium, '<form aria-label="Send a message"><input aria-label="Text"></form>')
    assert [each["consequential"] for each in told] == ["enter"]


async def test_what_a_page_tells_of_without_showing_it_is_known_by_its_name(chromium: Browser) -> None:
    jay = """window.__jay = { automation: { triggerEvent() {}, getPageState: () => ({ viewState: {}, interactions: [
      { refName: "placeOrder", items: [{ coordinate: ["placeOrder"], events: ["click"] }] },
      { refName: "deleteReason", items: [{ coordinate: ["deleteReason"], events: ["input"] }] },
      { refName: "checkout", items: [{ coordinate: ["checkout"], events: ["submit"], element: form() }] },
    ] }) } };"""
    form = "<script>const form = () => document.querySelector('form');"
    async with shown(chromium, f"<form><button>Pay</button></form>{form}{jay}</script>") as page:
        told = await state(page)
        items = {each["refName"]: each["items"][0] for each in told["interactions"]}
        assert items["placeOrder"]["consequential"] is True and items["placeOrder"]["name"] == "placeOrder"
        assert items["checkout"]["consequential"] is True and "consequential" not in items["deleteReason"]
        tools = {each["name"]: each["inputSchema"] for each in await page.evaluate("automation.tools()")}
        # By its coordinate the server knows what a call is about.
        assert tools["click-place-order"]["required"] == ["coordinate"]


async def act(page: Page, name: str, **args: object) -> dict[str, Any]:
    return await page.evaluate("(call) => automation.execute(call)", {"id": "1", "name": name, "args": args})


async def test_what_nobody_was_asked_about_is_not_pressed_by_a_way_around(chromium: Browser) -> None:
    page_with = """<script>window.pressed = 0</script><form onsubmit="pressed++; return false">
        <label>Name <input></label><button onclick="pressed++">Later</button></form>"""
    async with shown(chromium, page_with) as page:
        await state(page)
        await page.evaluate("document.querySelector('button').textContent = 'Pay now'")
        assert not (await act(page, "click", ref="e2"))["ok"]
        entered = await act(page, "press", ref="e1", key="Enter")
        assert not entered["ok"] and "consequences" in entered["error"]
        await page.evaluate("document.querySelector('input').focus()")
        assert not (await act(page, "press", key="Enter"))["ok"]
        assert await page.evaluate("pressed") == 0
        await state(page)
        # Now the server knows, and has asked.
        assert (await act(page, "press", key="Enter"))["ok"]
        assert (await act(page, "click", ref="e2"))["ok"]
        assert await page.evaluate("pressed") == 4


async def test_a_key_without_a_ref_changes_nothing_about_which_the_page_asks(chromium: Browser) -> None:
    markup = "<input type=range aria-label=Amount data-agent-asks value=5 max=10>"
    async with shown(chromium, markup) as page:
        await state(page)
        await page.evaluate("document.querySelector('input').focus()")
        pressed = await act(page, "press", key="ArrowRight")
        assert not pressed["ok"] and "Name it" in pressed["error"]
        assert await page.evaluate("document.querySelector('input').value") == "5"
        assert (await act(page, "press", ref="e1", key="ArrowRight"))["ok"]
