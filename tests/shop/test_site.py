"""The shop's pages behind the real server: what anybody may open, under which rules, and who its visitor is."""

import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import aiohttp
import pytest
from tests.http.site import site

from pollux.cli.demo_shop import serving_shop, shop_settings
from pollux.config import read_settings
from pollux.core.redact import Secret
from pollux.page.cookie import COOKIE
from pollux.providers.scripted import ScriptedProvider
from pollux.shop.site import FOLDER, PATHS

PAGES = ["/shop/", "/shop/cart", "/shop/checkout", "/shop/orders"]
RULES = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
]  # fmt: skip


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncGenerator[aiohttp.ClientSession]:
    """Somebody's browser, without the browser."""
    plain = read_settings({"HOME": str(tmp_path)}, cwd=tmp_path)
    settings = shop_settings(replace(plain, gemini_api_key=Secret("demo")), tmp_path / "home")
    async with serving_shop(settings, assets=tmp_path) as (url, _):
        base = url.removesuffix("/shop/")
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(base, cookie_jar=jar) as browser:
            yield browser


async def call(browser: aiohttp.ClientSession, name: str, **given: object) -> dict[str, object]:
    async with browser.post(f"/_jay/actions/{name}", json=given) as answer:
        told = await answer.json()
        assert told["success"], told
        return told["data"]


async def token_of(browser: aiohttp.ClientSession) -> str:
    """The visitor's token that comes with a page."""
    async with browser.get("/shop/") as answer:
        return answer.cookies[COOKIE].value


@pytest.mark.parametrize("path", sorted(PATHS - {"/shop"}))
async def test_everything_of_the_shop_is_there_under_a_strict_policy(shop: aiohttp.ClientSession, path: str):
    async with shop.get(path) as answer:
        assert answer.status == 200
        rules = answer.headers["content-security-policy"].split("; ")
        assert set(RULES) <= set(rules) and answer.headers["x-content-type-options"] == "nosniff"


async def test_nothing_beneath_it_is(shop: aiohttp.ClientSession):
    for path in ("/shop/plugin/plugin.yaml", "/shop/../actions.py", "/shop/index.html", "/shop/nothing"):
        async with shop.get(path) as answer:
            assert answer.status == 401
    async with shop.get("/shop", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["location"]) == (308, "/shop/")


async def test_a_server_that_was_not_given_the_shop_has_none(tmp_path: Path):
    async with site(tmp_path, ScriptedProvider()) as plain:
        assert (await plain.nobody.get("/shop/")).status == 401
        assert (await plain.ada.get("/shop/")).status == 404


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_has_one_tag_for_its_agent_and_nothing_inline(shop: aiohttp.ClientSession, page: str):
    async with shop.get(page) as answer:
        text = await answer.text()
    assert text.count('<script src="/pollux.js" data-mode="compact"') == 1
    assert "<style" not in text and " style=" not in text and not re.search(r"\son\w+=", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)


def test_the_scripts_make_no_html_of_text():
    for script in FOLDER.glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script.read_text()), script


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.html")), ids=lambda page: page.name)
def test_every_field_has_a_label_and_every_picture_a_text(page: Path):
    class Seen(HTMLParser):
        within, bare = 0, list[str]()

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.within += tag == "label"
            if (tag in ("input", "select") and not self.within) or (tag == "img" and "alt" not in dict(attrs)):
                self.bare.append(tag)

        def handle_endtag(self, tag: str) -> None:
            self.within -= tag == "label"

    seen = Seen()
    seen.feed(page.read_text())
    assert seen.bare == [] and 'lang="en"' in page.read_text()


async def test_who_comes_back_is_the_same_visitor_and_others_are_not(shop: aiohttp.ClientSession):
    await token_of(shop)
    await call(shop, "addToCart", productId="mug-blue", quantity=2)
    assert (await call(shop, "getCart"))["count"] == 2
    assert await token_of(shop) == await token_of(shop)
    shop.cookie_jar.clear()
    assert (await call(shop, "getCart"))["count"] == 0


async def test_the_chat_is_begun_for_the_visitor_of_the_page(shop: aiohttp.ClientSession):
    await token_of(shop)
    await call(shop, "addToCart", productId="mug-blue", quantity=2)
    async with shop.post("/api/page/session", json={}) as answer:
        assert answer.status == 200
        chat = (await answer.json())["token"]
    shop.cookie_jar.clear()
    async with shop.post("/_jay/actions/getCart", json={}, headers={"authorization": f"Bearer {chat}"}) as answer:
        assert (await answer.json())["data"]["count"] == 2


@pytest.mark.parametrize("made_up", ["pv1.made.up", "a.b.c", "7"])
async def test_a_made_up_token_names_nobody(shop: aiohttp.ClientSession, made_up: str):
    await token_of(shop)
    await call(shop, "addToCart", productId="mug-blue")
    shop.cookie_jar.clear()
    async with shop.post("/api/page/session", json={}, cookies={COOKIE: made_up}) as answer:
        told = await answer.json()
    headers = {"authorization": f"Bearer {told['token']}"}
    async with shop.post("/_jay/actions/getCart", json={}, headers=headers) as cart:
        assert (await cart.json())["data"]["count"] == 0
