"""What a page of a site that nobody named is told: why it gets no token, and nothing else."""

from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDictProxy
from tests.page.site import PageSite, page_site

from pollux.providers.scripted import ScriptedProvider, reply

SESSION = "/api/page/session"
SHOP = "https://shop.example"
OTHER = "https://other.example:8443"


def opening(headers: CIMultiDictProxy[str]) -> dict[str, str]:
    """Those headers that let a page of another site read or send something."""
    return {name.lower(): value for name, value in headers.items() if name.lower().startswith("access-control-")}


async def asked(
    site: PageSite, path: str, origin: str, method: str = "POST", **headers: str
) -> tuple[int, Any, CIMultiDictProxy[str]]:
    site.http.cookie_jar.clear()
    body: dict[str, Any] = {"json": {}} if method == "POST" else {}
    async with site.http.request(method, site.url + path, headers={"Origin": origin, **headers}, **body) as response:
        return response.status, (await response.json() if method == "POST" else None), response.headers


@pytest.mark.parametrize("origins", [[], [SHOP]])
async def test_a_site_that_was_forgotten_can_read_which_setting_to_add(tmp_path: Path, origins: list[str]):
    async with page_site(tmp_path, ScriptedProvider(), origins=origins) as site:
        status, told, headers = await asked(site, SESSION, OTHER)
        assert (status, told["error"]["code"], told["ok"]) == (403, "bad_origin", False)
        assert f'[page] origins = ["{OTHER}"]' in told["error"]["message"]
        assert opening(headers) == {"access-control-allow-origin": OTHER}
        assert (headers["vary"], "set-cookie" in headers, "token" in told) == ("origin", False, False)


async def test_its_browser_may_ask_so_that_it_hears_the_refusal(tmp_path: Path):
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    async with page_site(tmp_path, ScriptedProvider()) as site:
        status, _, headers = await asked(site, SESSION, OTHER, "OPTIONS", **wanted)
        assert status == 204
        assert opening(headers) == {
            "access-control-allow-origin": OTHER,
            "access-control-allow-methods": "POST",
            "access-control-allow-headers": "authorization, content-type",
        }


async def test_a_page_without_an_origin_is_told_to_be_served(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider()) as site:
        status, told, headers = await asked(site, SESSION, "null")
        assert (status, headers["access-control-allow-origin"]) == (403, "null")
        assert "Serve it" in told["error"]["message"] and "origins" not in told["error"]["message"]


@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    ["/api/page/send-message", "/api/page/send-message/stream", "/api/page/submit-tool-results", "/api/agent/run",
     "/api/agent/approvals/resolve", "/api/agent/runs/run_1/cancel", "/_jay/actions/geminiAgent.sendMessage",
     "/api/page/session/", "/api/page/sessions", "/api/session", "/login", "/nothing"],
)  # fmt: skip
async def test_every_other_place_is_as_closed_as_ever(tmp_path: Path, path: str, method: str):
    async with page_site(tmp_path, ScriptedProvider(), origins=[SHOP]) as site:
        status, _, headers = await asked(site, path, OTHER, method)
        assert (status, opening(headers)) == (403, {})


@pytest.mark.parametrize(
    "origin",
    ["*", "file://", "https://a.example/", "https://a.example https://b.example", "https://ä.example", "ftp://a.example",
     'https://a"].example', "https://a.example<script>", "https://" + "a" * 300, "HTTPS://A.EXAMPLE", "https://u@a.example",
     "NULL", "https://a.example:123456"],
)  # fmt: skip
async def test_what_no_browser_calls_an_origin_is_not_repeated(tmp_path: Path, origin: str):
    async with page_site(tmp_path, ScriptedProvider()) as site:
        for method in ("POST", "OPTIONS"):
            status, told, headers = await asked(site, SESSION, origin, method)
            assert (status, opening(headers)) == (403, {})
            assert told is None or "a.example" not in told["error"]["message"]


async def test_a_name_that_is_not_ours_comes_first(tmp_path: Path):
    # A rebinding page reads nothing at all.
    async with page_site(tmp_path, ScriptedProvider()) as site:
        for method in ("POST", "OPTIONS"):
            status, told, headers = await asked(site, SESSION, OTHER, method, Host="evil.example")
            assert (status, opening(headers)) == (403, {})
            assert told is None or told["error"]["code"] == "bad_host"


async def test_no_credential_opens_it(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(reply("Hello."))) as site:
        page = await site.page()
        for given in (f"Bearer {page.token}", "Bearer token-of-ada-0123456789"):
            status, told, headers = await asked(site, SESSION, OTHER, Authorization=given)
            assert (status, told["error"]["code"]) == (403, "bad_origin")
            assert "access-control-allow-credentials" not in headers


async def test_a_site_that_was_named_is_let_in_as_before(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(), origins=[SHOP]) as site:
        status, told, headers = await asked(site, SESSION, SHOP)
        assert (status, told["ok"], headers["access-control-allow-origin"]) == (200, True, SHOP)
        assert "access-control-allow-credentials" not in headers
