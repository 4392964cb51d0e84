"""What is left to those who mean harm: fields with other names, and a NUL in a query."""

from pathlib import Path

import pytest
from tests.page.site import CLICK, page_site

from pollux.core.messages import JSON
from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.tools.actions import ActionRegistry, query


async def test_a_small_schema_still_says_what_is_wrong(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", {"coordinate": 7}), reply("I see."))
    async with page_site(tmp_path, model) as site:
        await (await site.page()).say("buy")
    assert 'coordinate: this value is not of type "string"' in str(model.requests[1].turns[-1].parts)


async def test_a_question_about_a_page_s_call_can_be_read(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(call("fill-password", {"value": "x"}))) as site:
        page = await site.page()
        page.tools = [{**CLICK, "name": "fill-password"}]
        [question] = (await page.say("sign me in"))["approvals"]
        assert question["preview"] == 'fill-password {"value":"x"}'


@pytest.mark.parametrize(
    "args",
    [
        {"fields": [{"name": "password", "value": "x"}]},
        {"fields": {"password": "x"}},
        {"selector": "#password", "value": "x"},
        {"target": "cvv", "text": "1"},
    ],
    ids=str,
)
async def test_a_private_field_is_asked_about_however_a_tool_names_it(tmp_path: Path, args: dict[str, JSON]):
    async with page_site(tmp_path, ScriptedProvider(call("fill-form", args))) as site:
        page = await site.page()
        page.tools = [{"name": "fill-form", "description": "Fill in a form", "inputSchema": {"type": "object"}}]
        assert (await page.say("sign me in"))["type"] == "approval-required"


@query("who")
def who(text: str = "") -> str:
    return text


async def test_a_visitor_behind_tls_stays_the_same_from_a_look_to_an_act(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(), registry=ActionRegistry([who])) as site:
        async with site.http.get(f"{site.url}/_jay/actions/who") as looked:
            assert "set-cookie" in looked.headers
        origin = {"Origin": site.url.replace("http:", "https:")}
        async with site.http.post(f"{site.url}/_jay/actions/who", headers=origin, json={}) as acted:
            assert (acted.status, "set-cookie" in acted.headers) == (200, False)


async def test_a_nul_in_a_query_is_refused_as_it_is_in_a_body(tmp_path: Path):
    async with (
        page_site(tmp_path, ScriptedProvider(), registry=ActionRegistry([who])) as site,
        site.http.get(f"{site.url}/_jay/actions/who", params={"text": "a\0"}) as response,
    ):
        assert (response.status, (await response.json())["error"]["code"]) == (400, "INVALID_INPUT")
