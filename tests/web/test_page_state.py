"""What a page shows, in a few lines: everything that matters, nothing that is private, and never too much."""

import json

import pytest
from playwright.async_api import Browser, expect
from tests.http.browsing import needs_chromium
from tests.web.bundles import bundle, needs_web
from tests.web.see import BEGIN, PAGES, outline, shown, state
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

SHOP = """<main><h1>Mugs</h1>
  <ul><li><b>Blue mug</b> 12.00 <button>Add to cart</button></li>
    <li><b>Red mug</b> 9.00 <button>Add to cart</button></li></ul>
  <form aria-label=Order>
    <label>E-mail <input type=email value=ada@example.com required></label>
    <label><input type=checkbox checked> Gift</label>
    <label>Size <select><option>S<option selected>M<option>L</select></label>
  </form><p>Total <b>24.00</b></p></main>"""

# What stands in their place afterwards is what old libraries put there, or worse.
SPOILT = """() => {
  const of = (owner, name) => [owner, name, Object.getOwnPropertyDescriptor(owner, name)];
  const were = [
    of(Object, "getOwnPropertyDescriptor"), of(Object, "entries"), of(Object, "keys"), of(Array, "from"),
    of(Array.prototype, "reduce"), of(JSON, "stringify"), of(Element.prototype, "children"),
    of(Element.prototype, "attributes"), of(Node.prototype, "firstChild"), of(Node.prototype, "nextSibling"),
  ];
  const { defineProperty } = Object;
  for (const [owner, name, { get }] of were)
    defineProperty(owner, name, { ...(get ? { get: () => null } : { value: () => [] }), configurable: true });
  Array.prototype.toJSON = () => "spoilt";
  try { return automation.getPageState(); }
  finally {
    for (const [owner, name, was] of were) defineProperty(owner, name, was);
    delete Array.prototype.toJSON;
  }
}"""

TODO = "<ul><li>Buy milk <button class=x>Delete</button></li></ul>"
HIDDEN = "li .x { display: none }"


async def test_a_page_is_told_line_by_line(chromium: Browser) -> None:
    async with shown(chromium, f"<title>Shop</title>{SHOP}") as page:
        told = await state(page)
    assert told["title"] == "Shop"
    assert told["private"] == []
    assert told["outline"] == [
        "main",
        '  heading 1 "Mugs"',
        '  list "Mugs"',
        '    text "Blue mug 12.00"',
        '    e1 button "Add to cart" [Blue mug]',
        '    text "Red mug 9.00"',
        '    e2 button "Add to cart" [Red mug]',
        '  form "Order"',
        '    e3 textbox "E-mail" email = "ada@example.com" required',
        '    e4 checkbox "Gift" checked',
        '    e5 combobox "Size" = "M" options S, M, L',
        '  text "Total 24.00"',
    ]


async def test_2500_elements_fit_into_4000_tokens_and_say_how_to_read_on(chromium: Browser) -> None:
    async with shown(chromium, (PAGES / "large.html").read_text()) as page:
        told = await state(page)
        count = await page.evaluate("document.querySelectorAll('body *, body').length")
    size = len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode())
    print(f"\n{count} elements in {size} bytes, some {size // 4} tokens")
    assert count >= 2_490
    assert size <= 12_000
    assert max(map(len, told["outline"])) <= 200
    assert any("more in" in line and "read ref=e" in line for line in told["outline"])


async def test_a_page_of_nothing_but_long_lines_stays_in_bounds_too(chromium: Browser) -> None:
    text = "".join(f"<section aria-label='Part {n}'><button>{'ä漢🙂' * 60}{n}</button></section>" for n in range(400))
    async with shown(chromium, text) as page:
        told = await state(page)
    assert len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()) <= 12_000
    assert max(map(len, told["outline"])) <= 200


async def test_what_is_in_view_comes_before_what_is_not(chromium: Browser) -> None:
    above = "".join(f"<button>Above number {n}, far away</button>" for n in range(1_000))
    html = f"<div>{above}</div><h2 id=here>Here</h2><button>In view</button><p>Words in view</p>"
    async with shown(chromium, html) as page:
        await page.evaluate("here.scrollIntoView()")
        told = "\n".join(await outline(page))
    assert 'button "In view"' in told
    assert "Words in view" in told
    assert "more on this page: read" in told


async def test_long_lists_are_cut_after_a_few_items_and_can_be_read_on(chromium: Browser) -> None:
    items = "".join(f"<li>Mug {n} <button>Add</button></li>" for n in range(60))
    async with shown(chromium, f"<h2>Products</h2><ul>{items}</ul>") as page:
        told = await outline(page)
        (note,) = (line for line in told if "more in" in line)
        assert note.strip().startswith('… 96 more in "Products": read ref=e')
        ref = note.rpartition("=")[2]
        call = {"id": "1", "name": "read", "args": {"ref": ref}}
        outcome = await page.evaluate("(call) => automation.execute(call)", call)
    assert outcome["ok"]
    assert "Mug 59" in json.dumps(outcome)


async def test_a_long_text_is_cut_and_can_be_read_whole(chromium: Browser) -> None:
    async with shown(chromium, f"<main><p>{'word ' * 100}and the end.</p></main>") as page:
        assert "the end" not in str(await outline(page))
        outcome = await page.evaluate("automation.execute({ id: '1', name: 'read', args: {} })")
    assert "the end" in json.dumps(outcome)


@pytest.mark.parametrize(
    ("markup", "secret"),
    [
        ("<label>Password <input type=password value=hunter22></label>", "hunter22"),
        ("<label>Card <input autocomplete='billing cc-number' value=4111111111111111></label>", "4111"),
        ("<label>Code <input autocomplete=one-time-code value=934512></label>", "934512"),
        ("<label>Code <input name=cvv2 value=9345></label>", "9345"),
        ("<label>Note <textarea data-agent-private>my diary</textarea></label>", "my diary"),
        ("<div data-agent-private><label>Salary <input value=90000></label> and <b>12 thousand</b></div>", "thousand"),
        ("<div data-agent-private><h2>Secret heading</h2><p>12 thousand</p></div>", "thousand"),
        ("<div data-agent-private contenteditable role=textbox aria-label=Diary>dear diary</div>", "dear"),
        (
            "<ul data-agent-private><li>12 thousand <button>Show</button><li>9 <button>Show</button></ul>",
            "thousand",
        ),
        ("<ul data-agent-private aria-label=Sums><li><a href=#>12 thousand</a></li></ul>", "thousand"),
        ("<label>Password <input type=password value=hunter22></label><p>You typed hunter22</p>", "hunter22"),
    ],
)
async def test_private_things_are_not_told(chromium: Browser, markup: str, secret: str) -> None:
    async with shown(chromium, markup) as page:
        told = json.dumps(await state(page))
    assert secret not in told
    assert "[private]" in told


async def test_a_text_field_that_only_wants_no_suggestions_is_told(chromium: Browser) -> None:
    field = "<input autocomplete=new-password {} value=Lovelace>"
    async with shown(chromium, field.format("aria-label=Surname")) as page:
        assert await outline(page) == ['e1 textbox "Surname" = "Lovelace"']
    for secret in ("type=password aria-label=New", "aria-label='New password'", "name=password"):
        async with shown(chromium, field.format(secret)) as page:
            assert "Lovelace" not in str(await state(page))


async def test_private_fields_are_listed_and_masked_also_when_they_are_shown(chromium: Browser) -> None:
    async with shown(chromium, "<label>Password <input id=p type=password value=hunter22></label>") as page:
        assert (await state(page))["private"] == [{"ref": "e1", "private": True}]
        # A page's own eye button.
        await page.evaluate("p.type = 'text'")
        told = await state(page)
    assert told["private"] == [{"ref": "e1", "private": True}]
    assert told["outline"] == ['e1 textbox "Password" = [private]']


async def test_an_address_is_told_without_its_secrets(chromium: Browser) -> None:
    page = await chromium.new_page()
    await page.route("**/*", lambda route: route.fulfill(body="<p>Hello", content_type="text/html"))
    await page.goto("http://shop.localhost/cart?page=2&access_token=abc#top")
    await page.add_script_tag(path=bundle("automation"))
    await page.evaluate(BEGIN)
    told = await state(page)
    await page.close()
    assert told["url"] == "http://shop.localhost/cart?page=2&access_token=private#top"


async def test_a_strict_page_is_seen_without_a_word_in_its_console(chromium: Browser) -> None:
    policy = "default-src 'none'; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
    html = f"<!doctype html>{SHOP}<script src=automation.js></script>"
    page = await chromium.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    await page.route("**/automation.js", lambda route: route.fulfill(path=bundle("automation")))
    await page.route(
        "http://shop.localhost/",
        lambda route: route.fulfill(body=html, content_type="text/html", headers={"content-security-policy": policy}),
    )
    await page.goto("http://shop.localhost/")
    await page.evaluate(BEGIN)
    assert len(await outline(page)) == 12
    assert "click" in [tool["name"] for tool in await page.evaluate("automation.tools()")]
    await page.close()
    assert trouble == []


async def test_the_chat_itself_is_no_part_of_the_page(chromium: Browser) -> None:
    html = "<pollux-chat><button>Send</button></pollux-chat><div data-pollux-chat><input></div><button>Buy</button>"
    async with shown(chromium, html) as page:
        assert await outline(page) == ['e1 button "Buy"']


async def test_what_the_caller_excludes_is_no_part_of_the_page(chromium: Browser) -> None:
    async with shown(chromium, "<nav><a href=#>Home</a></nav><button>Buy</button>") as page:
        excluding = "PolluxAutomation.createAutomation(document, { exclude: (each) => each.localName === 'nav' })"
        assert await page.evaluate(f"{excluding}.getPageState().outline") == ['e1 button "Buy"']


async def test_behind_a_modal_dialog_nothing_is_offered(chromium: Browser) -> None:
    html = "<button>Buy</button><a href=#>Home</a><dialog id=d><h2>Sure?</h2><button>Yes</button></dialog>"
    async with shown(chromium, html) as page:
        await page.evaluate("d.showModal()")
        told = await outline(page)
        assert told[:3] == ['dialog "Sure?"', '  heading 2 "Sure?"', '  e1 button "Yes"']
        assert told[3:] == [
            "behind the open dialog: the rest of the page with 2 controls, out of reach until the dialog is closed"
        ]
        await page.evaluate("d.close()")
        assert [line.split()[-1] for line in await outline(page)] == ['"Buy"', '"Home"']


async def test_a_list_of_choices_over_a_dialog_is_offered_with_it(chromium: Browser) -> None:
    html = """<button>Buy</button><div role=dialog aria-modal=true aria-label=Pick><input aria-label=City></div>
      <div role=listbox aria-label=Cities><div role=option>Paris</div></div>"""
    async with shown(chromium, html) as page:
        told = "\n".join(await outline(page))
    assert 'textbox "City"' in told
    assert 'option "Paris"' in told
    assert '"Buy"' not in told


async def test_open_shadow_roots_and_frames_of_the_same_origin_are_looked_into(chromium: Browser) -> None:
    html = """<my-card></my-card><iframe title=Help srcdoc='<h2>Help</h2><button>Ask</button>'></iframe><script>
      customElements.define("my-card", class extends HTMLElement { connectedCallback() {
        this.attachShadow({ mode: "open" }).innerHTML = "<button>In the root</button><slot></slot>"; } });</script>"""
    async with shown(chromium, html) as page:
        await page.frames[1].wait_for_selector("button")
        told = await state(page)
    assert told["outline"] == ['e1 button "In the root"', 'heading 2 "Help"', 'e2 button "Ask"']
    assert "unreachable" not in told


async def test_what_cannot_be_looked_into_is_said(chromium: Browser) -> None:
    html = """<iframe sandbox title=Adverts src="data:text/html,<button>No"></iframe><canvas aria-label=Chart></canvas>
      <shut-card style="display: block; height: 20px"></shut-card><script>
      customElements.define("shut-card", class extends HTMLElement { connectedCallback() {
        this.attachShadow({ mode: "closed" }).innerHTML = "<button>No</button>"; } });</script>"""
    async with shown(chromium, html) as page:
        told = await state(page)
    assert told["unreachable"] == ['frame of another origin "Adverts"', 'canvas "Chart"', "closed shadow root"]
    assert len([line for line in told["outline"] if line.endswith("cannot be looked into")]) == 3


@pytest.mark.parametrize(
    ("markup", "line"),
    [
        ("<div onclick='0'>Open</div>", 'e1 clickable "Open"'),
        ("<div style='cursor: pointer'>Open <b>it</b></div>", 'e1 clickable "Open it"'),
        ("<div id=x>Open</div><script>x.onclick = () => 0</script>", 'e1 clickable "Open"'),
        ("<div id=x>Open</div><script>x['__reactProps$a1'] = { onClick() {} }</script>", 'e1 clickable "Open"'),
        ("<div id=x>Open</div><script>x._vei = { onClick() {} }</script>", 'e1 clickable "Open"'),
        ("<div style='cursor: pointer; height: 9px'></div>Text", 'text "Text"'),
        ("<ul onclick='0'><li>Open</li></ul>", 'text "Open"'),
        ("<label><input type=checkbox style='display: none' checked> Gift</label>", 'e1 checkbox "Gift" checked'),
        ("<input type=checkbox style='opacity: 0' aria-label=Gift>", 'e1 checkbox "Gift"'),
        ("<button disabled>Pay</button>", 'e1 button "Pay" disabled'),
        ("<fieldset disabled><button>Pay</button></fieldset>", 'e1 button "Pay" disabled'),
        ("<div inert><button>Pay</button></div>", 'e1 button "Pay" disabled'),
        ("<button aria-expanded=false>Menu</button>", 'e1 button "Menu" collapsed'),
        ("<input type=range aria-label=Loud max=10 value=3>", 'e1 slider "Loud" = "3" (0 to 10)'),
        ("<input type=date aria-label=Day value=2030-01-02>", 'e1 textbox "Day" date = "2030-01-02"'),
        ("<div role=alert>Sold out</div>", "alert"),
        ("<div contenteditable aria-label=Note>Hi <b>you</b></div>", 'e1 textbox "Note" = "Hi you"'),
        ('<button>Say "hi"</button>', "e1 button \"Say 'hi'\""),
    ],
)
async def test_a_control_is_told_with_its_state(chromium: Browser, markup: str, line: str) -> None:
    async with shown(chromium, markup) as page:
        assert (await outline(page))[0] == line


async def test_listeners_added_after_our_script_are_known(chromium: Browser) -> None:
    async with shown(chromium, "<div id=x>Open</div><div id=y>Shut</div>") as page:
        await page.evaluate("window.f = () => 0; x.addEventListener('click', f); y.addEventListener('click', f)")
        await page.evaluate("y.removeEventListener('click', f)")
        assert await outline(page) == ['e1 clickable "Open"', 'text "Shut"']


async def test_hidden_things_are_not_told(chromium: Browser) -> None:
    html = """<div hidden><button>A</button></div><div style="visibility: hidden"><button>B</button></div>
      <div aria-hidden=true><button>C</button></div><details><summary>More</summary><button>D</button></details>
      <template><button>E</button></template><noscript>F</noscript><script>"G"</script>"""
    async with shown(chromium, html) as page:
        assert [line.strip() for line in await outline(page)] == ['group "More"', 'e1 button "More" collapsed']


async def test_a_host_page_that_changed_its_prototypes_is_seen_all_the_same(chromium: Browser) -> None:
    spoilt = """<script>Array.prototype.last = function () {}; Object.prototype.odd = 1; Element.prototype.name = "x";
      String.prototype.trimmed = 1; window.__jay = "not Jay";</script>"""
    async with shown(chromium, spoilt + SHOP) as page:
        told = await state(page)
    assert told["outline"][4] == '    e1 button "Add to cart" [Blue mug]'
    assert "viewState" not in told


async def test_what_a_page_spoils_after_our_script_came_does_no_harm(chromium: Browser) -> None:
    trip = "<form aria-label=Trip><input name=children aria-label=Children></form><div id=x>Open</div>"
    async with shown(chromium, SHOP + trip) as page:
        await page.evaluate("x['__reactProps$a1'] = { onClick() {} }")
        told = await page.evaluate(SPOILT)
        assert told == await state(page)
    assert told["outline"][4] == '    e1 button "Add to cart" [Blue mug]'
    assert told["outline"][-2:] == ['  e6 textbox "Children"', 'e7 clickable "Open"']


@pytest.mark.parametrize(
    "rules",
    [
        f"{HIDDEN} li:hover .x {{ display: block }}",
        f"{HIDDEN} @media all {{ ul:focus .y, li:is(:hover, :focus) > .x {{ display: block }} }}",
        f"{HIDDEN} li {{ &:hover .x {{ display: block }} }}",
        f"{HIDDEN} li:hover {{ .x {{ display: block }} }}",
        "li .x { visibility: hidden } li:hover .x { visibility: visible }",
    ],
)
async def test_what_shows_itself_only_under_the_pointer_is_told_with_a_mark(chromium: Browser, rules: str) -> None:
    async with shown(chromium, f"<style>{rules}</style>{TODO}") as page:
        assert await outline(page) == ['text "Buy milk"', 'e1 button "Delete" [Buy milk] (shown on hover)']
        assert await page.evaluate("automation.getInteraction(['Buy milk', 'Delete']).ok")
        await page.hover("li")
        # The same by the same name: what was shown with a mark may be used without one.
        assert await page.evaluate("automation.refs.find('e1').ok")
        assert await outline(page) == ['text "Buy milk"', 'e1 button "Delete" [Buy milk]']


@pytest.mark.parametrize(
    ("rules", "markup"),
    [
        (f"{HIDDEN} .x:hover {{ display: block }}", TODO),
        (f"{HIDDEN} li:not(:hover) .x {{ display: block }} li .x {{ display: none !important }}", TODO),
        (f"{HIDDEN} li:hover .x {{ visibility: visible }}", TODO),
        ("li:hover .x { display: block }", TODO.replace("class=x", "class=x hidden")),
        (f"{HIDDEN} i {{ display: none }} li:hover .x {{ display: block }}", TODO.replace("<button", "<i><button")),
    ],
)
async def test_what_the_pointer_would_not_bring_up_is_not_told(chromium: Browser, rules: str, markup: str) -> None:
    async with shown(chromium, f"<style>{rules}</style>{markup}") as page:
        assert await outline(page) == ['text "Buy milk"']


async def test_of_what_hovering_opens_the_controls_are_told_and_not_the_words(chromium: Browser) -> None:
    html = """<style>.tip, .menu { display: none } p:hover .tip, nav:hover .menu { display: block }
        .icon { visibility: hidden } .icon::after { content: "×" } nav:hover .icon { visibility: visible }</style>
      <p>Some <b>words<span class=tip><i>a tip<br>in two lines</i></span></b> more</p>
      <nav aria-label=Shop>Mugs <ul class=menu><li>New <a href=#>Blue mug</a></li></ul>
        <button class=icon></button></nav>"""
    async with shown(chromium, html) as page:
        assert await outline(page) == [
            'text "Some words more"',
            'navigation "Shop"',
            '  text "Mugs"',
            '  e1 link "Blue mug" [New] (shown on hover)',
            '  e2 button "×" (shown on hover)',
        ]


async def test_rules_that_come_later_count_too(chromium: Browser) -> None:
    async with shown(chromium, f"<style>{HIDDEN}</style>{TODO}") as page:
        assert await outline(page) == ['text "Buy milk"']
        await page.evaluate("document.styleSheets[0].insertRule('li:hover .x { display: block }', 1)")
        assert len(await outline(page)) == 2
        await page.evaluate("document.styleSheets[0].disabled = true")
        assert await outline(page) == ['text "Buy milk"', 'e1 button "Delete" [Buy milk]']


async def test_changes_are_told_once_the_page_is_at_rest_until_called_off(chromium: Browser) -> None:
    async with shown(chromium, SHOP + "<pollux-chat></pollux-chat><div id=count></div>") as page:
        await page.evaluate(
            "window.told = []; window.stop = automation.onStateChange((state) => told.push(state.outline.at(-1))); 0"
        )
        await page.evaluate("for (let n = 0; n < 100; n++) count.textContent = `changed ${n}`")
        await page.wait_for_function("told.length === 1")
        assert await page.evaluate("told[0]") == 'text "changed 99"'
        await page.locator("input[type=email]").fill("bob@example.com")
        await page.wait_for_function("told.length === 2")
        await page.evaluate("document.querySelector('pollux-chat').textContent = 'typing'")
        await page.evaluate("stop(); count.textContent = 'nobody hears this'")
        await page.evaluate("new Promise((done) => setTimeout(done, 300))")
        assert await page.evaluate("told.length") == 2
        await expect(page.locator("#count")).to_have_text("nobody hears this")


@pytest.mark.parametrize(
    ("over", "cover"),
    [
        ("", None),
        ("<div id=veil style='position: fixed; inset: 0'></div>", "veil"),
        ("<div style='position: fixed; inset: 0; pointer-events: none'></div>", None),
        ("<div style='position: fixed; left: 0; top: 0; width: 50px; height: 100%'></div>", None),
        ("<pollux-chat style='position: fixed; inset: 0'></pollux-chat>", None),
        ("<style>#x { visibility: hidden }</style>", ""),
    ],
)
async def test_what_lies_over_a_control_is_found(chromium: Browser, over: str, cover: str | None) -> None:
    html = f"<body style='margin: 0'><button id=x style='width: 200px; height: 40px'>Pay</button>{over}"
    async with shown(chromium, html, script="seeing") as page:
        found = await page.evaluate("seeing.coveredBy(x)?.id ?? null")
        assert found == cover
        assert await page.evaluate("seeing.isVisible(x)") == (cover != "")


async def test_a_control_in_a_frame_is_covered_by_what_lies_over_the_frame(chromium: Browser) -> None:
    html = """<body style="margin: 0"><iframe id=f srcdoc='<button>Ask</button>' style="border: 0"></iframe>
      <div id=veil hidden style="position: fixed; inset: 0"></div>"""
    async with shown(chromium, html, script="seeing") as page:
        await page.frames[1].wait_for_selector("button")
        covered = "seeing.coveredBy(f.contentDocument.querySelector('button'))?.id ?? null"
        assert await page.evaluate(covered) is None
        await page.evaluate("veil.hidden = false")
        assert await page.evaluate(covered) == "veil"


async def test_fields_called_like_properties_of_their_form_do_no_harm(chromium: Browser) -> None:
    names = ("children", "attributes", "childNodes", "labels", "id", "name", "title", "elements", "parent")
    fields = "".join(f"<div class=field><input name={name} aria-label={name}></div>" for name in names)
    async with shown(chromium, f"<form aria-label=Trip>{fields}<h2>Where to</h2></form>") as page:
        told = await outline(page)
    assert told[:2] == ['form "Trip"', '  e1 textbox "children"']
    assert len(told) == len(names) + 2


async def test_whoever_listens_for_what_comes_from_inside_is_no_control(chromium: Browser) -> None:
    html = "<div id=app><h1>Shop</h1><p>Words</p><button>Buy</button></div>"
    async with shown(chromium, html) as page:
        await page.evaluate("app.addEventListener('click', () => 0)")
        assert await outline(page) == ['heading 1 "Shop"', 'text "Words"', 'e1 button "Buy"']


async def test_a_card_that_can_be_pressed_is_told_with_what_it_holds(chromium: Browser) -> None:
    html = "<div style='cursor: pointer'><h3>Blue mug</h3><p>12.00</p><button>Add</button></div>"
    async with shown(chromium, html) as page:
        told = await outline(page)
    assert told == ['e1 clickable "Blue mug 12.00 Add"', 'heading 3 "Blue mug"', 'text "12.00"', 'e2 button "Add"']


async def test_a_page_of_endless_elements_is_told_in_part(chromium: Browser) -> None:
    html = "<button>First</button><div id=many></div>"
    async with shown(chromium, html) as page:
        await page.evaluate("many.append(...Array.from({ length: 20000 }, () => document.createElement('i')))")
        told = await state(page)
    assert told["outline"] == ['e1 button "First"']
    assert "beyond the first 15000 elements" in told["unreachable"][0]


@pytest.mark.parametrize(
    "html",
    [
        "<h1>Hello <b data-agent-private>Lovelace</b></h1>",
        "<button>Pay with <span data-agent-private>Lovelace</span></button>",
        "<a href='#'>Mail to <i data-agent-private>Lovelace</i></a>",
        "<label>For <b data-agent-private>Lovelace</b> <input></label>",
        "<fieldset><legend>To <b data-agent-private>Lovelace</b></legend><input aria-label=Street></fieldset>",
        "<table><caption>Of <b data-agent-private>Lovelace</b></caption><tr><td>1</td></tr></table>",
        "<section aria-labelledby=whose><h2 id=whose data-agent-private>Lovelace</h2><p>Text</p></section>",
        "<button aria-labelledby=whose></button><p id=whose data-agent-private>Lovelace</p>",
        "<div role=dialog><h2>Of <b data-agent-private>Lovelace</b></h2><button>Close</button></div>",
        "<div contenteditable role=textbox>By <b data-agent-private>Lovelace</b></div>",
        "<div onclick='1'>Of <b data-agent-private>Lovelace</b></div>",
    ],
)
async def test_what_is_marked_inside_of_something_is_no_part_of_what_that_is_called(chromium: Browser, html: str):
    async with shown(chromium, html) as page:
        told = json.dumps(await state(page))
    assert "Lovelace" not in told


async def test_what_is_in_a_private_field_is_told_nowhere_however_it_is_written(chromium: Browser) -> None:
    html = """<title>Paid with 4111111111111111</title><input type=password value=hunter2 hidden>
      <input autocomplete=cc-number value="4111 1111 1111 1111"><p>4111-1111-1111-1111, hunter2</p>"""
    async with shown(chromium, html) as page:
        told = json.dumps(await state(page))
    assert "hunter2" not in told and "1111" not in told


async def test_a_form_with_a_field_called_matches_hides_nothing(chromium: Browser) -> None:
    async with shown(chromium, "<form><label>Matches <input name=matches></label><button>Bet</button></form>") as page:
        assert await outline(page) == ['e1 textbox "Matches"', 'e2 button "Bet"']
