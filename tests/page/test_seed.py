"""What the page's seed promises, by its own words."""

import logging
from pathlib import Path

import pytest
from tests.http.site import TOKENS, known, settings_in
from tests.page.site import CLICK, Page, page_site

from pollux.core.redact import Secret
from pollux.page.declared import declared
from pollux.page.private import private_references, without_private
from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.serve import SHARED_KEY, running_app

SHOP = "https://shop.example"
KEY = "a key of at least sixteen bytes, and the same on both"


async def test_the_actions_of_the_chat_are_at_the_seeds_own_path(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", {}), reply("Bought."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        status, told = await page.post("/_jay/actions/sendMessage", page.sending("buy one"))
        assert (status, told["data"]["type"]) == (200, "tool-calls")
        page.history = told["data"]["history"]
        results = {"callId": told["data"]["calls"][0]["id"], "result": '"done"'}
        status, told = await page.post("/_jay/actions/submitToolResults", page.submitting(results))
        assert (status, told["data"]["message"]) == (200, "Bought.")
        async with site.http.delete(f"{site.url}/_jay/actions/sendMessage", headers={"Origin": site.url}) as refused:
            assert refused.headers["allow"] == "POST"


async def test_nothing_is_declared_where_a_page_has_nothing_interactive(tmp_path: Path):
    model = ScriptedProvider(reply("Hello."), reply("Hello."), reply("Hello."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        page.tools = []
        await page.say("hi")
        page.tools = [CLICK]
        await page.say("hi again")
        # What was cut can be read on.
        page.tools, page.state = [], {"viewState": {"mugs": list(range(1_000))}}
        await page.say("how many mugs?")
    names = [[tool.name for tool in request.tools] for request in model.requests]
    assert names == [[], ["read-page-state", "click-buy"], ["read-page-state"]]


async def test_a_server_with_the_same_key_and_another_store_says_what_is_missing(tmp_path: Path):
    first, second = tmp_path / "first", tmp_path / "second"
    for home in (first, second):
        home.mkdir()
    async with (
        page_site(first, ScriptedProvider(call("click-buy", {})), seal_key=Secret(KEY), origins=[SHOP]) as one,
        page_site(second, ScriptedProvider(reply("Hello.")), seal_key=Secret(KEY), origins=[SHOP]) as other,
    ):
        page = await Page(one.url, one.http, origin=SHOP).open()
        called = (await page.say("buy one"))["calls"][0]
        page.url = other.url
        results = page.submitting({"callId": called["id"], "result": '"done"'})
        status, told = await page.post("/api/page/submit-tool-results", results)
        assert (status, told["error"]["code"]) == (404, "not_found")
        assert "POLLUX_STORE" in told["error"]["message"] and "one store" in told["error"]["message"]
        # Something new may be said to either.
        assert (await page.say("hi"))["message"] == "Hello."


@pytest.mark.parametrize(("key", "is_told"), [(Secret(KEY), True), (None, False)])
async def test_a_server_whose_key_is_shared_and_whose_store_is_not_warns_at_its_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, key: Secret | None, is_told: bool
):
    (tmp_path / "pages.toml").write_text("[page]\n")
    settings = settings_in(tmp_path, {"POLLUX_CONFIG": str(tmp_path / "pages.toml")}, seal_key=key)
    with caplog.at_level(logging.WARNING):
        async with running_app(settings, known(TOKENS)):
            pass
    assert (SHARED_KEY in caplog.text) is is_told


def test_a_tool_whose_description_was_cut_is_named():
    found = declared([{"name": "look", "description": "x" * 1_500}, {"name": "see", "description": "x" * 1_000}])
    assert [tool.name for tool in found.tools] == ["look", "see"]
    assert [(each.name, each.why, each.is_needless) for each in found.left_out] == [
        ("look", "it is offered, but its description was cut after 1000 characters; 500 more are left out", False)
    ]


@pytest.mark.parametrize(
    ("field", "is_secret"),
    [
        ({"type": "text", "autocomplete": "new-password"}, False),
        ({"type": "password", "autocomplete": "new-password"}, True),
        ({"autocomplete": "new-password"}, True),
        ({"type": "text", "autocomplete": "new-password", "name": "password"}, True),
    ],
)
def test_a_text_field_that_wants_no_suggestions_is_no_secret(field: dict[str, str], is_secret: bool):
    state = {"fields": [{"ref": "e1", "value": "Ada", **field}]}
    assert (without_private(state)["fields"][0]["value"] == "[private]") is is_secret
    assert (private_references(state) == ("e1",)) is is_secret
