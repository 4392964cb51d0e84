"""`<pollux-chat>` in a real browser: what it tells, what it shows, and how it is used by keyboard alone."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
import yaml
from playwright.async_api import Browser, expect
from tests.http.browsing import needs_chromium
from tests.web.bundles import WEB, needs_web
from tests.web.see import counted, spent
from tests.web.shared_browser import in_browser
from tests.web.widget_pages import HOST, ChatPage, chat_page
from tests.web.widget_scenes import STEPS, TROUBLE, question, said, step, talk

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(chromium: Browser) -> AsyncGenerator[ChatPage]:
    async with chat_page(chromium) as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session")
async def there(opened: ChatPage) -> AsyncGenerator[ChatPage]:
    yield await opened.again()
    assert opened.troubles == []


async def test_the_element_tells_the_chat_by_the_names_of_the_contract(there: ChatPage):
    names = "messages isLoading error hasError errorMessage hasMessages isExpanded lastUserMessage lastAssistantMessage"
    seen = {name: await there.get(name) for name in names.split()}
    assert seen == {
        "messages": [], "isLoading": False, "error": "", "hasError": False, "errorMessage": "", "hasMessages": False,
        "isExpanded": False, "lastUserMessage": "", "lastAssistantMessage": "",
    }  # fmt: skip
    await there.show(messages=talk("Done."), isLoading=True, error=TROUBLE)
    assert await there.get("messages.length") == 4
    assert (await there.get("messages[3]")).keys() == {"id", "role", "content", "timestamp"}
    assert await there.get("lastUserMessage") == "Add two blue mugs to the cart"
    assert await there.get("lastAssistantMessage") == "Done."
    assert (await there.get("error"), await there.get("hasError")) == (TROUBLE["message"], True)
    assert (await there.get("isLoading"), await there.get("hasMessages")) == (True, True)


async def test_the_contract_names_what_the_element_has(there: ChatPage):
    contract = yaml.safe_load((WEB / "packages/widget/gemini-chat.jay-contract").read_text())
    names = [tag["tag"] for tag in contract["tags"]]
    assert await there.chat.evaluate("(chat, names) => names.filter((name) => !(name in chat))", names) == []
    declared = (WEB / "packages/widget/gemini-chat.jay-contract.d.ts").read_text()
    assert [name for name in names if f"  {name}: " not in declared] == []


async def test_a_page_drives_the_chat_and_hears_of_every_change_once(there: ChatPage):
    await there.chat.evaluate("chat => { window.heard = 0; chat.addEventListener('pollux-change', () => heard++) }")
    await there.chat.evaluate("chat => { chat.messageInput = 'one'; chat.messageInput = ' two ' }")
    assert await there.page.evaluate("heard") == 1
    await there.chat.evaluate("chat => chat.sendMessage()")
    assert (await there.asked(), await there.get("messageInput")) == ([["send", "two"]], "")
    # Something is under way: nothing more is sent, and nothing is lost.
    await there.chat.evaluate("chat => { chat.messageInput = 'three'; return chat.sendMessage() }")
    assert (await there.asked(), await there.get("messageInput")) == ([["send", "two"]], "three")


async def test_what_is_said_twice_in_one_moment_is_said_one_after_the_other(there: ChatPage):
    busy = await there.chat.evaluate(
        "chat => { chat.sendMessage('one'); chat.sendMessage('two'); return chat.isLoading }"
    )
    assert (busy, await there.asked()) == (True, [["send", "one"]])
    await there.show(isLoading=False)
    await there.page.wait_for_function("conversation.asked.some(([what, text]) => text === 'two')")
    # Whoever stops wants nothing more to come.
    await there.chat.evaluate("chat => { chat.sendMessage('three'); return chat.stop() }")
    assert await there.asked() == [["send", "one"], ["send", "two"], ["stop"]]


async def test_compact_shows_the_last_turn_and_full_everything(there: ChatPage):
    await there.show(messages=talk("Done."))
    assert await there.part(".message").count() == 2
    await there.part("role=button[name='Show the whole conversation']").click()
    assert (await there.part(".message").count(), await there.get("isExpanded")) == (4, True)
    await there.chat.evaluate("chat => chat.toggleExpand()")
    assert (await there.part(".message").count(), await there.get("isExpanded")) == (2, False)


async def test_the_field_that_has_the_focus_has_one_frame(there: ChatPage):
    box = there.part("textarea")
    await box.press("Shift")
    await expect(box).to_be_focused()
    ring, frame = await box.evaluate(
        """box => [getComputedStyle(box).outlineColor, getComputedStyle(box.closest(".composer")).boxShadow]"""
    )
    assert (ring, frame == "none") == ("rgba(0, 0, 0, 0)", False)


async def test_a_person_without_a_mouse_asks_answers_stops_and_closes(there: ChatPage):
    page = there.page
    await page.locator("#mail").focus()
    for name in ("Show the whole conversation", "Close", "Conversation", "Your message"):
        await page.keyboard.press("Tab")
        assert await there.focused() == name
    await page.keyboard.type("first")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("second")
    await page.keyboard.press("Enter")
    assert await there.asked() == [["send", "first\nsecond"]]
    assert await there.focused() == "Your message"

    await there.show(approvals=[question()])
    assert await there.focused() == "deny"
    await page.keyboard.press("Tab")
    await expect(there.part(".approve")).to_have_attribute("aria-disabled", "false")
    await page.keyboard.press("Space")
    assert (await there.asked())[-1] == ["resolve", "a1", "approve_once"]
    await expect(there.part(".approval")).to_have_count(0)
    assert await there.focused() == "Your message"

    await page.keyboard.press("Escape")
    assert (await there.asked())[-1] == ["stop"]
    await there.show(isLoading=False)
    await page.keyboard.press("Escape")
    assert (await there.get("isOpen"), await there.focused()) == (False, "Open the assistant")
    await page.keyboard.press("Enter")
    assert (await there.get("isOpen"), await there.focused()) == (True, "Your message")


async def test_enter_that_ends_a_composed_word_sends_nothing(there: ChatPage):
    await there.part("textarea").fill("にほん")
    await there.part("textarea").evaluate(
        "field => field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"
    )
    assert await there.asked() == []


async def test_a_question_shows_what_exactly_would_be_done(there: ChatPage):
    await there.show(approvals=[question(preview="Pay \u202eecila", subjects=["bob@example.com"], scopes=["session"])])
    card = there.part(".approval")
    assert await card.locator(".preview").inner_text() == "Pay \\u202eecila"
    rows = [await row.locator("th, td").all_inner_texts() for row in await card.locator("tbody tr").all()]
    assert rows == [
        ["items[1]", "blue mug"],
        ["items[2]", "blue mug"],
        ["address.street", "12 St James's Square"],
        ["gift", "true"],
    ]
    await card.locator("summary").click()
    assert (await card.locator("pre").inner_text()).startswith('shop.placeOrder {\n  "items": [')
    assert "placing an order cannot be undone" in await card.inner_text()
    assert "Expires in " in await card.locator(".time").inner_text()
    assert await card.locator(".choices button").all_inner_texts() == ["Deny", "Approve"]


async def test_nothing_is_approved_by_accident_or_by_a_script(there: ChatPage):
    await there.part("textarea").focus()
    await there.show(approvals=[question(1), question(2)])
    # A key that was meant for something else finds Deny.
    assert await there.focused() == "deny"
    # In the first moments a click counts for nothing.
    await there.part(".approve").first.dispatch_event("click")
    await expect(there.part(".approve").first).to_have_attribute("aria-disabled", "false")
    await there.part(".approve").first.evaluate("button => button.click()")
    assert await there.asked() == []
    # A key that is held down counts for nothing.
    held = "b => b.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', repeat: true, cancelable: true}))"
    assert await there.part(".approve").first.evaluate(held) is False
    await there.part(".approve").nth(1).click()
    assert await there.asked() == [["resolve", "a2", "approve_once"]]
    await there.part(".deny").first.click()
    assert (await there.asked())[1:] == [["resolve", "a1", "reject"]]


async def test_a_question_does_not_take_the_focus_from_the_page_or_from_a_writer(there: ChatPage):
    await there.page.locator("#mail").focus()
    await there.show(approvals=[question(1)])
    assert await there.focused() == "Mail"
    await there.show(approvals=[])
    await there.part("textarea").focus()
    await there.page.keyboard.type("while I wr")
    await there.show(approvals=[question(2)])
    assert await there.focused() == "Your message"


async def test_a_question_whose_time_is_up_cannot_be_answered(there: ChatPage):
    await there.show(approvals=[question(seconds=1.2)])
    await there.part("text=Time is up: it is not done.").wait_for()
    for answer in (".approve", ".deny"):
        assert await there.part(answer).get_attribute("aria-disabled") == "true"
        await there.part(answer).click(force=True)
    assert await there.asked() == []


async def test_a_question_opens_a_chat_that_was_closed(chromium: Browser):
    async with chat_page(chromium, tag='data-launcher="closed"') as there:
        assert await there.part(".panel").count() == 0
        await there.show(approvals=[question()])
        assert await there.part(".approval").is_visible()


async def test_what_is_done_is_told_as_it_happens_and_the_control_is_framed(there: ChatPage):
    page = there.page
    before = await page.locator("#buy").bounding_box()
    await there.show(isLoading=True, activity=STEPS)
    told = [" ".join(text.split()) for text in await there.part(".steps li").all_inner_texts()]
    assert told == [f"{s['text']} , {word}" for s, word in zip(STEPS[:2], ["done", "failed"], strict=True)]
    assert await there.part("[role=status]").inner_text() == STEPS[2]["text"]
    frame = await there.part(".frame").bounding_box()
    assert frame == before == await page.locator("#buy").bounding_box()
    # What lies below the frame is still what a click there would reach.
    centre = "b => { const {x, y} = b.getBoundingClientRect(); return document.elementFromPoint(x + 2, y + 2).id }"
    assert await page.locator("#buy").evaluate(centre) == "buy"
    await there.show(isLoading=False, activity=[step(3, "done", "Clicked")])
    await expect(there.part(".frame")).to_be_hidden()


async def test_a_failure_can_be_tried_again_and_a_conversation_begun_anew(there: ChatPage):
    await there.show(messages=talk("Done."), error=TROUBLE)
    assert str(TROUBLE["message"]) in await there.part("role=alert").inner_text()
    await there.part("text=Try again").click()
    await there.part("role=button[name='New conversation']").click()
    assert await there.asked() == [["retry"], ["clear"]]
    await expect(there.part(".message")).to_have_count(0)
    await there.show(error={**TROUBLE, "canRetry": False})
    assert await there.part("text=Try again").count() == 0


async def test_what_is_under_way_can_be_stopped(there: ChatPage):
    await there.part("textarea").fill("go")
    await there.part("role=button[name='Send']").click()
    await there.part("role=button[name='Stop']").click()
    assert await there.asked() == [["send", "go"], ["stop"]]
    assert await there.focused() == "Your message"


async def test_messages_are_a_log_that_is_read_when_it_is_whole(there: ChatPage):
    log = there.part("role=log[name='Conversation']")
    assert await log.get_attribute("aria-live") == "polite"
    await there.show(messages=[said("assistant", "Wor", isStreaming=True)], isLoading=True)
    assert await log.get_attribute("aria-busy") == "true"
    await there.show(messages=[said("assistant", "Words.")], isLoading=False)
    assert await log.get_attribute("aria-busy") == "false"
    assert (await there.part(".message").inner_text()).split() == ["Assistant:", "Words."]


async def test_a_page_chooses_the_words_and_the_language(chromium: Browser):
    async with chat_page(chromium, tag='data-lang="de-AT"') as there:
        assert await there.part("textarea").get_attribute("placeholder") == "Nachricht schreiben"
        await there.chat.evaluate("chat => { chat.strings = {placeholder: 'Sag was'} }")
        await expect(there.part("textarea")).to_have_attribute("placeholder", "Sag was")
        assert await there.part("role=button[name='Senden']").count() == 1


async def test_writing_runs_from_right_to_left_where_the_page_or_the_message_does(chromium: Browser):
    host = HOST.replace('lang="en"', 'lang="he" dir="rtl"')
    async with chat_page(chromium, host=host, viewport={"width": 900, "height": 600}) as there:
        await there.show(messages=[said("user", "שלום"), said("assistant", "hello")])
        panel = await there.part(".panel").bounding_box()
        assert panel and panel["x"] < 100
        mine = await there.part(".user").bounding_box()
        assert mine and mine["x"] < panel["x"] + 30
        directions = "e => getComputedStyle(e).direction"
        assert [await m.evaluate(directions) for m in await there.part(".body").all()] == ["rtl", "ltr"]


async def test_a_chat_that_leaves_the_page_leaves_nothing_behind_and_comes_back_as_it_was(there: ChatPage):
    await there.show(messages=talk("Done."), isLoading=True, activity=STEPS)
    await there.part("textarea").fill("half a thou")
    await there.page.evaluate("window.kept = document.querySelector('pollux-chat'); kept.remove()")
    assert await there.page.evaluate("conversation.listeners") == 0
    await there.show(messages=talk("Done, and more."))
    await there.page.evaluate("document.body.append(kept)")
    await expect(there.part("textarea")).to_have_value("half a thou")
    assert await there.get("lastAssistantMessage") == "Done, and more."
    assert await there.page.evaluate("conversation.asked") == [["resume"]]
    assert await there.page.evaluate("conversation.listeners") == 1


async def test_a_long_conversation_makes_only_what_changed(chromium: Browser):
    async with chat_page(chromium, tag='data-mode="full"') as there, counted(there.page) as clock:
        many = [said("assistant" if n % 2 else "user", f"Message **{n}**\n\n- a\n- b", n) for n in range(600)]
        await there.show(messages=many)
        assert await there.part(".message").count() == 600
        began = await spent(clock)
        told = await there.page.evaluate(
            """async (many) => {
                const root = document.querySelector('pollux-chat').shadowRoot
                let changes = 0
                new MutationObserver((records) => { changes += records.length })
                    .observe(root.querySelector('.log'), {subtree: true, childList: true, characterData: true})
                for (let n = 1; n <= 30; n++) {
                    const content = 'word '.repeat(n)
                    const last = {id: 'last', role: 'assistant', content, timestamp: '', isStreaming: true}
                    conversation.show({messages: [...many, last]})
                    await new Promise(requestAnimationFrame)
                    await new Promise(requestAnimationFrame)
                }
                const log = root.querySelector('.log')
                const left = log.scrollHeight - log.scrollTop - log.clientHeight
                return {changes, left}
            }""",
            many,
        )
        # The message itself, and its text at each of the 29 steps after.
        assert told["changes"] <= 32
        assert told["left"] < 2
        assert await spent(clock) - began < 10


async def test_a_reader_who_scrolled_away_is_left_there(chromium: Browser):
    async with chat_page(chromium, tag='data-mode="full"') as there:
        many = [said("assistant", f"Message {n}", n) for n in range(80)]
        await there.show(messages=many)
        log = there.part(".log")
        await log.evaluate("log => { log.scrollTop = 0 }")
        await there.part("role=button[name='Go to the latest message']").wait_for()
        await there.show(messages=[*many, said("assistant", "One more", 80)])
        assert await log.evaluate("log => log.scrollTop") == 0
        await there.part("role=button[name='Go to the latest message']").click()
        await expect(there.part("role=button[name='Go to the latest message']")).to_have_count(0)
