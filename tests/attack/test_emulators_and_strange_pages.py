"""An emulator keeps what was sent to it. A page of another site neither reads that nor sends anything."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from pollux.emulator.command import main
from pollux.emulator.server import run_emulator
from pollux.emulator.workspace import run_workspace

SEEN = ("/_emulator/requests", "/_emulator/ledger")
PATHS = {
    "gemini": [*SEEN, "/v1beta/models", "/v1/messages", "/v1/chat/completions"],
    "workspace": [*SEEN, "/outbox", "/gmail/v1/users/me/drafts", "/o/oauth2/v2/auth"],
}
STRANGE_HOSTS = ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "localhost.evil.example", "["]
STRANGE_ORIGINS = ["https://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "http://localhost"]


@asynccontextmanager
async def emulated(service: str) -> AsyncGenerator[tuple[str, aiohttp.ClientSession]]:
    async with aiohttp.ClientSession() as http:
        if service == "gemini":
            async with run_emulator() as gemini:
                yield gemini.url, http
        else:
            async with run_workspace() as workspace:
                yield workspace.url, http


@pytest.mark.parametrize("service", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_names_of_others_and_pages_of_others_are_refused(service: str, method: str):
    async with emulated(service) as (url, http):
        port = url.rpartition(":")[2]
        strange = [{"Host": each.format(port=port)} for each in STRANGE_HOSTS]
        strange += [{"Origin": each.format(port=port)} for each in STRANGE_ORIGINS]
        for path in PATHS[service]:
            for headers in strange:
                async with http.request(method, url + path, headers=headers) as got:
                    assert got.status in (400, 403), (path, headers)
                    body: Any = await got.json() if got.status == 403 else {}
                    assert got.status == 400 or body["error"]["status"] == "PERMISSION_DENIED"
        async with http.get(f"{url}/_emulator/requests") as seen:
            assert await seen.json() == [], "what was refused is not kept either"


@pytest.mark.parametrize("service", PATHS)
@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "LOCALHOST", "127.0.0.7"])
async def test_this_machine_by_any_of_its_names_and_its_own_pages_are_served(service: str, host: str):
    async with emulated(service) as (url, http):
        named = host.format(port=url.rpartition(":")[2])
        for headers in ({"Host": named}, {"Host": named, "Origin": f"http://{named}"}):
            async with http.get(f"{url}/_emulator/requests", headers=headers) as got:
                assert got.status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "emulator.example", ""])
def test_other_machines_are_let_in_only_where_that_is_said(host: str, capsys: pytest.CaptureFixture[str]):
    assert main(["gemini", "--port", "0", "--host", host]) == 2
    assert "--public" in capsys.readouterr().err


async def test_who_lets_others_in_is_reached_by_any_name_but_not_by_pages_of_others():
    async with run_emulator(host="0.0.0.0") as emulator, aiohttp.ClientSession() as http:
        url = emulator.url.replace("0.0.0.0", "127.0.0.1")
        async with http.get(f"{url}/_emulator/requests", headers={"Host": "emulator:8643"}) as named:
            assert named.status == 200
        async with http.get(f"{url}/_emulator/requests", headers={"Origin": "https://evil.example"}) as page:
            assert page.status == 403
