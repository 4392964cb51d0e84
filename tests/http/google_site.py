"""The whole server with a Google client, between a model and a workspace that are both emulated."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from tests.http.site import Got, Person, Site, settings_in

from pollux.asgi.credentials import credentials_of
from pollux.asgi.listening import listening
from pollux.emulator.workspace import Workspace
from pollux.serve import running_app

CLIENT = {"POLLUX_GOOGLE_CLIENT_ID": "pollux-tests", "POLLUX_GOOGLE_CLIENT_SECRET": "client-secret-0123456789"}
BOTH = ("gmail_send", "calendar_event_create")


def environ_for(path: Path, workspace: str, model: str, *, tools: tuple[str, ...] = BOTH) -> dict[str, str]:
    """What an operator sets. Only Google's tools are offered: the model's choice is none."""
    config = path / "pollux-config.toml"
    named = ", ".join(f'"{tool}"' for tool in tools)
    config.write_text(f"[profiles.default]\ntools = [{named}]\n")
    return {
        **CLIENT,
        "POLLUX_CONFIG": str(config),
        "POLLUX_GMAIL_BASE_URL": workspace,
        "POLLUX_CALENDAR_BASE_URL": workspace,
        "POLLUX_GOOGLE_OAUTH_BASE_URL": workspace,
        "GEMINI_API_KEY": "a-key",
        "GOOGLE_GEMINI_BASE_URL": model,
    }


@asynccontextmanager
async def google_site(path: Path, environ: dict[str, str], **changes: Any) -> AsyncGenerator[Site]:
    """`pollux serve` in this loop."""
    settings = settings_in(path, environ, **changes)
    async with (
        running_app(settings, credentials_of(settings)) as (app, engine),
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        listening(app, settings) as server,
    ):
        yield Site(server.url, engine, http, server)
        await engine.close()
        await http.close()


async def connect(
    person: Person,
    workspace: Workspace,
    *,
    account: str = "ada@example.com",
    scopes: frozenset[str] | None = None,
    query: str = "",
) -> Got:
    """Be the person who connects an account: to Google, where they agree, and back."""
    begun = await person.get(f"/api/google/connect{query}", headers={"Accept": "application/json"})
    assert begun.status == 200, begun
    back = urlsplit(workspace.allow(begun.body["url"], account=account, scopes=scopes))
    return await person.get(f"{back.path}?{back.query}", headers={"Accept": "application/json"})
