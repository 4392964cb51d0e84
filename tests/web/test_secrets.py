"""What stood in a private field is told nowhere, not even when the field is gone and the page says it aloud."""

import json

import pytest
from playwright.async_api import Browser
from tests.http.browsing import needs_chromium
from tests.web.act_scenes import execute
from tests.web.bundles import needs_web
from tests.web.see import outline, shown, state
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

PAY = """<label>Password <input id=p type=password value=hunter2secret></label>
  <label>Card <input id=c autocomplete=cc-number value="4111 1111 1111 1111"></label>
  <button id=x>Pay</button><p id=out></p><script>
    x.onclick = () => {
      out.textContent = "Paid with 4111111111111111 and hunter2secret";
      document.title = "Paid 4111-1111-1111-1111";
      history.replaceState({}, "", "#hunter2secret");
      x.textContent = "Again with hunter2secret";
      document.querySelectorAll('input').forEach((each) => each.remove());
    }
  </script>"""


async def test_what_a_page_repeats_when_the_field_is_gone_is_not_told(chromium: Browser):
    async with shown(chromium, PAY) as page:
        await state(page)
        everything = [
            await execute(page, "click", ref="x"),
            await state(page),
            await execute(page, "read"),
            await execute(page, "click", ref="x"),
            await execute(page, "click", ref="nobody hunter2secret"),
        ]
    told = json.dumps(everything)
    assert "Paid with [private] and [private]" in told
    assert "hunter2secret" not in told and "1111" not in told


async def test_what_was_filled_in_is_not_told_either_though_no_state_ever_showed_it(chromium: Browser):
    html = (
        "<label>Password <input id=x type=password onkeyup='out.textContent = value; this.remove()'></label><p id=out>"
    )
    async with shown(chromium, html) as page:
        outcome = await execute(page, "fill", ref="x", value="correct horse")
        told = json.dumps([outcome, await state(page)])
        assert await page.inner_text("#out") == "correct horse"
    assert "correct horse" not in told and "[private]" in told


async def test_a_secret_at_the_end_of_a_long_line_is_not_told_in_part(chromium: Browser):
    value = "x1y2z3" * 20
    texts = "".join(f"<p>{'w' * length} {value}</p>" for length in range(100, 180, 7))
    html = f"<input type=password value={value}>{texts}<button>{'b' * 80} {value}</button>"
    async with shown(chromium, html) as page:
        told = json.dumps(await state(page))
    assert "x1y2" not in told


async def test_what_a_page_tells_of_itself_is_told_without_them(chromium: Browser):
    html = """<input type=password value=hunter2secret><script>
      const state = { viewState: { note: "it is hunter2secret", list: [1, ["hunter2secret"]] }, interactions: [] };
      window.__jay = { automation: { getPageState: () => state, triggerEvent() {} } };</script>"""
    async with shown(chromium, html) as page:
        told = await state(page)
    assert told["viewState"] == {"note": "it is [private]", "list": [1, ["[private]"]]}


@pytest.mark.parametrize(
    "field",
    [
        "<input name=kartennummer value=9876>",
        "<input id=prüfnummer value=9876>",
        "<label>カード番号 <input name=f1 value=9876></label>",
        "<label for=f>Numéro de carte *</label><input id=f value=9876>",
        "<input placeholder='Código de seguridad' value=9876>",
        "<input aria-label='Введите пароль' value=9876>",
        "<input name='payment[iban]' value=9876>",
        "<textarea aria-label='Einmalcode'>9876</textarea>",
    ],
)
async def test_a_private_field_is_known_by_its_name_in_many_languages(chromium: Browser, field: str):
    async with shown(chromium, f"{field}<p>It is 9876</p>") as page:
        told = await state(page)
    assert "9876" not in json.dumps(told)
    assert told["private"] == [{"ref": "e1", "private": True}]


@pytest.mark.parametrize(
    "field",
    [
        "<label>Pin colour <input value=yellow></label>",
        "<label>Card type <select><option>yellow</select></label>",
        "<label>What shall happen with messages about a password that somebody lost? <input value=yellow></label>",
        "<input placeholder='Discount code' value=yellow>",
        "<label>Passenger <input name=passenger value=yellow></label>",
    ],
)
async def test_what_only_sounds_private_is_told(chromium: Browser, field: str):
    async with shown(chromium, field) as page:
        assert "yellow" in (await outline(page))[0]


async def test_what_a_visitor_is_about_to_write_hides_no_words_of_the_page(chromium: Browser):
    async with shown(chromium, "<label>Password <input id=p type=password></label><p>Sunny with sunshine</p>") as page:
        for value in ("suns", "sunshin", "sunshine99"):
            await page.fill("#p", value)
            told = await outline(page)
    assert told == ['e1 textbox "Password" = [private]', 'text "Sunny with sunshine"']
