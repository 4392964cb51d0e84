"""Markdown of an answer in a real browser: it reads as it should, and nothing in it does anything."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_pages import ChatPage, chat_page
from tests.web.widget_payloads import PAYLOADS
from tests.web.widget_scenes import ANSWER, said

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

# Without a policy of its own: what keeps the page safe must be the chat, not the page's caution.
WATCH = """
window.ran = []
window.pwned = () => ran.push('called')
window.alert = window.open = (...what) => ran.push(String(what))
"""
FOUND = """() => {
    const root = document.querySelector('pollux-chat').shadowRoot
    const inside = [...root.querySelectorAll('.message *')]
    const forbidden = 'script,img,iframe,object,embed,link,style,base,meta,form,input,video,audio,source,template,' +
        'math,slot,marquee,portal,svg,textarea,pollux-chat'
    return {
        ran,
        elements: inside.filter((e) => e.matches(forbidden)).map((e) => e.outerHTML),
        attributes: inside.flatMap((e) => [...e.attributes]).filter((a) => /^(on|style|src|srcdoc)/i.test(a.name))
            .map((a) => a.name),
        links: [...root.querySelectorAll('.message a')].map((a) => [a.getAttribute('href'), a.protocol, a.rel]),
        messages: root.querySelectorAll('.message').length,
    }
}"""
GROW = """async ([texts, step]) => {
    const longest = Math.max(...texts.map((text) => text.length))
    for (let end = step; end < longest + step; end += step) {
        conversation.show({messages: texts.map((text, index) => ({
            id: String(index), role: 'assistant', content: text.slice(0, end), timestamp: '',
            isStreaming: end < text.length,
        }))})
        await new Promise(requestAnimationFrame)
        // Frames of ours come after those that were asked for before.
        await new Promise(requestAnimationFrame)
    }
}"""
HTML = """() => {
    const root = document.querySelector('pollux-chat').shadowRoot
    return [...root.querySelectorAll('.message')].map((message) => message.innerHTML)
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(chromium: Browser) -> AsyncGenerator[ChatPage]:
    async with chat_page(chromium, csp="", first=WATCH, tag='data-mode="full"') as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session")
async def there(opened: ChatPage) -> ChatPage:
    return await opened.again()


def harmless(found: dict[str, Any]) -> None:
    assert found["ran"] == []
    assert found["elements"] == []
    assert found["attributes"] == []
    for href, protocol, rel in found["links"]:
        assert protocol in ("http:", "https:", "mailto:"), href
        assert rel == "noopener noreferrer"


async def test_a_payload_that_did_something_would_be_noticed(there: ChatPage):
    await there.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=/none onerror=pwned()>')")
    await there.page.wait_for_function("ran.length === 1")


async def test_no_payload_does_anything_whole_or_growing(there: ChatPage):
    assert len(set(PAYLOADS)) >= 300
    await there.page.evaluate(GROW, [PAYLOADS, 4])
    found = await there.page.evaluate(FOUND)
    harmless(found)
    assert found["messages"] == len(PAYLOADS)
    grown = await there.page.evaluate(HTML)
    await there.show(messages=[])
    await there.show(messages=[said("assistant", text, number) for number, text in enumerate(PAYLOADS)])
    harmless(await there.page.evaluate(FOUND))
    # What grew word by word reads like what came at once.
    assert await there.page.evaluate(HTML) == grown
    host = there.page.url
    assert [url for url in there.requests if not url.startswith(host)] == []
    assert [url for url in there.requests if not url.endswith(("/", ".js", "favicon.ico"))] == []
    assert there.page.url == host and len(there.page.context.pages) == 1


async def test_clicking_what_a_payload_left_runs_nothing(there: ChatPage):
    await there.show(messages=[said("assistant", text, number) for number, text in enumerate(PAYLOADS)])
    # Every element is clicked, and entered by the mouse; links are kept from leading away from the page.
    await there.page.evaluate(
        """() => {
            const root = document.querySelector('pollux-chat').shadowRoot
            root.addEventListener('click', (event) => event.target.closest('a') && event.preventDefault())
            for (const element of root.querySelectorAll('.message *')) {
                for (const type of ['mouseover', 'focus', 'click']) {
                    element.dispatchEvent(new MouseEvent(type, {bubbles: true, cancelable: true, composed: true}))
                }
            }
        }"""
    )
    harmless(await there.page.evaluate(FOUND))


async def test_an_answer_reads_as_it_was_written(there: ChatPage):
    await there.show(messages=[said("assistant", ANSWER)])
    assert await there.part("strong").inner_text() == "blue mugs"
    assert await there.part("th").all_inner_texts() == ["Mug", "Price", "Stock"]
    assert await there.part("ol > li").count() == 2
    assert await there.part(".code pre").inner_text() == '{"code": "MUGS10", "percent": 10}'
    assert await there.part(".image").inner_text() == "a mug"
    link = there.part("ol a")
    assert await link.get_attribute("href") == "https://shop.example/about"
    assert (await link.get_attribute("rel"), await link.get_attribute("target")) == ("noopener noreferrer", "_blank")


async def test_html_is_shown_as_text(there: ChatPage):
    await there.show(messages=[said("assistant", "Use <b>bold</b> &amp; &lt;i&gt;:\n\n<div>\n  <p>x</p>\n</div>")])
    shown = await there.part(".message").inner_text()
    assert "<b>bold</b> & <i>:" in shown and "<div>\n<p>x</p>\n</div>" in shown


async def test_only_the_last_block_is_made_again(there: ChatPage):
    await there.show(messages=[said("assistant", "One.\n\n- two\n\nThr", isStreaming=True)])
    await there.page.evaluate(
        """() => {
            window.changed = []
            const root = document.querySelector('pollux-chat').shadowRoot
            new MutationObserver((records) => changed.push(...records.map((r) => r.target.parentElement?.textContent)))
                .observe(root.querySelector('.message'), {subtree: true, childList: true, characterData: true})
        }"""
    )
    await there.show(messages=[said("assistant", "One.\n\n- two\n\nThree and more", isStreaming=True)])
    assert await there.part(".message p").last.inner_text() == "Three and more"
    assert await there.page.evaluate("changed") == ["Three and more"]


async def test_code_is_copied_as_it_is(chromium: Browser):
    async with chat_page(chromium, tag='data-mode="full"', permissions=["clipboard-read", "clipboard-write"]) as there:
        await there.show(messages=[said("assistant", "```py\nif a < b:\n    print('<b>')\n```")])
        await there.part("text=Copy").click()
        await there.part("text=Copied").wait_for()
        assert await there.page.evaluate("navigator.clipboard.readText()") == "if a < b:\n    print('<b>')"
        assert there.troubles == []
